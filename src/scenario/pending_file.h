#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

// Files that get their name when they are complete, for everything that the product writes.
namespace mixnet::scenario {

// An output that appears at once, or not at all: readers of its path see the old file or the new
// one, never half of one, and a failure leaves the old one.
//
// Until finish() the file has no name where the file system can do that, so that nothing of it is
// left however the process ends. Elsewhere (network file systems, a /proc that is not there) it is
// PATH.PID.tmp, which only an end by a signal leaves behind.
//
// A symbolic link goes on pointing at the file that it names, which is replaced. A device, a pipe
// or an open file (/dev/stdout) is written in place: renaming a file over /dev/null would replace
// it for everyone.
class PendingFile {
 public:
  static Result<PendingFile> create(const std::string& path);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  Status write(std::string_view bytes);
  // All that was written has reached the kernel, and the file only waits for its name: of several
  // files that belong together, finish all before the first is renamed.
  Status finish();
  // After finish(): the path names the new file.
  Status rename();

  int descriptor() const { return descriptor_; }
  // Hands the open file to the caller, who closes it. Call it last.
  int release();

 private:
  PendingFile(int descriptor, std::string path);
  Error cannot_write() const;
  Status flush();
  Status give_temporary_name();

  int descriptor_;
  std::string path_;       // as given: for messages
  std::string final_;      // what it names; empty if it is written in place
  std::string temporary_;  // the name of the file until it is renamed; empty while it has none
  std::string buffer_;     // rows may be short
};

}  // namespace mixnet::scenario
