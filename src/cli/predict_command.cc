#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "cli/predict_replay.h"
#include "cli/progress.h"
#include "report/prediction_page.h"
#include "report/table.h"
#include "scenario/trace.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDefaultServers = 8;
constexpr int kMostWindow = 256;
// A P of more experts takes hundreds of megabytes per layer.
constexpr int64_t kMostExperts = 1024;

struct PredictArguments {
  std::string trace;
  std::string out;
  std::vector<std::string> predictors;
  int top_k = 0;
  int servers = 0;
  ReplayOptions replay;
  bool json = false;
};

Json score_json(const LayerScore& score) {
  return {{"scored", score.scored},
          {"top_k_accuracy", score.top_k_accuracy},
          {"load_error", score.load_error},
          {"all_to_all_ratio", finite_or_null(score.all_to_all_ratio)}};
}

Json to_json(const RoutingView& trace, const ReplayOptions& options,
             const std::vector<PredictorScore>& scores) {
  Json object = {{"iterations", trace.iterations},
                 {"layers", trace.layers},
                 {"sources", trace.sources},
                 {"experts", trace.experts},
                 {"top_k", options.top_k},
                 {"window", options.window},
                 {"warm_up", options.warm_up},
                 {"servers", options.servers},
                 {"alpha", options.alpha},
                 {"eps", options.eps},
                 {"seed", options.seed}};
  object["predictors"] = Json::array();
  for (const PredictorScore& score : scores) {
    Json entry = {{"predictor", score.name}};
    entry.update(score_json(score.mean));
    entry["layers"] = Json::array();
    for (std::size_t l = 0; l < score.layers.size(); ++l) {
      Json layer = {{"layer", l}};
      layer.update(score_json(score.layers[l]));
      entry["layers"].push_back(std::move(layer));
    }
    object["predictors"].push_back(std::move(entry));
  }
  object["version"] = MIXNET_VERSION;
  return object;
}

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "never";
}

std::string table_text(const std::vector<PredictorScore>& scores, int top_k) {
  report::Table table({{"predictor", report::Align::kLeft},
                       {"layer"},
                       {fmt::format("top-{} accuracy", top_k)},
                       {"load error"},
                       {"all-to-all ratio"}});
  const auto add = [&table](const std::string& name, const std::string& layer,
                            const LayerScore& s) {
    table.add_row({name, layer, fmt::format("{:.3f}", s.top_k_accuracy),
                   fmt::format("{:.3f}", s.load_error), ratio_text(s.all_to_all_ratio)});
  };
  for (const PredictorScore& score : scores) {
    add(score.name, "all", score.mean);
  }
  for (const PredictorScore& score : scores) {
    for (std::size_t l = 0; l < score.layers.size(); ++l) {
      add(score.name, std::to_string(l), score.layers[l]);
    }
  }
  return table.text();
}

// Fills in what depends on the trace; the error says what to type instead.
Status complete(PredictArguments& typed, const scenario::RoutingTrace& trace) {
  const RoutingView& view = trace.view();
  ReplayOptions& replay = typed.replay;
  if (view.iterations < 2) {
    return Error{"a trace of one iteration leaves nothing to predict: give one with two or more",
                 typed.trace};
  }
  if (view.experts > kMostExperts) {
    return Error{fmt::format("{} experts are more than the {} that predictors are made for",
                             view.experts, kMostExperts),
                 typed.trace};
  }
  const int experts = static_cast<int>(view.experts);
  const int model_top_k = trace.info().top_k > 0 ? trace.info().top_k : 2;
  replay.top_k = typed.top_k > 0 ? typed.top_k : std::min(model_top_k, experts);
  replay.servers = typed.servers > 0 ? typed.servers : std::min(kDefaultServers, experts);
  if (replay.top_k > experts) {
    return Error{
        fmt::format("--top-k {} is more than the {} experts of the trace", replay.top_k, experts),
        ""};
  }
  if (replay.servers > experts) {
    return Error{fmt::format("--servers {} is more than the {} experts of the trace: give at "
                             "most {}",
                             replay.servers, experts, experts),
                 ""};
  }
  if (replay.alpha + replay.eps == 0) {
    return Error{"a server needs at least one NIC: give --alpha or --eps above 0", ""};
  }
  replay.warm_up = view.iterations > 2 * replay.window ? replay.window : 1;
  replay.predictors = typed.predictors.empty() ? plan::predictor_names() : typed.predictors;
  return {};
}

