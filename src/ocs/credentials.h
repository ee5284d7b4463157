#pragma once

#include <string>

#include "core/result.h"
#include "ocs/tl1_encoder.h"

// The login at a switch, kept out of configuration files, command lines and logs:
//
//   # comment
//   user = admin
//   password = whatever; blanks within and all other signs belong to it
namespace mixnet::ocs {

// From a file that its owner alone may read. Errors name the file and the line, never quote it, and
// say what to type when others may read it.
Result<Login> read_login(const std::string& path);

// From the credential of this name that systemd hands to a service, a file in the directory
// $CREDENTIALS_DIRECTORY; systemd sees to who may read it.
Result<Login> read_login_credential(const std::string& name);

}  // namespace mixnet::ocs
