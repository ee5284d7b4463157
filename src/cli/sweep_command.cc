#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/sweep_results.h"
#include "cli/worker_pool.h"
#include "core/check.h"
#include "report/comparison_json.h"

namespace mixnet::cli {
namespace {

struct SweepOptions {
  std::string sweep;
  std::string out;
  std::string report;
  std::string shard = "1/1";
  int jobs = 0;
  bool dry_run = false;
  bool json = false;
};

struct Shard {
  int number = 1;
  int count = 1;
};

Result<Shard> parse_shard(const std::string& text) {
  Shard shard;
  int length = 0;
  const int read = std::sscanf(text.c_str(), "%9d/%9d%n", &shard.number, &shard.count, &length);
  if (read != 2 || static_cast<std::size_t>(length) != text.size() || shard.number < 1 ||
      shard.number > shard.count) {
    return error_at("--shard", fmt::format("cannot use `{}`: write i/n with i from 1 to n, for "
                                           "example 3/16",
                                           text));
  }
  if (static_cast<std::size_t>(shard.count) > scenario::kMostSweepPoints) {
    return error_at("--shard", fmt::format("{} shards are more than any sweep has points: give at "
                                           "most {}",
                                           shard.count, scenario::kMostSweepPoints));
  }
  return shard;
}

// How far this run is, by the rough cost of its points.
class SweepProgress {
 public:
  explicit SweepProgress(const std::vector<SweepPoint>& points)
      : bar_("sweep"), points_(points.size()) {
    for (const SweepPoint& point : points) {
      total_s_ += cost(point);
    }
  }
  void add(const SweepPoint& point) {
    ++done_;
    done_s_ += cost(point);
  }
  void show() {
    const double share = done_ == points_ ? 1 : std::min(1.0, done_s_ / total_s_);
    bar_.update_share(share, fmt::format("{} of {} points", done_, points_));
  }

 private:
  // Also a point that fails at once takes a process.
  static double cost(const SweepPoint& point) { return point.cost_s + 1e-3; }

