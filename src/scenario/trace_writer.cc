#include "scenario/trace_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "core/check.h"
#include "scenario/npy.h"
#include "scenario/trace_side_file.h"

namespace mixnet::scenario {

TraceWriter::TraceWriter(PendingFile file, std::string path, const TraceShape& shape,
                         int64_t missing)
    : file_(std::move(file)), path_(std::move(path)), shape_(shape), missing_(missing) {}

Result<TraceWriter> TraceWriter::create(const std::string& path, const TraceShape& shape) {
  if (!path.ends_with(".npy")) {
    return error_at(path, "the name of a trace must end in .npy");
  }
  for (const int64_t extent : shape) {
    if (extent < 1) {
      return error_at(path, fmt::format("a trace of {} counts is empty", fmt::join(shape, " x ")));
    }
  }
  const Result<int64_t> size = checked_product(shape, path);
  if (!size) {
    return size.error();
  }
  const Status replaceable = check_replaceable(side_file_path(path));
  if (!replaceable) {
    return replaceable.error();
  }
  Result<PendingFile> file = PendingFile::create(path);
  if (!file) {
    return file.error();
  }
  const std::string header = format_npy_header(shape);
  const Status written = file->write(header);
  if (!written) {
    return written.error();
  }
  return TraceWriter(std::move(*file), path, shape, *size);
}

Status TraceWriter::append(std::span<const uint32_t> counts) {
  CHECK(static_cast<int64_t>(counts.size()) <= missing_, "more counts than the shape holds");
  missing_ -= static_cast<int64_t>(counts.size());
  return file_.write(
      std::string_view(reinterpret_cast<const char*>(counts.data()), counts.size_bytes()));
}

Status TraceWriter::commit(const TraceInfo& info) {
  CHECK(missing_ == 0, "commit of an incomplete trace");
  Result<PendingFile> side = PendingFile::create(side_file_path(path_));
  if (!side) {
    return side.error();
  }
  // Both files are complete on disk before either gets its name. If the second rename fails, the
  // shape in the side file still tells that the two do not belong together.
  for (const Status& step :
       {side->write(format_side_file(info, shape_)), side->finish(), file_.finish()}) {
    if (!step) {
      return step;
    }
  }
  Status renamed = side->rename();
  return renamed ? file_.rename() : renamed;
}

}  // namespace mixnet::scenario
