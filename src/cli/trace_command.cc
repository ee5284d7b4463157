#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "scenario/generator.h"
#include "scenario/trace.h"
#include "scenario/trace_import.h"
#include "scenario/trace_stats.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

// Traces above this many counts take more than a moment to generate and show progress.
constexpr int64_t kQuietCounts = int64_t{1} << 25;
constexpr std::size_t kMostTableRows = 64;  // a longer table is no help on a terminal

struct GenerateOptions {
  std::string output;
  std::string shape = "log-normal";
  scenario::GeneratorOptions generator;
  bool json = false;
};

struct ImportCommandOptions {
  std::string input;
  std::string output;
  std::string format = "auto";
  std::string matrices = "layers";
  scenario::ImportOptions import;
  bool json = false;
};

struct InfoOptions {
  std::string trace;
  std::optional<int64_t> ep;
  std::size_t hottest = 5;
  bool json = false;
};

Json shape_json(const scenario::TraceShape& shape) {
  return {
      {"iterations", shape[0]}, {"layers", shape[1]}, {"sources", shape[2]}, {"experts", shape[3]}};
}

std::string shape_text(const scenario::TraceShape& shape) {
  return fmt::format("{} iterations x {} layers x {} sources x {} experts", shape[0], shape[1],
                     shape[2], shape[3]);
}

// One writer for what `generate` and `import` report.
void print_written(const std::string& path, const scenario::TraceShape& shape, bool json) {
  if (json) {
    print_json({{"trace", path}, {"shape", shape_json(shape)}});
  } else {
    fmt::print("{}: {}\n", path, shape_text(shape));
  }
}

// The library refuses other names, too; here it is the command line that is wrong.
bool names_a_trace(const std::string& path) { return path.ends_with(".npy"); }

int report_bad_name(const std::string& path) {
  return report_usage_error(error_at(path, "the name of a trace must end in .npy"));
}

// Every tenth of the work on standard error.
scenario::GeneratorProgress progress_for(const scenario::TraceShape& shape) {
  if (shape[0] * shape[1] * shape[2] * shape[3] <= kQuietCounts) {
    return {};
  }
  return [](int64_t done, int64_t total) {
    const auto tenths = [total](int64_t steps) {
      return static_cast<int>(10.0 * static_cast<double>(steps) / static_cast<double>(total));
    };
    if (tenths(done) != tenths(done - 1)) {
      fmt::print(stderr, "generating: {} %\n", 10 * tenths(done));
    }
  };
}

int run_generate(const CLI::App& command, GenerateOptions& options) {
  if (!names_a_trace(options.output)) {
    return report_bad_name(options.output);
  }
  const Result<scenario::LoadShape> shape = scenario::parse_load_shape(options.shape);
  if (!shape) {
    return report_usage_error(shape.error());
  }
  scenario::GeneratorOptions& generator = options.generator;
  generator.shape = *shape;
  if (Status used = check_used(command, {{"--skew", *shape != scenario::LoadShape::kUniform,
                                          "uniform experts have none; use --shape zipf or "
                                          "log-normal, or leave it out"}});
      !used) {
    return report_usage_error(used.error());
  }
  const Status valid = scenario::check_options(generator);
  if (!valid) {
    return report_usage_error(valid.error());
  }
  const scenario::TraceShape extent{generator.iterations, generator.layers, generator.sources,
                                    generator.experts};
  const Status written =
      scenario::generate_to_file(generator, options.output, progress_for(extent));
  if (!written) {
    return report_failure(written.error());
  }
  print_written(options.output, extent, options.json);
  return kExitOk;
}

int run_import(ImportCommandOptions& options) {
  if (!names_a_trace(options.output)) {
    return report_bad_name(options.output);
  }
  const Result<scenario::ImportFormat> format = scenario::parse_import_format(options.format);
  if (!format) {
    return report_usage_error(format.error());
  }
  options.import.format = *format;
  options.import.matrices = options.matrices == "iterations" ? scenario::MatricesAre::kIterations
                                                             : scenario::MatricesAre::kLayers;
  const Result<scenario::RoutingTrace> trace =
      scenario::import_trace(options.input, options.import);
  if (!trace) {
    return report_usage_error(trace.error());
  }
  const Status written = scenario::write_trace(*trace, options.output);
  if (!written) {
    return report_failure(written.error());
  }
  print_written(options.output, trace->shape(), options.json);
  return kExitOk;
}

Json spread_json(const scenario::Spread& spread) {
  return {{"mean", spread.mean}, {"max", spread.max}};
}

