#include "ocs/credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "support/temporary_directory.h"

namespace mixnet::ocs {
namespace {

struct CredentialsWorld {
  std::string write(const std::string& content, mode_t mode = 0600) const {
    const std::string path = directory.write("login", content);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  test_support::TemporaryDirectory directory;
};

std::string error_of(const std::string& content, mode_t mode = 0600) {
  const CredentialsWorld world;
  const std::string path = world.write(content, mode);
  const Result<Login> login = read_login(path);
  EXPECT_FALSE(login.ok()) << content;
  if (login.ok()) {
    return "";
  }
  std::string text = login.error().text();
  for (std::size_t found = text.find(path); found != std::string::npos; found = text.find(path)) {
    text.replace(found, path.size(), "FILE");
  }
  EXPECT_EQ(text.find("s3cr3t"), std::string::npos) << text;
  return text;
}

TEST(Credentials, ReadsALogin) {
  const CredentialsWorld world;
  for (const mode_t mode : {0600U, 0400U}) {
    const auto login = read_login(
        world.write("# switch r1\r\n\nuser=admin\n  password = s3 = \"#cr\" 3t \n", mode));
    ASSERT_TRUE(login.ok()) << login.error().text();
    EXPECT_EQ(login->user, "admin");
    EXPECT_EQ(login->password.reveal(), "s3 = \"#cr\" 3t");
    EXPECT_EQ(login->tid, "");
    ::unlink(world.directory.file("login").c_str());
  }
}

TEST(Credentials, RefusesWhatOthersMayRead) {
  const std::string good = "user = admin\npassword = s3cr3t\n";
  for (const mode_t mode : {0640U, 0604U, 0620U, 0610U, 0666U}) {
    EXPECT_EQ(error_of(good, mode), "FILE: others may read the password: type chmod 600 FILE");
  }
}

TEST(Credentials, ErrorsNameTheLineAndQuoteNothing) {
  EXPECT_EQ(error_of(""), "FILE: lacks the line \"user = NAME\"");
  EXPECT_EQ(error_of("user = admin\n"), "FILE: lacks the line \"password = WORD\"");
  EXPECT_EQ(error_of("user = admin\ns3cr3t\n"),
            "FILE:2: is neither \"user = NAME\" nor \"password = WORD\"");
  EXPECT_EQ(error_of("pasword = s3cr3t\n"),
            "FILE:1: is neither \"user = NAME\" nor \"password = WORD\"");
  EXPECT_EQ(error_of("password = s3cr3t\npassword = s3cr3t\n"),
            "FILE:2: says again what a line above says");
  EXPECT_EQ(error_of("user =\n"),
            "FILE:1: the value is empty or holds something other than printable ASCII");
  EXPECT_EQ(error_of("user = admin\npassword = s3cr3t\x01\n"),
            "FILE:2: the value is empty or holds something other than printable ASCII");
  EXPECT_EQ(error_of(std::string(5000, '#')), "FILE: holds more than 4096 bytes");
}

TEST(Credentials, ErrorsNameAFileThatIsNone) {
  const CredentialsWorld world;
  EXPECT_EQ(read_login(world.directory.file("none")).error().text(),
            world.directory.file("none") + ": No such file or directory");
  ASSERT_EQ(::mkdir(world.directory.file("folder").c_str(), 0700), 0);
  EXPECT_EQ(read_login(world.directory.file("folder")).error().text(),
            world.directory.file("folder") + ": is no file");
}

TEST(Credentials, ReadsACredentialOfSystemd) {
  const CredentialsWorld world;
  world.write("user = admin\npassword = s3cr3t\n", 0440);  // its directory keeps others out
  ::unsetenv("CREDENTIALS_DIRECTORY");
  const auto unset = read_login_credential("login");
  ASSERT_FALSE(unset.ok());
  EXPECT_NE(unset.error().text().find("LoadCredential=login:FILE"), std::string::npos);
  ::setenv("CREDENTIALS_DIRECTORY", world.directory.file("").c_str(), 1);
  const auto login = read_login_credential("login");
  EXPECT_FALSE(read_login_credential("../login").ok());
  EXPECT_FALSE(read_login_credential("").ok());
  ::unsetenv("CREDENTIALS_DIRECTORY");
  ASSERT_TRUE(login.ok()) << login.error().text();
  EXPECT_EQ(login->password.reveal(), "s3cr3t");
}

}  // namespace
}  // namespace mixnet::ocs
