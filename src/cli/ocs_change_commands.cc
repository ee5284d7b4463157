#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/region_options.h"
#include "cli/region_view.h"
#include "ocs/region.h"
#include "scenario/matrix_file.h"

// The commands that switch circuits.
namespace mixnet::cli {
namespace {

namespace v1 = region::v1;

struct ChangeOptions {
  RegionOptions region;
  std::vector<std::string> nics;
  bool dry_run = false;
};

Intention intention_of(const ChangeOptions& options) {
  return options.dry_run ? Intention::kLook : Intention::kChange;
}

Result<int> show(const Result<v1::ApplyReply>& reply, bool dry_run, bool json) {
  if (!reply.ok()) {
    return reply.error();
  }
  if (json) {
    print_json(reply_json(*reply));
  } else {
    print_text(dry_run ? dry_run_text(*reply) : reply_text(*reply));
  }
  return all_verified(*reply) ? kExitOk : kExitAttention;
}

Result<int> change(RegionAccess& access, v1::ApplyCircuitsRequest request,
                   const ChangeOptions& options) {
  request.set_dry_run(options.dry_run);
  return show(access.apply(request), options.dry_run, options.region.json);
}

Status check_pairs(const daemon::RegionConfig& config, const std::vector<std::string>& nics) {
  if (nics.size() % 2 != 0) {
    return Error{fmt::format("NICs come in pairs, A B [A B ...]: found {}", nics.size()), ""};
  }
  std::vector<ocs::Circuit> circuits;
  for (std::size_t i = 0; i < nics.size(); i += 2) {
    const Result<ocs::Circuit> circuit = config.region.find_circuit(nics[i], nics[i + 1]);
    if (!circuit.ok()) {
      return circuit.error();
    }
    circuits.push_back(*circuit);
  }
  return ocs::check_circuits(config.region, circuits);
}

int run_connect(const ChangeOptions& options) {
  RegionTask task;
  task.verb = "connect";
  task.intention = intention_of(options);
  task.check = [&](const daemon::RegionConfig& config) {
    return check_pairs(config, options.nics);
  };
  task.run = [&](const daemon::RegionConfig& /*config*/, RegionAccess& access) {
    v1::ApplyCircuitsRequest request;
    request.set_mode(v1::ApplyCircuitsRequest::ADD);
    for (std::size_t i = 0; i < options.nics.size(); i += 2) {
      v1::Circuit& circuit = *request.add_circuits();
      circuit.set_a(options.nics[i]);
      circuit.set_b(options.nics[i + 1]);
    }
    return change(access, std::move(request), options);
  };
  return run_region_task(options.region, task);
}

bool ends_at(const v1::CircuitState& circuit, const std::string& nic) {
  return circuit.a() == nic || circuit.b() == nic;
}

// The intended circuits of these NICs, each once.
Result<v1::ApplyCircuitsRequest> removal_of(const std::vector<std::string>& nics,
                                            const v1::Topology& topology) {
  std::vector<const v1::CircuitState*> found;
  for (const std::string& nic : nics) {
    const auto circuit = std::ranges::find_if(
        topology.circuits(),
        [&](const v1::CircuitState& state) { return state.intended() && ends_at(state, nic); });
    if (circuit == topology.circuits().end()) {
      return Error{
          fmt::format("{} is in no circuit that is intended: see `mixnet ocs status`", nic), ""};
    }
    if (std::ranges::find(found, &*circuit) == found.end()) {
      found.push_back(&*circuit);
    }
  }
  // Two NICs are meant as the ends of one circuit.
  if (nics.size() == 2 && nics[0] != nics[1] && found.size() == 2) {
    return Error{fmt::format("{} and {} are not joined: there are {} and {}; to remove both, name "
                             "them one at a time",
                             nics[0], nics[1], circuit_name(*found[0]), circuit_name(*found[1])),
                 ""};
  }
  v1::ApplyCircuitsRequest request;
  request.set_mode(v1::ApplyCircuitsRequest::REMOVE);
  for (const v1::CircuitState* state : found) {
    v1::Circuit& circuit = *request.add_circuits();
    circuit.set_a(state->a());
    circuit.set_b(state->b());
  }
  return request;
}

int run_disconnect(const ChangeOptions& options) {
  RegionTask task;
  task.verb = "disconnect";
  task.intention = intention_of(options);
  task.check = [&](const daemon::RegionConfig& config) {
    for (const std::string& nic : options.nics) {
      if (const Result<ocs::NicId> known = config.region.find_nic(nic); !known.ok()) {
        return Status(known.error());
      }
    }
    return Status();
  };
  task.run = [&](const daemon::RegionConfig& /*config*/, RegionAccess& access) -> Result<int> {
    const Result<v1::Topology> topology = access.status();
    if (!topology.ok()) {
      return topology.error();
    }
    const Result<v1::ApplyCircuitsRequest> request = removal_of(options.nics, *topology);
    return request.ok() ? change(access, *request, options) : Result<int>(request.error());
  };
  return run_region_task(options.region, task);
}

int run_apply(const RegionOptions& options, const std::string& path) {
  DemandMatrix demand;
  RegionTask task;
  task.verb = "apply";
  task.intention = Intention::kChange;
  task.check = [&](const daemon::RegionConfig& config) {
    Result<DemandMatrix> read = scenario::read_matrix(path);
    if (!read.ok()) {
      return Status(read.error());
    }
    const std::size_t servers = config.region.servers().size();
    if (read->rows() != servers) {
      return Status(error_at(path, fmt::format("{} rows, and region {} has {} servers: write one "
                                               "row for each, in the order of the region file",
                                               read->rows(), config.name, servers)));
    }
    demand = std::move(read).value();
    return Status();
  };
  task.run = [&](const daemon::RegionConfig& /*config*/, RegionAccess& access) {
    return show(access.report_demand(demand), false, options.json);
  };
  return run_region_task(options, task);
}

void add_change_options(CLI::App& command, ChangeOptions& options, const char* nics) {
  command.add_option("NIC", options.nics, nics)->required();
  add_region_options(command, options.region);
  command.add_flag("--dry-run", options.dry_run,
                   "send nothing: show the TL1 commands, and what is blocked and why");
}

}  // namespace

void add_ocs_connect_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<ChangeOptions>();
  CLI::App* command = ocs.add_subcommand("connect", "add circuits between NICs");
  add_change_options(*command, *options, "A B [A B ...], server/interface each");
  command->footer(std::string(kRegionExitCodes) +
                  "Example: mixnet ocs connect s0/ocs1 s3/ocs19 --config examples/region.toml");
  command->callback([options, &outcome] { outcome.exit_code = run_connect(*options); });
}