void add_layer_json(Json& object, const scenario::LayerStats& layer) {
  object["expert_imbalance"] = spread_json(layer.expert_imbalance);
  object["rank_imbalance"] = spread_json(layer.rank_imbalance);
  object["drift"] = spread_json(layer.drift);
  object["zero_share"] = layer.zero_share;
  object["cold_share"] = layer.cold_share;
}

Json info_json(const scenario::RoutingTrace& trace, const scenario::TraceStats& stats, int64_t ep) {
  Json object;
  object["shape"] = shape_json(trace.shape());
  object["model"] = trace.info().model;
  object["top_k"] = trace.info().top_k;
  object["source_kind"] = trace.info().source_kind;
  object["iteration_kind"] = trace.info().iteration_kind;
  object["origin"] = trace.info().origin;
  object["assignments"] = stats.assignments;
  object["empty_steps"] = stats.empty_steps;
  object["ep"] = ep;
  add_layer_json(object, stats.overall);
  object["hottest"] = Json::array();
  for (const scenario::HotExpert& hot : stats.hottest) {
    object["hottest"].push_back(
        {{"layer", hot.layer}, {"expert", hot.expert}, {"load_ratio", hot.load_ratio}});
  }
  object["layers"] = Json::array();
  for (const scenario::LayerStats& layer : stats.layers) {
    Json entry;
    add_layer_json(entry, layer);
    object["layers"].push_back(entry);
  }
  return object;
}

void print_row(const std::string& label, const scenario::LayerStats& layer) {
  const auto cell = [](const scenario::Spread& spread) {
    return fmt::format("{:.3f} / {:.3f}", spread.mean, spread.max);
  };
  fmt::print("{:<8}{:>18}{:>18}{:>18}{:>10.1f}{:>10.1f}\n", label, cell(layer.expert_imbalance),
             cell(layer.rank_imbalance), cell(layer.drift), 100 * layer.zero_share,
             100 * layer.cold_share);
}

void print_info(const scenario::RoutingTrace& trace, const scenario::TraceStats& stats,
                int64_t ep) {
  const auto known = [](const std::string& text) { return text.empty() ? "unknown" : text; };
  const scenario::TraceInfo& info = trace.info();
  fmt::print("{}\n", shape_text(trace.shape()));
  fmt::print("model {}, top-k {}, a source is: {}, an iteration is: {}\n", known(info.model),
             info.top_k == 0 ? "unknown" : std::to_string(info.top_k), known(info.source_kind),
             known(info.iteration_kind));
  fmt::print("origin: {}\n", known(info.origin));
  fmt::print("{} assignments; {} steps without any\n\n", stats.assignments, stats.empty_steps);
  fmt::print("{:<8}{:>18}{:>18}{:>18}{:>10}{:>10}\n", "", "expert imbalance",
             fmt::format("rank (ep {})", ep), "drift", "zero %", "cold %");
  fmt::print("{:<8}{:>18}{:>18}{:>18}\n", "layer", "mean / max", "mean / max", "mean / max");
  const std::size_t rows = std::min(stats.layers.size(), kMostTableRows);
  for (std::size_t layer = 0; layer < rows; ++layer) {
    print_row(std::to_string(layer), stats.layers[layer]);
  }
  if (rows < stats.layers.size()) {
    fmt::print("... {} more layers (--json lists them)\n", stats.layers.size() - rows);
  }
  print_row("all", stats.overall);
  if (!stats.hottest.empty()) {
    fmt::print("\nhottest experts (load over the mean of their layer):\n");
  }
  for (const scenario::HotExpert& hot : stats.hottest) {
    fmt::print("  layer {} expert {}: {:.3f}\n", hot.layer, hot.expert, hot.load_ratio);
  }
}

int run_info(const InfoOptions& options) {
  const Result<scenario::RoutingTrace> trace = scenario::RoutingTrace::map(options.trace);
  if (!trace) {
    return report_usage_error(trace.error());
  }
  const RoutingView& view = trace->view();
  const int64_t usual = view.experts % view.sources == 0 ? view.sources : view.experts;
  const int64_t ep = options.ep.value_or(usual);
  if (ep < 1 || view.experts % ep != 0) {
    return report_usage_error(Error{
        fmt::format("--ep {} does not divide the {} experts of the trace", ep, view.experts), ""});
  }
  const scenario::TraceStats stats = scenario::trace_stats(view, ep, options.hottest);
  if (options.json) {
    print_json(info_json(*trace, stats, ep));
  } else {
    print_info(*trace, stats, ep);
  }
  return kExitOk;
}