  Progress bar_;
  std::size_t points_;
  std::size_t done_ = 0;
  double done_s_ = 0;
  double total_s_ = 0;
};

// Of the points that need no simulation.
std::set<std::string> ids_of(const std::vector<SweepLine>& lines) {
  std::set<std::string> ids;
  for (const SweepLine& line : lines) {
    if (!line.failed) {
      ids.insert(line.id);
    }
  }
  return ids;
}

int print_points(const std::vector<SweepPoint>& points, const std::set<std::string>& there,
                 const SweepOptions& options) {
  double cost_s = 0;
  int done = 0;
  for (const SweepPoint& point : points) {
    const bool skipped = there.count(point.id) != 0;
    done += skipped ? 1 : 0;
    cost_s += skipped ? 0 : point.cost_s;
    nlohmann::ordered_json line = {
        {"id", point.id}, {"point", point.point}, {"cost_s", point.cost_s}, {"done", skipped}};
    if (point.error.has_value()) {
      line["error"] = point.error->text();
    }
    if (options.json) {
      print_text(report::json_text(line) + "\n");
    } else {
      print_text(fmt::format("{}  {:>8.2f} s  {}{}\n", point.id, point.cost_s,
                             report::json_text(line["point"]),
                             skipped                   ? "  (done)"
                             : point.error.has_value() ? "  error: " + point.error->text()
                                                       : ""));
    }
  }
  for (const SweepPoint& point : points) {
    if (point.error.has_value()) {
      report_usage_error(error_at(report::json_text(point.point), point.error->text()));
    }
  }
  if (!options.json) {
    print_text(fmt::format("{} points, {} done; about {:.0f} s of CPU time for the rest\n",
                           points.size(), done, cost_s));
  }
  const bool usable = std::none_of(points.begin(), points.end(),
                                   [](const SweepPoint& point) { return point.error.has_value(); });
  return usable ? kExitOk : kExitUsage;
}

// Everything of one run.
struct SweepRun {
  const scenario::Sweep& sweep;
  std::vector<SweepPoint> todo;
  std::optional<SweepFile>& file;
  std::vector<SweepLine> lines;  // of this run
  int failures = 0;
};

Status take(SweepRun& run, std::size_t item, const Result<std::string>& output) {
  const SweepPoint& point = run.todo[item];
  SweepLine line;
  line.id = point.id;
  line.text = output.ok() ? *output : failed_sweep_line(point, output.error());
  const auto json = nlohmann::json::parse(line.text, nullptr, false);
  CHECK(json.is_object(), "a worker writes one object");
  line.failed = json.contains("error");
  if (line.failed) {
    ++run.failures;
    report_failure(error_at(report::json_text(point.point), json["error"].get<std::string>()));
  }
  if (run.file.has_value()) {
    if (Status s = run.file->append(line.text); !s.ok()) {
      return s;
    }
  } else {
    print_text(line.text + "\n");
    std::fflush(stdout);
  }
  run.lines.push_back(std::move(line));
  return Status();
}

Status work_through(SweepRun& run, int jobs) {
  SweepProgress progress(run.todo);
  WorkerPool pool;
  pool.jobs = jobs > 0 ? jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  pool.work = [&](std::size_t item) { return sweep_line(run.sweep, run.todo[item]); };
  pool.done = [&](std::size_t item, const Result<std::string>& output) {
    progress.add(run.todo[item]);
    return take(run, item, output);
  };
  pool.idle = [&] { progress.show(); };
  return run_workers(pool, run.todo.size());
}

Status write_report(const SweepOptions& options, const SweepRun& run,
                    const std::vector<SweepPoint>& points) {
  SweepCollector collector(points);
  if (run.file.has_value()) {
    if (Status s = collector.add(run.file->kept(), options.out); !s.ok()) {
      return s;
    }
  }
  if (Status s = collector.add(run.lines, "this run"); !s.ok()) {
    return s;
  }
  return write_files({{options.report, sweep_report(run.sweep, collector.results())}});
}

int finish(const SweepOptions& options, const SweepRun& run, const Status& worked,
           const std::vector<SweepPoint>& points) {
  if (!worked.ok()) {
    return report_failure(worked.error());
  }
  if (!options.report.empty()) {
    if (Status s = write_report(options, run, points); !s.ok()) {
      return report_failure(s.error());
    }
  }
  return run.failures == 0 ? kExitOk : kExitFailure;
}

// The points to simulate: those of the shard that the file does not have.
int simulate(const SweepOptions& options, const scenario::Sweep& sweep,
             const std::vector<SweepPoint>& points, const std::vector<SweepPoint>& mine) {
  std::optional<SweepFile> file;
  std::set<std::string> there;
  if (!options.out.empty()) {
    Result<SweepFile> opened = SweepFile::open(options.out);
    if (!opened.ok()) {
      return report_failure(opened.error());
    }
    file.emplace(*std::move(opened));
    there = ids_of(file->kept());
  }
  SweepRun run{sweep, {}, file, {}, 0};
  for (const SweepPoint& point : mine) {
    if (there.count(point.id) == 0) {
      run.todo.push_back(point);
    }
  }
  const auto foreign = there.size() - static_cast<std::size_t>(std::count_if(
                                          points.begin(), points.end(), [&](const SweepPoint& p) {
                                            return there.count(p.id) != 0;
                                          }));
  if (foreign > 0) {
    print_note(fmt::format("{}: {} lines are of another sweep or version; they stay", options.out,
                           foreign));
  }
  const Status worked = work_through(run, options.jobs);
  return finish(options, run, worked, points);
}

// Changes nothing.
int list(const SweepOptions& options, const std::vector<SweepPoint>& mine) {
  std::set<std::string> there;
  if (!options.out.empty() && access(options.out.c_str(), F_OK) == 0) {
    const Result<std::vector<SweepLine>> lines = read_sweep_lines(options.out);
    if (!lines.ok()) {
      return report_usage_error(lines.error());
    }
    there = ids_of(*lines);
  }
  return print_points(mine, there, options);
}

int run(const CLI::App& command, const SweepOptions& options) {
  if (Status status = check_used(command, {{"--report", !options.dry_run,
                                            "--dry-run simulates nothing; `mixnet sweep report` "
                                            "draws results that are there"}});
      !status) {
    return report_usage_error(status.error());
  }
  const Result<Shard> shard = parse_shard(options.shard);
  const Result<scenario::Sweep> sweep =
      shard.ok() ? scenario::read_sweep(options.sweep) : Result<scenario::Sweep>(shard.error());
  if (!sweep.ok()) {
    return report_usage_error(sweep.error());
  }
  if (Status s = check_outputs({options.out, options.report}, {options.sweep, sweep->scenario});
      !s.ok()) {
    return report_usage_error(s.error());
  }
  const Result<std::vector<SweepPoint>> points = sweep_points(*sweep);
  if (!points.ok()) {
    return report_usage_error(points.error());
  }
  const std::vector<SweepPoint> mine = sweep_shard(*points, shard->number, shard->count);
  return options.dry_run ? list(options, mine) : simulate(options, *sweep, *points, mine);
}

}  // namespace

void add_sweep_command(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command = app.add_subcommand(
      "sweep", "Compare the fabrics of a scenario along one or more of its keys");
  command->footer(
      "Examples:\n"
      "  mixnet sweep examples/sweeps/alpha.toml --out alpha.jsonl --report alpha.html\n"
      "  mixnet sweep examples/sweeps/scale.toml --shard 3/16 --out part-3.jsonl\n"
      "  mixnet sweep merge scale.jsonl part-*.jsonl --sweep examples/sweeps/scale.toml");
  command->add_option("sweep", options->sweep, "Sweep file (docs/sweep.md)");
  command->add_option("--out", options->out,
                      "File of results, a JSON object a line; points that are there already are "
                      "not simulated again. Standard output without it");
  command->add_option("-j,--jobs", options->jobs, "Points at once; default: one for each core")
      ->check(CLI::Range(1, 4096));
  command->add_option("--shard", options->shard, "Part i of n of the points, i from 1 to n")
      ->type_name("i/n");
  command->add_option("--report", options->report, "Page with curves of all results");
  command->add_flag("--dry-run", options->dry_run, "List the points and what they roughly cost");
  command->add_flag("--json", options->json, "Objects a line for --dry-run too");
  add_sweep_merge_command(*command, outcome);
  add_sweep_report_command(*command, outcome);
  command->callback([command, options, &outcome] {
    if (!command->get_subcommands().empty()) {
      return;
    }
    outcome.exit_code =
        options->sweep.empty()
            ? report_usage_error({"name a sweep file; examples/sweeps/ has some", ""})
            : run(*command, *options);
  });
}

}  // namespace mixnet::cli
