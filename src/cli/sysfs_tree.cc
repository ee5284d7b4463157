#include "cli/sysfs_tree.h"

#include <filesystem>
#include <system_error>

#include "cli/command.h"

namespace mixnet::cli {

Status SysfsTree::set_carrier(const std::string& interface, bool up) {
  const auto known = written_.find(interface);
  if (known != written_.end() && known->second == up) {
    return Status();
  }
  const std::filesystem::path folder =
      std::filesystem::path(directory_) / "class" / "net" / interface;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Error{"cannot make the directory: " + error.message(), folder.string()};
  }
  if (Status status = write_files({OutputFile{(folder / "carrier").string(), up ? "1\n" : "0\n"}});
      !status) {
    return status;
  }
  written_[interface] = up;
  return Status();
}

}  // namespace mixnet::cli