void add_generate(CLI::App& trace, Outcome& outcome) {
  auto options = std::make_shared<GenerateOptions>();
  scenario::GeneratorOptions& generator = options->generator;
  CLI::App* command = trace.add_subcommand("generate", "make a synthetic trace");
  command->add_option("OUT", options->output, "the trace, OUT.npy; OUT.json says what it holds")
      ->required();
  const auto add = [command](const char* name, auto& value, const char* help) {
    command->add_option(name, value, help)->capture_default_str();
  };
  add("--shape", options->shape, "popularity of the experts: uniform, zipf or log-normal");
  add("--skew", generator.skew, "Zipf exponent or log-normal sigma, 0 to 20");
  add("--drift", generator.drift,
      "share of an expert's log-popularity replaced by fresh noise per iteration, 0 to 1");
  add("--hot-experts", generator.hot_experts, "experts that each source prefers on its own");
  add("--hot-share", generator.hot_share,
      "share of a source's assignments that go to its hot experts, 0 to 1");
  add("--iterations", generator.iterations, "extent of the first axis");
  add("--layers", generator.layers, "MoE layers");
  add("--sources", generator.sources, "senders, usually the EP ranks");
  command
      ->add_option("--seed", generator.seed,
                   "root of all random streams; equal seeds give equal files")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, INT64_MAX));
  command->add_option("--experts", generator.experts, "experts per layer")->required();
  command->add_option("--tokens", generator.tokens, "tokens per source, layer and iteration")
      ->required();
  command->add_option("--top-k", generator.top_k, "distinct experts per token")->required();
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(
      "Every source sends exactly tokens x top-k assignments and no expert more than `tokens`.\n"
      "Example: mixnet trace generate mixtral.npy --shape log-normal --skew 0.5 --iterations 100 "
      "--layers 32 --sources 8 --experts 8 --tokens 32768 --top-k 2");
  command->callback(
      [command, options, &outcome] { outcome.exit_code = run_generate(*command, *options); });
}

void add_import(CLI::App& trace, Outcome& outcome) {
  auto options = std::make_shared<ImportCommandOptions>();
  CLI::App* command = trace.add_subcommand("import", "turn a text file of counts into a trace");
  command->add_option("FILE", options->input, "the text to read")->required();
  command->add_option("OUT", options->output, "the trace, OUT.npy; OUT.json says what it holds")
      ->required();
  command
      ->add_option("--format", options->format,
                   "matrix (one row per line), bracketed ([[..],[..]], one or more), "
                   "expert-counts (CSV) or auto")
      ->capture_default_str();
  command
      ->add_option("--matrices", options->matrices,
                   "what several bracketed matrices are: layers or iterations")
      ->capture_default_str()
      ->check(CLI::IsMember({"layers", "iterations"}));
  command->add_option("--model", options->import.model,
                      "expert-counts: which model's rows; else only a name for the side file");
  command
      ->add_option("--top-k", options->import.top_k,
                   "experts per token, checked against the counts; leave it out if unknown")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(
      "Rows become sources and columns experts, as they are: nothing is wrapped, tiled or scaled.\n"
      "expert-counts: corpora become sources, the listed layers layers.\n"
      "Example: mixnet trace import expert_counts.csv olmoe.npy --model olmoe --top-k 8");
  command->callback([options, &outcome] { outcome.exit_code = run_import(*options); });
}

void add_info(CLI::App& trace, Outcome& outcome) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = trace.add_subcommand("info", "show imbalance, sparsity and drift of a trace");
  command->add_option("TRACE", options->trace, "the .npy file")->required();
  command->add_option("--ep", options->ep,
                      "EP ranks that hold the experts in equal blocks, for the rank imbalance "
                      "(default: the sources if they divide the experts, else one per expert)");
  command->add_option("--hottest", options->hottest, "how many of the hottest experts to list")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print one JSON object instead of a table");
  command->footer(
      "imbalance: largest load / mean load. drift: share of the load that moves to other experts "
      "between iterations.\nzero: cells (source, expert) without a token; cold: cells below a "
      "tenth of the mean, zeros included.\nExample: mixnet trace info mixtral.npy --ep 8");
  command->callback([options, &outcome] { outcome.exit_code = run_info(*options); });
}

}  // namespace

void add_trace_command(CLI::App& app, Outcome& outcome) {
  CLI::App* trace = app.add_subcommand(
      "trace", "routing traces: token counts [iteration, layer, source, expert]");
  trace->require_subcommand(1);
  trace->footer("Example: mixnet trace info mixtral.npy --ep 8");
  add_generate(*trace, outcome);
  add_import(*trace, outcome);
  add_info(*trace, outcome);
}

}  // namespace mixnet::cli
