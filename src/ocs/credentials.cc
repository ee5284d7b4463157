#include "ocs/credentials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "net/unique_fd.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

constexpr std::size_t kMaxBytes = 4096;

// What was read, for as long as it is needed.
struct Content {
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  Content(Content&&) = delete;
  Content& operator=(Content&&) = delete;
  ~Content() { ::explicit_bzero(bytes.data(), bytes.size()); }

  std::array<char, kMaxBytes + 1> bytes{};
  std::size_t size = 0;
};

Error at(const std::string& path, std::string message) {
  return error_at(path, std::move(message));
}

Error system_error(const std::string& path) {
  return at(path, std::generic_category().message(errno));
}

Status check_owner(const std::string& path, int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) {
    return system_error(path);
  }
  if (found.st_uid != ::geteuid()) {
    return at(path, fmt::format("belongs to user {}, but user {} runs this: type chown {} {}",
                                found.st_uid, ::geteuid(), ::geteuid(), path));
  }
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return at(path, fmt::format("others may read the password: type chmod 600 {}", path));
  }
  return {};
}

Status read_content(const std::string& path, int fd, Content& content) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) {
    return system_error(path);
  }
  if (!S_ISREG(found.st_mode)) {
    return at(path, "is no file");
  }
  for (ssize_t got = 1; got > 0 && content.size < content.bytes.size();) {
    got = ::read(fd, content.bytes.data() + content.size, content.bytes.size() - content.size);
    if (got < 0) {
      return system_error(path);
    }
    content.size += static_cast<std::size_t>(got);
  }
  if (content.size > kMaxBytes) {
    return at(path, fmt::format("holds more than {} bytes", kMaxBytes));
  }
  return {};
}

// Neither error may quote what was read: a password may stand anywhere.
Result<Login> parse(const std::string& path, std::string_view text) {
  std::string_view user;
  std::string_view password;
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string_view key = trimmed(line.substr(0, equals));
    const bool is_user = key == "user";
    if (equals == std::string_view::npos || (!is_user && key != "password")) {
      return error_at(fmt::format("{}:{}", path, number),
                      "is neither \"user = NAME\" nor \"password = WORD\"");
    }
    std::string_view& value = is_user ? user : password;
    if (!value.empty()) {
      return error_at(fmt::format("{}:{}", path, number), "says again what a line above says");
    }
    value = trimmed(line.substr(equals + 1));
    if (value.empty() || !std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; })) {
      return error_at(fmt::format("{}:{}", path, number),
                      "the value is empty or holds something other than printable ASCII");
    }
  }
  if (user.empty() || password.empty()) {
    return at(path, fmt::format("lacks the line \"{}\"",
                                user.empty() ? "user = NAME" : "password = WORD"));
  }
  return Login{"", std::string(user), Secret(std::string(password))};
}

Result<Login> read(const std::string& path, bool ours_alone) {
  const net::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    return system_error(path);
  }
  if (ours_alone) {
    if (const Status owner = check_owner(path, fd.get()); !owner) {
      return owner.error();
    }
  }
  Content content;
  if (const Status status = read_content(path, fd.get(), content); !status) {
    return status.error();
  }
  return parse(path, std::string_view(content.bytes.data(), content.size));
}

}  // namespace

Result<Login> read_login(const std::string& path) { return read(path, true); }

Result<Login> read_login_credential(const std::string& name) {
  const char* const directory = std::getenv("CREDENTIALS_DIRECTORY");
  if (directory == nullptr) {
    return Error{fmt::format("no credential '{}': systemd has set no $CREDENTIALS_DIRECTORY; write "
                             "LoadCredential={}:FILE into the unit, or name a file",
                             name, name),
                 ""};
  }
  if (name.empty() || name.find('/') != std::string::npos) {
    return Error{fmt::format("'{}' is no name of a credential: it has no '/'", name), ""};
  }
  return read(fmt::format("{}/{}", directory, name), false);
}

}  // namespace mixnet::ocs
