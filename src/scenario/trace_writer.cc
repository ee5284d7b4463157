#include "scenario/trace_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "scenario/npy.h"
#include "scenario/trace_side_file.h"

namespace mixnet::scenario {

Result<TraceWriter::PendingFile> TraceWriter::PendingFile::create(const std::string& final_path) {
  // The process id keeps two runs with one output apart.
  std::string temporary = fmt::format("{}.{}.tmp", final_path, getpid());
  std::FILE* const file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) {
    return error_at(final_path, fmt::format("cannot write the file: {}", std::strerror(errno)));
  }
  return PendingFile(file, final_path, std::move(temporary));
}

TraceWriter::PendingFile::PendingFile(std::FILE* file, std::string final_path,
                                      std::string temporary_path)
    : file_(file), final_path_(std::move(final_path)), temporary_path_(std::move(temporary_path)) {}

TraceWriter::PendingFile::PendingFile(PendingFile&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      final_path_(std::move(other.final_path_)),
      temporary_path_(std::exchange(other.temporary_path_, std::string())) {}

TraceWriter::PendingFile::~PendingFile() {
  if (file_ != nullptr) {
    std::fclose(file_);
  }
  if (!temporary_path_.empty()) {
    std::remove(temporary_path_.c_str());
  }
}

Error TraceWriter::PendingFile::cannot_write() const {
  return error_at(final_path_, fmt::format("cannot write the file: {}", std::strerror(errno)));
}

Status TraceWriter::PendingFile::write(const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file_) != size) {
    return cannot_write();
  }
  return Status();
}

Status TraceWriter::PendingFile::close() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) {
    return cannot_write();
  }
  return Status();
}

Status TraceWriter::PendingFile::rename() {
  if (std::rename(temporary_path_.c_str(), final_path_.c_str()) != 0) {
    return cannot_write();
  }
  temporary_path_.clear();
  return Status();
}

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
  const Status written = file->write(header.data(), header.size());
  if (!written) {
    return written.error();
  }
  return TraceWriter(std::move(*file), path, shape, *size);
}

Status TraceWriter::append(std::span<const uint32_t> counts) {
  CHECK(static_cast<int64_t>(counts.size()) <= missing_, "more counts than the shape holds");
  missing_ -= static_cast<int64_t>(counts.size());
  return file_.write(counts.data(), counts.size_bytes());
}

Status TraceWriter::commit(const TraceInfo& info) {
  CHECK(missing_ == 0, "commit of an incomplete trace");
  Result<PendingFile> side = PendingFile::create(side_file_path(path_));
  if (!side) {
    return side.error();
  }
  const std::string text = format_side_file(info, shape_);
  // Both files are complete on disk before either gets its name. If the second rename fails, the
  // shape in the side file still tells that the two do not belong together.
  for (const Status& step : {side->write(text.data(), text.size()), side->close(), file_.close()}) {
    if (!step) {
      return step;
    }
  }
  Status renamed = side->rename();
  return renamed ? file_.rename() : renamed;
}

}  // namespace mixnet::scenario
