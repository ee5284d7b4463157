#include "scenario/pending_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace mixnet::scenario {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = std::size_t{64} << 10;
constexpr mode_t kEveryone = 0666;  // without the umask

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string name_of_descriptor(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

// The file that is to be replaced: the path, or what its links lead to, which need not exist. Empty
// if the path must be written in place.
std::string replaced_by(const std::string& path) {
  struct stat found {};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
    return "";
  }
  constexpr int kMostLinks = 40;  // as the kernel
  fs::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code unknown;
    // Names in there, such as that of /dev/stdout, are open files, whatever they look like.
    if (fs::canonical(folder_of(at), unknown).native().starts_with("/proc/")) {
      return "";
    }
    if (!fs::is_symlink(at, unknown)) {
      break;
    }
    at = at.parent_path() / fs::read_symlink(at, unknown);
  }
  return at.string();
}

int open_unnamed(const std::string& final) {
  const int descriptor =
      ::open(folder_of(final).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kEveryone);
  if (descriptor >= 0 && ::access(name_of_descriptor(descriptor).c_str(), F_OK) != 0) {
    ::close(descriptor);  // it could never be given a name
    return -1;
  }
  return descriptor;
}

}  // namespace

PendingFile::PendingFile(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {}

Result<PendingFile> PendingFile::create(const std::string& path) {
  std::string final = replaced_by(path);
  std::string temporary;
  int descriptor = final.empty()
                       ? ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kEveryone)
                       : open_unnamed(final);
  if (descriptor < 0 && !final.empty()) {
    // The process id keeps two runs with one output apart.
    temporary = fmt::format("{}.{}.tmp", final, getpid());
    descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kEveryone);
  }
  PendingFile file(descriptor, path);
  if (descriptor < 0) {
    return file.cannot_write();
  }
  file.final_ = std::move(final);
  file.temporary_ = std::move(temporary);
  return file;
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      final_(std::move(other.final_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      buffer_(std::move(other.buffer_)) {}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  if (!temporary_.empty()) {
    std::remove(temporary_.c_str());
  }
}

Error PendingFile::cannot_write() const {
  return error_at(path_, fmt::format("cannot write: {}", std::strerror(errno)));
}

Status PendingFile::write(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < kBuffer ? Status() : flush();
}

Status PendingFile::flush() {
  for (std::size_t at = 0; at < buffer_.size();) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + at, buffer_.size() - at);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return cannot_write();
    }
    at += static_cast<std::size_t>(written);
  }
  buffer_.clear();
  return Status();
}

// A link to a file cannot replace another file, so that the new one needs a name to rename.
Status PendingFile::give_temporary_name() {
  std::string name = fmt::format("{}.{}.tmp", final_, getpid());
  std::remove(name.c_str());  // of a process with our number that was killed
  if (::linkat(AT_FDCWD, name_of_descriptor(descriptor_).c_str(), AT_FDCWD, name.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
    return cannot_write();
  }
  temporary_ = std::move(name);
  return Status();
}

Status PendingFile::finish() {
  if (Status flushed = flush(); !flushed || final_.empty()) {
    return flushed;
  }
  if (temporary_.empty()) {
    return give_temporary_name();
  }
  // A network file system may say only now that it has no room.
  return ::fsync(descriptor_) == 0 ? Status() : Status(cannot_write());
}

Status PendingFile::rename() {
  if (final_.empty()) {
    return Status();
  }
  if (std::rename(temporary_.c_str(), final_.c_str()) != 0) {
    return cannot_write();
  }
  temporary_.clear();
  return Status();
}

int PendingFile::release() { return std::exchange(descriptor_, -1); }

}  // namespace mixnet::scenario
