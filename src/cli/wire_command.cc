#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "cli/route_json.h"
#include "plan/wire.h"
#include "scenario/matrix_file.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

// More NICs than any server has; the planner's work grows with their number.
// A wider table is no help on a terminal.
constexpr std::size_t kWidestTable = 32;

struct WireOptions {
  std::string matrix;
  int alpha = 0;
  int eps = 0;
  std::string algorithm = "split";
  double budget_ms = -1;  // negative: the allocator's own
  bool routes = false;
  int gpus = 8;
  int numa = 2;
  bool json = false;
};

Allocator parse_allocator(const std::string& name) {
  for (const Allocator a : {Allocator::kAlgorithm1, Allocator::kReleased, Allocator::kSplit}) {
    if (name == allocator_name(a)) {
      return a;
    }
  }
  return Allocator::kRelay;
}

double sum_of(const Matrix<double>& amounts) {
  double sum = 0;
  for (const double a : amounts.cells()) {
    sum += a;
  }
  return sum;
}

// First pair that has demand and neither circuit nor electrical NIC.
std::string stranded_pair(const Wiring& wiring) {
  for (std::size_t i = 0; i < wiring.eps.rows(); ++i) {
    for (std::size_t j = 0; j < wiring.eps.cols(); ++j) {
      if (wiring.eps(i, j) > 0) {
        return fmt::format("{} to {}", i, j);
      }
    }
  }
  return "";
}

std::string verdict(const Wiring& wiring, Allocator allocator) {
  if (wiring.bound == 0) {
    return "No server has anything to send to another: nothing to wire.";
  }
  if (!std::isfinite(wiring.completion)) {
    return fmt::format(
        "It never completes: server {} has no circuit and, with --eps 0, no other way. Give --eps "
        "1 or more, or a larger --alpha.",
        stranded_pair(wiring));
  }
  const double electrical = sum_of(wiring.eps);
  double relayed = 0;
  for (const RelayShare& share : wiring.relay) {
    relayed += share.amount;
  }
  const double total = sum_of(wiring.circuit) + electrical + relayed;
  std::string text = fmt::format(
      "{:.1f} % above the lower bound; {:.1f} % of the demand travels over circuits of its own "
      "pair",
      std::max(0.0, (wiring.completion / wiring.bound - 1) * 100),
      (total - electrical - relayed) / total * 100);
  text += relayed > 0 ? fmt::format(", {:.1f} % is relayed.", relayed / total * 100) : ".";
  if (allocator == Allocator::kAlgorithm1 || allocator == Allocator::kReleased) {
    text += " The ratio is that of both directions added, as this rule sees demand.";
  }
  return text;
}

Json to_json(const plan::WireProblem& problem, const Wiring& wiring, Allocator allocator) {
  Json relay = Json::array();
  for (const RelayShare& share : wiring.relay) {
    relay.push_back(
        {{"src", share.src}, {"via", share.via}, {"dst", share.dst}, {"amount", share.amount}});
  }
  Json object;
  object["algorithm"] = allocator_name(allocator);
  object["circuits"] = rows_of(wiring.circuits);
  object["shares"] = {
      {"circuit", rows_of(wiring.circuit)}, {"eps", rows_of(wiring.eps)}, {"relay", relay}};
  object["completion"] = finite_or_null(wiring.completion);
  object["bound"] = wiring.bound;
  object["bound_without_relay"] = finite_or_null(plan::no_relay_bound(problem));
  object["ratio"] = finite_or_null(plan::reported_ratio(problem, wiring, allocator));
  object["verdict"] = verdict(wiring, allocator);
  return object;
}

void print_circuits(const Matrix<int>& circuits) {
  const std::size_t n = circuits.rows();
  int total = 0;
  int most = 0;
  for (const int c : circuits.cells()) {
    total += c;
    most = std::max(most, c);
  }
  if (n > kWidestTable) {
    fmt::print("{} circuits between {} servers (--json lists them)\n", total / 2, n);
    return;
  }
  fmt::print("circuits between servers ({} in all)\n", total / 2);
  const std::size_t width =
      std::max(fmt::formatted_size("{}", n), fmt::formatted_size("{}", most)) + 1;
  fmt::print("{:>{}}", "", width);
  for (std::size_t j = 0; j < n; ++j) {
    fmt::print("{:>{}}", j, width);
  }
  fmt::print("\n");
  for (std::size_t i = 0; i < n; ++i) {
    fmt::print("{:>{}}", i, width);
    for (std::size_t j = 0; j < n; ++j) {
      const int c = circuits(i, j);
      fmt::print("{:>{}}", c == 0 ? "." : std::to_string(c), width);
    }
    fmt::print("\n");
  }
}

