#include "scenario/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "scenario/npy.h"
#include "scenario/trace_side_file.h"
#include "scenario/trace_writer.h"

namespace mixnet::scenario {
namespace {

static_assert(std::endian::native == std::endian::little,
              "a mapped trace is used as it lies in the file, which is little-endian");

struct MappedFile {
  std::shared_ptr<const void> memory;
  std::size_t size = 0;

  std::string_view bytes() const { return {static_cast<const char*>(memory.get()), size}; }
};

Error cannot_read(const std::string& path, const char* why) {
  return error_at(path, fmt::format("cannot read the trace: {}", why));
}

Result<MappedFile> map_descriptor(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    return cannot_read(path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return cannot_read(path, "it is not a regular file, which a trace must be to be mapped");
  }
  if (status.st_size == 0) {
    return cannot_read(path, "the file is empty");
  }
  MappedFile file;
  file.size = static_cast<std::size_t>(status.st_size);
  void* const start = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) {
    return cannot_read(path, std::strerror(errno));
  }
  file.memory = std::shared_ptr<const void>(
      start, [start, size = file.size](const void*) { ::munmap(start, size); });
  return file;
}

Result<MappedFile> map_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return cannot_read(path, std::strerror(errno));
  }
  Result<MappedFile> file = map_descriptor(descriptor, path);
  ::close(descriptor);  // the mapping keeps the file
  return file;
}

RoutingView view_of(const TraceShape& shape, const void* counts) {
  return RoutingView{.iterations = shape[0],
                     .layers = shape[1],
                     .sources = shape[2],
                     .experts = shape[3],
                     .counts = static_cast<const uint32_t*>(counts)};
}

}  // namespace

RoutingTrace RoutingTrace::from_counts(std::vector<uint32_t> counts, int64_t iterations,
                                       int64_t layers, int64_t sources, int64_t experts,
                                       TraceInfo info) {
  const TraceShape shape{iterations, layers, sources, experts};
  for (const int64_t extent : shape) {
    CHECK(extent >= 1, "a trace has no empty dimension");
  }
  const Result<int64_t> size = checked_product(shape, "");
  CHECK(size.ok() && static_cast<std::size_t>(*size) == counts.size(),
        "the counts do not fill the shape");
  const auto owned = std::make_shared<const std::vector<uint32_t>>(std::move(counts));
  RoutingTrace trace;
  trace.view_ = view_of(shape, owned->data());
  trace.info_ = std::move(info);
  trace.memory_ = owned;
  return trace;
}

Result<RoutingTrace> RoutingTrace::map(const std::string& path) {
  Result<MappedFile> file = map_file(path);
  if (!file) {
    return file.error();
  }
  const Result<NpyHeader> header = parse_npy_header(file->bytes(), path);
  if (!header) {
    return header.error();
  }
  const Result<TraceLayout> layout = trace_layout(*header, file->size, path);
  if (!layout) {
    return layout.error();
  }
  Result<TraceInfo> info = read_side_file(side_file_path(path), layout->shape);
  if (!info) {
    return info.error();
  }
  RoutingTrace trace;
  trace.view_ = view_of(layout->shape, file->bytes().data() + layout->data_offset);
  trace.info_ = std::move(*info);
  trace.memory_ = file->memory;
  return trace;
}

RoutingTrace RoutingTrace::with_info(TraceInfo info) const {
  RoutingTrace trace = *this;
  trace.info_ = std::move(info);
  return trace;
}

Status write_trace(const RoutingTrace& trace, const std::string& path) {
  Result<TraceWriter> writer = TraceWriter::create(path, trace.shape());
  if (!writer) {
    return writer.error();
  }
  const RoutingView& view = trace.view();
  for (int64_t iteration = 0; iteration < view.iterations; ++iteration) {
    for (int64_t layer = 0; layer < view.layers; ++layer) {
      for (int64_t source = 0; source < view.sources; ++source) {
        Status written = writer->append(view.row(iteration, layer, source));
        if (!written) {
          return written;
        }
      }
    }
  }
  return writer->commit(trace.info());
}

}  // namespace mixnet::scenario
