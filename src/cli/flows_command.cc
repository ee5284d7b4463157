#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/flow_run.h"
#include "cli/process_usage.h"
#include "scenario/flow_file.h"
#include "scenario/units_text.h"

namespace mixnet::cli {
namespace {

// The command line as typed.
struct FlowsArguments {
  std::string file;
  std::string rate;
  std::string topology = "fat-tree";
  std::string network = "fluid";
  std::string latency;
  std::string headers;
  std::string packet_payload = "4150B";
  std::string packet_header = "64B";
  double oversubscription = 0;
  bool json = false;
};

constexpr const char* kExample =
    "Example:\n"
    "  mixnet flows run tests/data/flows/moe_128_ep32_256K.cm --rate 100Gbps --topology fat-tree\n"
    "\n"
    "FILE lists flows in the .cm format of csg-htsim:\n"
    "  Nodes N / Connections C / then C lines  SRC->DST id I start PICOSECONDS size BYTES\n"
    "The completion of a flow is the time from its start to the delivery of its last byte.";

Error option_error(const char* option, const std::string& message) {
  return Error{fmt::format("{}: {}", option, message), ""};
}

Status parse_topology(const FlowsArguments& typed, FlowRunOptions& options) {
  bool known = false;
  for (const FabricKind kind :
       {FabricKind::kFatTree, FabricKind::kFatTreeOversubscribed, FabricKind::kIdeal}) {
    if (typed.topology == fabric_kind_name(kind)) {
      options.topology = kind;
      known = true;
    }
  }
  if (!known) {
    return option_error(
        "--topology",
        fmt::format(
            "'{}' does not run a flow file, which names hosts with one NIC each: write "
            "fat-tree, fat-tree-oversubscribed or ideal (rail-optimized, topoopt and mixnet "
            "need servers: use `mixnet compare`)",
            typed.topology));
  }
  const bool thin = options.topology == FabricKind::kFatTreeOversubscribed;
  if (thin != (typed.oversubscription != 0)) {
    return option_error("--oversubscription",
                        thin ? "fat-tree-oversubscribed needs it, e.g. --oversubscription 3"
                             : "only for --topology fat-tree-oversubscribed: leave it out");
  }
  options.oversubscription = thin ? typed.oversubscription : 1;
  if (!(options.oversubscription >= 1 && options.oversubscription <= 1000)) {
    return option_error("--oversubscription", "write a ratio from 1 to 1000");
  }
  return Status();
}

Status parse_rate_option(const FlowsArguments& typed, FlowRunOptions& options) {
  const Result<BitRate> rate = scenario::parse_rate(typed.rate);
  if (!rate) {
    return option_error("--rate", rate.error().message);
  }
  if (*rate < BitRate::from_bps(1'000'000) || *rate > BitRate::from_gbps(1'000'000)) {
    return option_error("--rate", fmt::format("'{}' is not the rate of a NIC: write one from 1Mbps "
                                              "to 1000Tbps, such as 100Gbps",
                                              typed.rate));
  }
  options.rate = *rate;
  return Status();
}

// Latency and headers; the ideal network has neither.
Status parse_protocol(const FlowsArguments& typed, FlowRunOptions& options) {
  const bool ideal = options.topology == FabricKind::kIdeal;
  const std::string default_latency = ideal ? "0" : "1us";
  const std::string default_headers = ideal ? "off" : "on";
  const std::string headers = typed.headers.empty() ? default_headers : typed.headers;
  if (headers != "on" && headers != "off") {
    return option_error("--headers", fmt::format("'{}': write on or off", headers));
  }
  options.headers = headers == "on";
  const Result<SimTime> latency =
      scenario::parse_time(typed.latency.empty() ? default_latency : typed.latency);
  if (!latency) {
    return option_error("--latency", latency.error().message);
  }
  options.latency = *latency;
  if (options.latency > SimTime::from_ms(1000)) {
    return option_error("--latency", fmt::format("'{}' per link: write at most 1s", typed.latency));
  }
  if (ideal && (options.headers || options.latency > SimTime())) {
    return option_error("--topology",
                        "the ideal network has no latency and no headers: leave out --latency and "
                        "--headers");
  }
  const Result<Bytes> payload = scenario::parse_bytes(typed.packet_payload);
  const Result<Bytes> header = scenario::parse_bytes(typed.packet_header);
  if (!payload || !header) {
    return payload ? option_error("--packet-header", header.error().message)
                   : option_error("--packet-payload", payload.error().message);
  }
  if (*payload < Bytes(64) || *payload > Bytes(1 << 20) || *header > Bytes(4096)) {
    return option_error("--packet-payload, --packet-header",
                        "write a payload from 64B to 1MiB and a header of at most 4KiB");
  }
  options.packet_payload = *payload;
  options.packet_header = *header;
  return Status();
}

Result<FlowRunOptions> parse_options(const FlowsArguments& typed) {
  FlowRunOptions options;
  if (typed.network != "fluid") {
    return option_error("--network",
                        fmt::format("'{}' is not available: write fluid", typed.network));
  }
  for (const auto& parse : {parse_topology, parse_rate_option, parse_protocol}) {
    if (const Status status = parse(typed, options); !status) {
      return status.error();
    }
  }
  return options;
}

nlohmann::ordered_json config_json(const FlowsArguments& typed, const FlowRunOptions& options,
                                   const scenario::FlowSet& set, const FlowRun& run) {
  nlohmann::ordered_json config = {
      {"hosts", set.hosts},
      {"network", typed.network},
      {"topology", fabric_kind_name(options.topology)},
      {"rate_bps", options.rate.bps()},
      {"latency_us", options.latency.us()},
      {"headers", options.headers},
  };
  if (options.headers) {
    config["packet_payload_bytes"] = options.packet_payload.count();
    config["packet_header_bytes"] = options.packet_header.count();
  }
  if (run.switch_radix > 0) {
    config["switch_radix"] = run.switch_radix;
    config["oversubscription"] = options.oversubscription;
  }
  return config;
}

void print_table(const FlowsArguments& typed, const FlowRunOptions& options,
                 const scenario::FlowSet& set, const FlowRun& run) {
  const CompletionStats stats = completion_stats(run.completion);
  const ProcessUsage usage = process_usage();
  fmt::print("{} flows between {} hosts, {} at {} Gb/s per NIC, {}\n", set.flows.size(), set.hosts,
             fabric_kind_name(options.topology), options.rate.gbps(), typed.network);
  fmt::print("latency {} us per link, headers {}", options.latency.us(),
             options.headers
                 ? fmt::format("on ({} + {} bytes per packet)", options.packet_payload.count(),
                               options.packet_header.count())
                 : "off");
  if (run.switch_radix > 0) {
    fmt::print(", switch radix {}", run.switch_radix);
  }
  if (options.topology == FabricKind::kFatTreeOversubscribed) {
    fmt::print(", ToR oversubscription {} : 1", options.oversubscription);
  }
  fmt::print("\n\ncompletion of a flow, us\n");
  fmt::print("{:>14} {:>14} {:>14} {:>14}\n", "min", "mean", "p99", "max");
  fmt::print("{:>14.3f} {:>14.3f} {:>14.3f} {:>14.3f}\n\n", stats.min_us, stats.mean_us,
             stats.p99_us, stats.max_us);
  fmt::print("last byte delivered at {:.3f} us; drops 0; {:.2f} s CPU, {:.1f} MiB\n\n",
             run.makespan.us(), usage.cpu_s,
             static_cast<double>(usage.peak_rss_bytes) / (1024 * 1024));
  fmt::print("{}\n", kFluidNote);
}

int run_command(const FlowsArguments& typed) {
  const Result<FlowRunOptions> options = parse_options(typed);
  if (!options) {
    return report_usage_error(options.error());
  }
  const Result<scenario::FlowSet> set = scenario::read_flow_file(typed.file);
  if (!set) {
    return report_usage_error(set.error());
  }
  const Result<FlowRun> run = run_flows(*set, *options);
  if (!run) {
    return report_usage_error(run.error());
  }
  if (!typed.json) {
    print_table(typed, *options, *set, *run);
    return kExitOk;
  }
  const CompletionStats stats = completion_stats(run->completion);
  const ProcessUsage usage = process_usage();
  print_json({{"flows", set->flows.size()},
              {"completion_us",
               {{"min", stats.min_us},
                {"mean", stats.mean_us},
                {"p99", stats.p99_us},
                {"max", stats.max_us}}},
              {"makespan_us", run->makespan.us()},
              {"drops", 0},
              {"cpu_s", usage.cpu_s},
              {"peak_rss_bytes", usage.peak_rss_bytes},
              {"config", config_json(typed, *options, *set, *run)},
              {"note", kFluidNote}});
  return kExitOk;
}

}  // namespace

void add_flows_command(CLI::App& app, Outcome& outcome) {
  CLI::App* flows = app.add_subcommand("flows", "Run lists of flows on a network");
  flows->require_subcommand(1);
  CLI::App* run = flows->add_subcommand("run", "Run a .cm flow file: completion times per flow");
  run->footer(kExample);
  const auto typed = std::make_shared<FlowsArguments>();
  run->add_option("file", typed->file, "Flow file")->type_name("FILE.cm")->required();
  run->add_option("--rate", typed->rate, "Rate of every NIC and link, e.g. 100Gbps")->required();
  run->add_option("--topology", typed->topology,
                  "fat-tree (non-blocking), fat-tree-oversubscribed or ideal")
      ->capture_default_str();
  run->add_option("--oversubscription", typed->oversubscription,
                  "ToR downlink : uplink capacity of fat-tree-oversubscribed");
  run->add_option("--latency", typed->latency, "Per link, e.g. 1us (default) or 0");
  run->add_option("--headers", typed->headers,
                  "on (default): add packet headers; off: payload only");
  run->add_option("--packet-payload", typed->packet_payload, "Payload of a full packet")
      ->capture_default_str();
  run->add_option("--packet-header", typed->packet_header, "Header of a packet")
      ->capture_default_str();
  run->add_option("--network", typed->network, "Network model: fluid")->capture_default_str();
  run->add_flag("--json", typed->json, "Print one JSON object");
  run->callback([typed, &outcome] { outcome.exit_code = run_command(*typed); });
}

}  // namespace mixnet::cli
