#include "cli/sweep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "scenario/pending_file.h"
#include "scenario/text_file.h"

namespace mixnet::cli {
namespace {

// A record lock: it ends with this process, is not inherited by its workers, and works over NFS.
bool lock(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(descriptor, F_SETLK, &whole) == 0;
}

// Whether the path still names the open file: another process may have replaced it meanwhile.
bool is_at(int descriptor, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return fstat(descriptor, &open) == 0 && stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

bool write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(descriptor, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    at += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

Result<std::vector<SweepLine>> sweep_lines(const std::string& text, const std::string& file) {
  std::vector<SweepLine> lines;
  int number = 0;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) {
      return lines;
    }
    SweepLine line;
    line.text = text.substr(at, end - at);
    line.number = ++number;
    const auto json = nlohmann::json::parse(line.text, nullptr, false);
    const bool has_id = json.is_object() && json.contains("id") && json["id"].is_string();
    if (!has_id || json.contains("fabrics") == json.contains("error")) {
      return error_at(scenario::at_line(file, number),
                      "this is no line of sweep results, an object with `id` and either `fabrics` "
                      "or `error`: name another file, or remove the line");
    }
    line.id = json["id"].get<std::string>();
    line.failed = json.contains("error");
    lines.push_back(std::move(line));
    at = end + 1;
  }
}

Result<std::vector<SweepLine>> read_sweep_lines(const std::string& path) {
  const Result<std::string> text = scenario::read_text_file(path);
  return text.ok() ? sweep_lines(*text, path) : Result<std::vector<SweepLine>>(text.error());
}

Error SweepFile::failure(const char* what) const {
  return error_at(path_, fmt::format("{}: {}", what, std::strerror(errno)));
}

Result<SweepFile> SweepFile::open(const std::string& path) {
  constexpr int kTries = 100;  // one may be enough; each loses against a process that replaced it
  for (int i = 0; i < kTries; ++i) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    SweepFile file(path, descriptor);
    if (descriptor < 0) {
      return file.failure("cannot open it for writing");
    }
    if (!lock(descriptor)) {
      return errno == EACCES || errno == EAGAIN
                 ? error_at(path,
                            "another process writes it: wait for that one, or name another "
                            "file")
                 : file.failure("cannot lock it");
    }
    if (is_at(descriptor, path)) {
      if (Status read = file.read(); !read.ok()) {
        return read.error();
      }
      return file;
    }
  }
  return error_at(path, "it is replaced again and again by another process");
}

Status SweepFile::read() {
  struct stat open {};
  if (fstat(descriptor_, &open) != 0 || !S_ISREG(open.st_mode)) {
    return Status();  // a pipe or a terminal keeps nothing
  }
  std::string text;
  char buffer[65536];
  for (ssize_t got = 0; (got = ::read(descriptor_, buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno != EINTR) {
      return failure("cannot read it");
    }
    text.append(buffer, got < 0 ? 0 : static_cast<std::size_t>(got));
  }
  Result<std::vector<SweepLine>> lines = sweep_lines(text, path_);
  if (!lines.ok()) {
    return lines.error();
  }
  // A file that holds nothing but the beginning of its first line is still ours.
  const std::string start = "{\"id\":";
  const std::size_t common = std::min(start.size(), text.size());
  if (lines->empty() && text.compare(0, common, start, 0, common) != 0) {
    return error_at(path_, "this is no file of sweep results: name another");
  }
  std::string good;
  for (SweepLine& line : *lines) {
    if (!line.failed) {
      good += line.text + '\n';
      kept_.push_back(std::move(line));
    }
  }
  return good == text ? Status() : rewrite(good);
}

// The new file is locked before it gets its name. A record lock ends when any descriptor of the
// file is closed, so the old one, which no longer has a name, is closed last.
Status SweepFile::rewrite(const std::string& text) {
  Result<scenario::PendingFile> file = scenario::PendingFile::create(path_);
  if (!file.ok()) {
    return file.error();
  }
  if (fcntl(file->descriptor(), F_SETFL, O_APPEND) != 0 || !lock(file->descriptor())) {
    return failure("cannot write it again without its unfinished lines");
  }
  Status done = file->write(text);
  done = done.ok() ? file->finish() : done;
  if (done.ok() && fdatasync(file->descriptor()) != 0) {
    done = failure("cannot write it again without its unfinished lines");
  }
  done = done.ok() ? file->rename() : done;
  if (!done.ok()) {
    return done;
  }
  close(std::exchange(descriptor_, file->release()));
  return Status();
}

Status SweepFile::append(const std::string& line) {
  if (!write_all(descriptor_, line + '\n') || (fdatasync(descriptor_) != 0 && errno != EINVAL)) {
    return failure("cannot write");
  }
  return Status();
}

SweepFile::SweepFile(SweepFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      kept_(std::move(other.kept_)) {}

SweepFile::~SweepFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

}  // namespace mixnet::cli
