#include "report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/check.h"

namespace mixnet::report {
namespace {

using nlohmann::ordered_json;

std::string quoted(const std::string& text) {
  return ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string microseconds(SimTime time) {
  return fmt::format("{}.{:06}", time.ps() / 1'000'000, time.ps() % 1'000'000);
}

// Where an event goes.
struct Thread {
  int pid = 0;
  int tid = 0;
};

// Appends events to the text of one JSON array.
class EventWriter {
 public:
  void name_process(int pid, const std::string& name) {
    metadata({pid, 0}, "process_name", "name", quoted(name));
    metadata({pid, 0}, "process_sort_index", "sort_index", fmt::to_string(pid));
  }

  void name_thread(Thread thread, const std::string& name) {
    metadata(thread, "thread_name", "name", quoted(name));
    metadata(thread, "thread_sort_index", "sort_index", fmt::to_string(thread.tid));
  }

  void complete(Thread thread, const TimelineSpan& span) {
    separate();
    const char* activity = activity_name(span.activity);
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}",)"
                   R"("args":{{"activity":"{}"}}}})",
                   thread.pid, thread.tid, microseconds(span.start), microseconds(span.duration),
                   quoted(span.label.empty() ? activity : span.label), activity, activity);
  }

  std::string take() { return std::move(text_); }

 private:
  void metadata(Thread thread, const char* name, const char* key, const std::string& value) {
    separate();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"{}":{}}}}})", thread.pid,
                   thread.tid, name, key, value);
  }

  void separate() { text_ += text_.empty() ? "\n" : ",\n"; }

  std::string text_;
};

// Spans of one lane that do not overlap, by start.
using Row = std::vector<const TimelineSpan*>;

// The earliest `limit` spans of a fabric by (start, lane, order of arrival).
std::vector<const TimelineSpan*> earliest_spans(const FabricResult& fabric, std::size_t limit) {
  std::vector<const TimelineSpan*> spans;
  spans.reserve(fabric.spans.size());
  for (const TimelineSpan& span : fabric.spans) {
    CHECK(span.lane >= 0 && static_cast<std::size_t>(span.lane) < fabric.lanes.size(),
          "a span names a lane");
    CHECK(span.start.ps() >= 0 && span.duration.ps() >= 0, "time runs forward");
    spans.push_back(&span);
  }
  std::ranges::stable_sort(spans, [](const TimelineSpan* a, const TimelineSpan* b) {
    return std::pair(a->start, a->lane) < std::pair(b->start, b->lane);
  });
  spans.resize(std::min(spans.size(), limit));
  return spans;
}

// First fit by start time uses the fewest rows. There is always one row, so that idle lanes show.
std::vector<Row> rows_of(const std::vector<const TimelineSpan*>& spans) {
  std::vector<Row> rows(1);
  for (const TimelineSpan* span : spans) {
    const auto free = std::ranges::find_if(rows, [&](const Row& row) {
      return row.empty() || row.back()->start + row.back()->duration <= span->start;
    });
    if (free == rows.end()) {
      rows.push_back(Row{span});
    } else {
      free->push_back(span);
    }
  }
  return rows;
}

// Lane groups in order of first appearance.
std::vector<std::string> groups_of(const FabricResult& fabric) {
  std::vector<std::string> groups;
  for (const TimelineLane& lane : fabric.lanes) {
    if (std::ranges::find(groups, lane.group) == groups.end()) {
      groups.push_back(lane.group);
    }
  }
  return groups;
}

// Writes one lane's threads, numbered after `thread.tid`; returns the last one used.
Thread write_lane(const std::string& name, const std::vector<const TimelineSpan*>& spans,
                  Thread thread, EventWriter& writer) {
  const std::vector<Row> rows = rows_of(spans);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    ++thread.tid;
    writer.name_thread(thread, r == 0 ? name : fmt::format("{} ({})", name, r + 1));
    for (const TimelineSpan* span : rows[r]) {
      writer.complete(thread, *span);
    }
  }
  return thread;
}

// Writes a fabric's processes, numbered after `last_pid`; returns the last number used.
int write_fabric(const FabricResult& fabric, const std::vector<const TimelineSpan*>& spans,
                 int last_pid, EventWriter& writer) {
  std::vector<std::vector<const TimelineSpan*>> by_lane(fabric.lanes.size());
  for (const TimelineSpan* span : spans) {
    by_lane[static_cast<std::size_t>(span->lane)].push_back(span);
  }
  for (const std::string& group : groups_of(fabric)) {
    Thread thread{++last_pid, 0};
    writer.name_process(thread.pid, fabric.name + ": " + group);
    for (std::size_t lane = 0; lane < fabric.lanes.size(); ++lane) {
      if (fabric.lanes[lane].group == group) {
        thread = write_lane(fabric.lanes[lane].name, by_lane[lane], thread, writer);
      }
    }
  }
  return last_pid;
}

}  // namespace

std::string timeline_json(const Comparison& comparison, std::size_t max_spans) {
  std::size_t total = 0;
  for (const FabricResult& fabric : comparison.fabrics) {
    total += fabric.spans.size();
  }
  const std::size_t limit =
      total <= max_spans ? total : max_spans / std::max<std::size_t>(1, comparison.fabrics.size());
  EventWriter writer;
  std::size_t written = 0;
  int pid = 0;
  for (const FabricResult& fabric : comparison.fabrics) {
    const auto spans = earliest_spans(fabric, limit);
    written += spans.size();
    pid = write_fabric(fabric, spans, pid, writer);
  }
  ordered_json other;
  other["truncated"] = written < total;
  other["spans_total"] = total;
  other["spans_written"] = written;
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + other.dump() + ",\"traceEvents\":[" +
         writer.take() + "\n]}\n";
}

}  // namespace mixnet::report