void add_ocs_disconnect_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<ChangeOptions>();
  CLI::App* command = ocs.add_subcommand("disconnect", "remove circuits");
  add_change_options(*command, *options,
                     "the NICs whose circuits go; two NICs must be the ends of one circuit");
  command->footer(std::string(kRegionExitCodes) +
                  "Example: mixnet ocs disconnect s0/ocs1 s3/ocs19 --config examples/region.toml");
  command->callback([options, &outcome] { outcome.exit_code = run_disconnect(*options); });
}

void add_ocs_apply_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<RegionOptions>();
  auto path = std::make_shared<std::string>();
  CLI::App* command =
      ocs.add_subcommand("apply", "choose circuits for a demand matrix and switch to them");
  command
      ->add_option("MATRIX", *path,
                   "text file, one row per line: what server i sends to server j, as for "
                   "`mixnet wire`")
      ->required();
  add_region_options(*command, *options);
  command->footer(std::string(kRegionExitCodes) +
                  "Replaces all circuits of the region; those that still fit stay untouched.\n"
                  "Example: mixnet ocs apply examples/data/routing_matrix_8x8.txt --config "
                  "examples/region.toml");
  command->callback([options, path, &outcome] { outcome.exit_code = run_apply(*options, *path); });
}

}  // namespace mixnet::cli
