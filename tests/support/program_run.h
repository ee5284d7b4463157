#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "support/temporary_directory.h"

namespace mixnet::test_support {

struct ProgramRun {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

// Runs `mixnet ARGUMENTS` in the shell, inside `folder`; what it prints goes to the files `out` and
// `err` of `directory`.
inline ProgramRun run_program(const TemporaryDirectory& directory, const std::string& folder,
                              const std::string& arguments) {
  const std::string command = "cd '" + directory.file(folder) + "' && '" MIXNET_PROGRAM "' " +
                              arguments + " >'" + directory.file("out") + "' 2>'" +
                              directory.file("err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(directory.file("out")),
          read_all(directory.file("err"))};
}

}  // namespace mixnet::test_support