void print_table(const plan::WireProblem& problem, const Wiring& wiring, Allocator allocator) {
  const auto line = [](const char* label, double value, const char* note) {
    fmt::print("{:<22}{:>14}{}\n", label,
               std::isfinite(value) ? fmt::format("{:.6g}", value) : "never", note);
  };
  print_circuits(wiring.circuits);
  fmt::print("\n");
  line("completion", wiring.completion, "  units of the matrix per NIC");
  line("bound", wiring.bound, "  no wiring is faster");
  line("bound without relay", plan::no_relay_bound(problem), "");
  const double ratio = plan::reported_ratio(problem, wiring, allocator);
  const bool added = allocator == Allocator::kAlgorithm1 || allocator == Allocator::kReleased;
  fmt::print("{:<22}{:>14}{}\n\n", "ratio",
             std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "infinite",
             added ? "  to the bound of both directions added, as this rule sees demand" : "");
  fmt::print("{}: {}\n", allocator_name(allocator), verdict(wiring, allocator));
}

Status check_wire_options(const CLI::App& command, const WireOptions& options) {
  return check_used(
      command, {{"--gpus", options.routes, "add --routes, which names GPUs, or leave it out"},
                {"--numa-nodes", options.routes, "add --routes, which names NICs, or leave it out"},
                {"--budget", parse_allocator(options.algorithm) == Allocator::kRelay,
                 "only --algorithm relay searches as long as it is told; use it, or leave the "
                 "budget out"}});
}

int run_wire(const CLI::App& command, const WireOptions& options) {
  if (Status status = check_wire_options(command, options); !status) {
    return report_usage_error(status.error());
  }
  if (options.alpha + options.eps == 0) {
    return report_usage_error(
        Error{"a server needs at least one NIC: give --alpha or --eps above 0", ""});
  }
  const Allocator allocator = parse_allocator(options.algorithm);
  Result<DemandMatrix> demand = scenario::read_matrix(options.matrix);
  if (!demand.ok()) {
    return report_usage_error(demand.error());
  }
  constexpr double kMostAmount = 1e200;  // sums of more would leave the range of numbers
  for (const double amount : demand->cells()) {
    if (amount > kMostAmount) {
      return report_usage_error(
          Error{fmt::format("an entry of {:.3g} is too large: use a larger unit", amount),
                options.matrix});
    }
  }
  const plan::WireProblem problem{std::move(demand).value(), options.alpha, options.eps};
  const Wiring wiring =
      allocator == Allocator::kRelay && options.budget_ms >= 0
          ? plan::wire_with_relays(problem,
                                   plan::RelayBudget{static_cast<int64_t>(options.budget_ms * 1e6)})
          : plan::wire(problem, allocator);
  const plan::ServerLayout layout =
      plan::even_layout(options.gpus, options.alpha + options.eps, options.alpha, options.numa);
  // A pair that has no way has no route either.
  const bool routes = options.routes && std::isfinite(wiring.completion);
  if (options.json) {
    Json object = to_json(problem, wiring, allocator);
    if (routes) {
      object["routes"] = routes_json(wiring, layout);
    }
    print_json(object);
  } else {
    print_table(problem, wiring, allocator);
    if (routes) {
      print_routes(wiring, layout);
    }
  }
  return std::isfinite(wiring.completion)
             ? kExitOk
             : report_failure(Error{verdict(wiring, allocator), options.matrix});
}

}  // namespace

void add_wire_command(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<WireOptions>();
  CLI::App* command = app.add_subcommand(
      "wire", "choose optical circuits for one demand matrix and split the demand over them");
  command
      ->add_option("MATRIX", options->matrix,
                   "text file, one row per line: what server i sends to server j, in bytes or "
                   "tokens; the diagonal is local and ignored")
      ->required();
  command->add_option("--alpha", options->alpha, "optical NICs per server")
      ->required()
      ->check(CLI::Range(0, kMostNics));
  command->add_option("--eps", options->eps, "electrical NICs per server")
      ->required()
      ->check(CLI::Range(0, kMostNics));
  command
      ->add_option("--algorithm", options->algorithm,
                   "algorithm1 (as printed in the MixNet paper), released (the authors' simulator) "
                   "split (each pair over circuits and electrical NICs) or relay (also over a "
                   "third server and two circuits)")
      ->capture_default_str()
      ->check(CLI::IsMember({"algorithm1", "released", "split", "relay"}));
  command
      ->add_option(
          "--budget", options->budget_ms,
          "relay: milliseconds of work on a common machine; it counts steps, so that "
          "equal budgets give equal answers; the routing at the end comes on top (default: 0.33 "
          "for 8 servers, 15 for 64)")
      ->check(finite_range(0.0, 1e6));
  command->add_flag("--routes", options->routes,
                    "also say which NIC ends which circuit, and which GPU and NIC carries which "
                    "share of what every GPU sends");
  command->add_option("--gpus", options->gpus, "GPUs per server, for --routes")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostNics));
  command->add_option("--numa-nodes", options->numa, "NUMA nodes per server, for --routes")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_flag("--json", options->json, "print one JSON object instead of a table");
  command->footer(
      "One NIC moves one unit of the matrix per unit of time and direction. The exit code is 1 if "
      "some\ndemand can never be delivered.\n"
      "Example: mixnet wire demand.txt --alpha 6 --eps 2 --algorithm relay --routes");
  command->callback(
      [command, options, &outcome] { outcome.exit_code = run_wire(*command, *options); });
}

}  // namespace mixnet::cli