int run_predict(PredictArguments typed) {
  const Result<scenario::RoutingTrace> trace = scenario::RoutingTrace::map(typed.trace);
  if (!trace) {
    return report_usage_error(trace.error());
  }
  if (Status s = complete(typed, *trace); !s) {
    return report_usage_error(s.error());
  }
  std::vector<PredictorScore> scores;
  {
    Progress bar("replaying the trace");
    scores = replay_predictions(trace->view(), typed.replay,
                                [&bar](int64_t done, int64_t total) { bar.update(done, total); });
  }
  if (scores.front().mean.scored == 0) {
    return report_usage_error(error_at(
        typed.trace, "no iteration after the first has tokens: there is nothing to predict"));
  }
  const Json result = to_json(trace->view(), typed.replay, scores);
  if (!typed.out.empty()) {
    if (Status made = make_folder(typed.out); !made) {
      return report_failure(made.error());
    }
    const std::string title = std::filesystem::path(typed.trace).stem().string();
    const Status written =
        write_files({{typed.out + "/report.html", report::prediction_html(result, title)},
                     {typed.out + "/prediction.json", result.dump(2) + "\n"}});
    if (!written) {
      return report_failure(written.error());
    }
  }
  if (typed.json) {
    print_json(result);
    return kExitOk;
  }
  fmt::print(
      "{}\nload error: share of the load predicted at the wrong expert. all-to-all ratio: "
      "time of the dispatch\nwith circuits wired for the prediction over circuits wired "
      "for the truth ({} servers, {} + {} NICs).\nScored: iterations {} to {}.\n",
      table_text(scores, typed.replay.top_k), typed.replay.servers, typed.replay.alpha,
      typed.replay.eps, typed.replay.warm_up, trace->view().iterations - 1);
  if (!typed.out.empty()) {
    fmt::print("Written: {0}/report.html, {0}/prediction.json\n", typed.out);
  }
  return kExitOk;
}

}  // namespace

void add_predict_command(CLI::App& app, Outcome& outcome) {
  auto typed = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand(
      "predict", "replay a routing trace and score predictions of every layer's expert loads");
  command->add_option("TRACE", typed->trace, "routing trace, .npy (mixnet trace makes one)")
      ->required();
  command->add_option("--predictor", typed->predictors, "predictor (repeatable); all by default")
      ->check(CLI::IsMember(plan::predictor_names()));
  command
      ->add_option("--top-k", typed->top_k,
                   "experts that count as the most loaded; default: "
                   "top-k of the trace's side file, or 2")
      ->check(CLI::Range(1, static_cast<int>(kMostExperts)));
  command->add_option("--window", typed->replay.window, "iterations that copilot fits")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostWindow));
  command
      ->add_option("--servers", typed->servers,
                   "servers that sources and experts are spread "
                   "over; default: 8, or one per expert if fewer")
      ->check(CLI::Range(1, static_cast<int>(kMostExperts)));
  command->add_option("--alpha", typed->replay.alpha, "optical NICs per server")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostNics));
  command->add_option("--eps", typed->replay.eps, "electrical NICs per server")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostNics));
  command->add_option("--seed", typed->replay.seed, "seed of the random predictor")
      ->check(CLI::Range(int64_t{0}, INT64_MAX))
      ->capture_default_str();
  command->add_option("--out", typed->out, "folder for report.html and prediction.json");
  command->add_flag("--json", typed->json, "print one JSON object instead of a table");
  command->footer("Example: mixnet predict trace.npy --window 16 --out out/prediction");
  command->callback([typed, &outcome] { outcome.exit_code = run_predict(*typed); });
}

}  // namespace mixnet::cli
