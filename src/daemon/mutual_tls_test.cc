// Over a network address only those get in whom the region's CA has signed, and both ways.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <region.grpc.pb.h>

#include <cstdlib>

#include "daemon/grpc_listener.h"
#include "daemon/region_client.h"
#include "daemon/region_service.h"
#include "support/temporary_directory.h"

namespace mixnet::daemon {
namespace {

using mixnet::test_support::TemporaryDirectory;
using ::testing::HasSubstr;

class NoRegion final : public RegionBackend {
 public:
  const ocs::Region& region() const override { return region_; }
  void submit(RegionRequest /*request*/, Done /*done*/) override {}

 private:
  ocs::Region region_ =
      ocs::Region::make({2, 2}, {"s0", "s1"},
                        {ocs::Nic{"s0/a", 0, "a", ocs::PortId(1), ocs::PortId(3)},
                         ocs::Nic{"s1/a", 1, "a", ocs::PortId(2), ocs::PortId(4)}})
          .value();
};

// Keys and certificates of two authorities, made once.
class MutualTls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory();
    folder_->write("san.ext", "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
    for (const std::string ca : {"ca", "other-ca"}) {
      run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
          "-keyout " +
          ca + ".key -out " + ca + ".pem -subj /CN=" + ca);
    }
    issue("server", "ca");
    issue("client", "ca");
    issue("stranger", "other-ca");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static void run(const std::string& command) {
    const std::string all = "cd '" + folder_->file("") + "' && " + command + " >log 2>&1";
    // NOLINTNEXTLINE(bugprone-command-processor): a fixed command of a test
    ASSERT_EQ(std::system(all.c_str()), 0) << mixnet::test_support::read_all(folder_->file("log"));
  }
  static void issue(const std::string& name, const std::string& ca) {
    run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + name +
        ".key -out " + name + ".csr -subj /CN=" + name);
    run("openssl x509 -req -in " + name + ".csr -CA " + ca + ".pem -CAkey " + ca +
        ".key -CAcreateserial -days 2 -extfile san.ext -out " + name + ".pem");
  }

  void SetUp() override {
    ListenConfig listen;
    listen.grpc = "127.0.0.1:0";
    listen.tls_certificate = folder_->file("server.pem");
    listen.tls_key = folder_->file("server.key");
    listen.tls_client_ca = folder_->file("ca.pem");
    auto opened = GrpcListener::open(listen, service_);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    listener_ = std::move(opened).value();
    listen_ = listen;
  }

  ClientOptions options_of(const std::string& name) const {
    ClientOptions options;
    options.address = "127.0.0.1:" + std::to_string(listener_->port());
    options.tls_ca = folder_->file("ca.pem");
    options.tls_certificate = folder_->file(name + ".pem");
    options.tls_key = folder_->file(name + ".key");
    options.deadline = std::chrono::seconds(20);
    return options;
  }

  grpc::Status health_by(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    const auto stub = region::v1::Region::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(listener_->port()), credentials));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    region::v1::HealthReply reply;
    return stub->Health(&context, region::v1::HealthRequest(), &reply);
  }

  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): made once per suite
  static TemporaryDirectory* folder_;
  NoRegion region_;
  TopologyFeed feed_;
  RegionService service_{ServiceOptions{"r1", Allocator::kSplit, 0, "1"}, region_, feed_};
  ListenConfig listen_;
  std::unique_ptr<GrpcListener> listener_;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): made once per suite
TemporaryDirectory* MutualTls::folder_ = nullptr;

TEST_F(MutualTls, TheRightClientGetsIn) {
  const auto health = RegionClient::make(options_of("client"))->health();
  ASSERT_TRUE(health.ok()) << health.error().text();
  EXPECT_EQ(health->region(), "r1");
}

TEST_F(MutualTls, AClientOfAnotherAuthorityDoesNot) {
  EXPECT_FALSE(RegionClient::make(options_of("stranger"))->health().ok());
}

TEST_F(MutualTls, AServerOfAnotherAuthorityIsNotTrusted) {
  ClientOptions options = options_of("client");
  options.tls_ca = folder_->file("other-ca.pem");
  EXPECT_FALSE(RegionClient::make(options)->health().ok());
}

TEST_F(MutualTls, NobodyGetsInWithoutACertificate) {
  ClientOptions options = options_of("client");
  options.tls_certificate.clear();
  options.tls_key.clear();
  const auto refused = RegionClient::make(options);
  ASSERT_FALSE(refused.ok());  // already on the client's side ...
  EXPECT_THAT(refused.error().message, HasSubstr("give a CA, a certificate and a key"));
  // ... and by the server, when a client sends none.
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = mixnet::test_support::read_all(folder_->file("ca.pem"));
  EXPECT_NE(health_by(grpc::SslCredentials(tls)).error_code(), grpc::StatusCode::OK);
  EXPECT_NE(health_by(grpc::InsecureChannelCredentials()).error_code(), grpc::StatusCode::OK);
}

TEST_F(MutualTls, APortInUseAndMissingFilesAreErrors) {
  RegionService second(ServiceOptions{"r1", Allocator::kSplit, 0, "1"}, region_, feed_);
  ListenConfig same = listen_;
  same.grpc = "127.0.0.1:" + std::to_string(listener_->port());
  EXPECT_THAT(GrpcListener::open(same, second).error().message, HasSubstr("is in use"));
  same.tls_key = folder_->file("absent.key");
  EXPECT_THAT(GrpcListener::open(same, second).error().text(), HasSubstr("absent.key"));
}

}  // namespace
}  // namespace mixnet::daemon
