// The service over a real socket, against a region that answers as a test says.
#include "daemon/region_service.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <thread>

#include "daemon/grpc_listener.h"
#include "daemon/region_client.h"
#include "daemon/region_messages.h"
#include "plan/wire.h"
#include "support/temporary_directory.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;
using mixnet::test_support::TemporaryDirectory;
using ::testing::HasSubstr;

ocs::Region two_by_two() {
  std::vector<ocs::Nic> nics;
  for (int i = 0; i < 4; ++i) {
    const std::string interface = "n" + std::to_string(i % 2);
    nics.push_back(ocs::Nic{"s" + std::to_string(i / 2) + "/" + interface, i / 2, interface,
                            ocs::PortId(i + 1), ocs::PortId(i + 5)});
  }
  return ocs::Region::make({4, 4}, {"s0", "s1"}, nics).value();
}

ocs::Circuit circuit(int a, int b) { return ocs::circuit_between(ocs::NicId(a), ocs::NicId(b)); }

ocs::CircuitReport reported(ocs::Circuit circuit, ocs::PairOutcome outcome) {
  ocs::CircuitReport report;
  report.circuit = circuit;
  report.changed = true;
  report.outcome = outcome;
  return report;
}

class ScriptedRegion final : public RegionBackend {
 public:
  const ocs::Region& region() const override { return region_; }
  void submit(RegionRequest request, Done done) override { answer(request, done); }

  std::function<void(const RegionRequest&, const Done&)> answer;

 private:
  ocs::Region region_ = two_by_two();
};

RegionAnswer failure(FailureKind kind, const std::string& message) {
  RegionAnswer answer;
  answer.failure = RequestFailure{kind, message};
  return answer;
}

class RegionServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ListenConfig listen;
    listen.grpc = "unix:" + folder_.file("r1.sock");
    auto opened = GrpcListener::open(listen, service_);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    listener_ = std::move(opened).value();
  }

  RegionClient client() const {
    ClientOptions options;
    options.address = "unix:" + folder_.file("r1.sock");
    options.deadline = std::chrono::seconds(20);
    return RegionClient::make(options).value();
  }

  std::unique_ptr<v1::Region::Stub> stub() const {
    return v1::Region::NewStub(
        grpc::CreateChannel("unix:" + folder_.file("r1.sock"), grpc::InsecureChannelCredentials()));
  }

  void answer_with(ocs::PairOutcome outcome) {
    region_.answer = [outcome](const RegionRequest& request, const RegionBackend::Done& done) {
      RegionAnswer answer;
      answer.report.emplace();
      answer.report->id = 7;
      const auto& plan = std::get<CarryOutPlan>(request.what);
      EXPECT_EQ(plan.problem.wanted(0, 1), 2);
      answer.report->circuits = {reported(circuit(0, 2), ocs::PairOutcome::kVerified),
                                 reported(circuit(1, 3), outcome)};
      done(answer);
    };
  }

  void answer_with(FailureKind kind, const std::string& message) {
    region_.answer = [=](const RegionRequest&, const RegionBackend::Done& done) {
      done(failure(kind, message));
    };
  }

  TemporaryDirectory folder_;
  ScriptedRegion region_;
  TopologyFeed feed_;
  RegionService service_{ServiceOptions{"r1", Allocator::kSplit, 1, "1.2.3"}, region_, feed_};
  std::unique_ptr<GrpcListener> listener_;
};

DemandMatrix demand_of_two(double there, double back) {
  DemandMatrix demand(2, 2);
  demand(0, 0) = 99;  // local
  demand(0, 1) = there;
  demand(1, 0) = back;
  return demand;
}

TEST_F(RegionServiceTest, ReportedDemandComesBackAsShares) {
  answer_with(ocs::PairOutcome::kVerified);
  const auto reply = client().report_demand(demand_of_two(30, 3));
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  EXPECT_EQ(reply->transaction(), 7);
  ASSERT_EQ(reply->circuits_size(), 2);
  EXPECT_EQ(reply->circuits(0).a(), "s0/n0");
  EXPECT_EQ(reply->circuits(0).b(), "s1/n0");
  EXPECT_EQ(reply->circuits(0).outcome(), v1::VERIFIED);
  const v1::Shares& shares = reply->shares();
  EXPECT_EQ(shares.circuits(1), 2);
  EXPECT_EQ(shares.circuits(0), 0);
  EXPECT_NEAR(shares.circuit(1) + shares.eps(1), 30, 1e-9);
  EXPECT_NEAR(shares.eps(1), 10, 1e-6);  // one of three NICs
  EXPECT_NEAR(shares.completion(), 10, 1e-6);
  EXPECT_EQ(shares.allocator(), "split");
}

TEST(Shares, RelaysArePartOfTheMessage) {
  // 0 - 1 - 2 in a row: what 0 has for 2 can only be forwarded by 1.
  const plan::WireProblem problem{DemandMatrix(3, 3, 6.0), 2, 0};
  Matrix<int> row(3, 3);
  row(0, 1) = row(1, 0) = row(1, 2) = row(2, 1) = 1;
  v1::Shares shares;
  fill_shares(plan::route_over(problem, row, Allocator::kRelay), "relay", shares);
  ASSERT_EQ(shares.relay_size(), 2);
  EXPECT_EQ(shares.relay(0).src(), 0);
  EXPECT_EQ(shares.relay(0).via(), 1);
  EXPECT_EQ(shares.relay(0).dst(), 2);
  EXPECT_NEAR(shares.relay(0).amount(), 6, 1e-6);
  EXPECT_NEAR(shares.completion(), 12, 0.1);
}

TEST_F(RegionServiceTest, NothingIsSentOverACircuitThatDidNotComeUp) {
  answer_with(ocs::PairOutcome::kDark);
  const auto reply = client().report_demand(demand_of_two(30, 3));
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  EXPECT_EQ(reply->circuits(1).outcome(), v1::DARK);
  EXPECT_EQ(reply->shares().circuits(1), 1);
  EXPECT_NEAR(reply->shares().circuit(1), 15, 1e-6);
  EXPECT_NEAR(reply->shares().eps(1), 15, 1e-6);
}

struct BadDemand {
  uint32_t servers;
  std::vector<double> demand;
  const char* fragment;
};

TEST_F(RegionServiceTest, ABadDemandIsNamedAndNeverReachesTheRegion) {
  region_.answer = [](const RegionRequest&, const RegionBackend::Done&) { FAIL(); };
  const BadDemand cases[] = {
      {3, {0, 1, 1, 0}, "servers: this region has 2 servers, found 3"},
      {2, {0, 1, 1}, "demand: 2 servers need 2 * 2 numbers, found 3"},
      {2, {0, -1, 1, 0}, "demand: entry (0, 1)"},
      {2, {0, 1, 1e300, 0}, "demand: entry (1, 0)"},
      {2, {0, 1, std::nan(""), 0}, "demand: entry (1, 0)"},
  };
  for (const BadDemand& bad : cases) {
    v1::ReportDemandRequest request;
    request.set_servers(bad.servers);
    request.mutable_demand()->Add(bad.demand.begin(), bad.demand.end());
    grpc::ClientContext context;
    v1::ApplyReply reply;
    const grpc::Status status = stub()->ReportDemand(&context, request, &reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << bad.fragment;
    EXPECT_THAT(status.error_message(), HasSubstr(bad.fragment));
  }
}

v1::ApplyCircuitsRequest apply_request(const std::string& a, const std::string& b) {
  v1::ApplyCircuitsRequest request;
  request.set_mode(v1::ApplyCircuitsRequest::ADD);
  v1::Circuit& named = *request.add_circuits();
  named.set_a(a);
  named.set_b(b);
  return request;
}

TEST_F(RegionServiceTest, BadCircuitsAreNamedAndNeverReachTheRegion) {
  region_.answer = [](const RegionRequest&, const RegionBackend::Done&) { FAIL(); };
  RegionClient to = client();
  EXPECT_THAT(to.apply(apply_request("s0/n0", "s1/n7")).error().message,
              HasSubstr("circuits: there is no NIC \"s1/n7\""));
  EXPECT_THAT(to.apply(apply_request("s0/n0", "s0/n1")).error().message,
              HasSubstr("both NICs are in one server"));
  v1::ApplyCircuitsRequest twice = apply_request("s0/n0", "s1/n0");
  *twice.add_circuits() = twice.circuits(0);
  EXPECT_THAT(to.apply(twice).error().message, HasSubstr("two circuits"));
  v1::ApplyCircuitsRequest no_mode = apply_request("s0/n0", "s1/n0");
  no_mode.clear_mode();
  EXPECT_THAT(to.apply(no_mode).error().message, HasSubstr("mode: write REPLACE_ALL"));
}

TEST_F(RegionServiceTest, FailuresHaveTheirStatusCodes) {
  const std::pair<FailureKind, const char*> cases[] = {
      {FailureKind::kInvalid, "(INVALID_ARGUMENT)"},
      {FailureKind::kUnavailable, "(UNAVAILABLE)"},
      {FailureKind::kExhausted, "(RESOURCE_EXHAUSTED)"},
      {FailureKind::kDeadline, "(DEADLINE_EXCEEDED)"}};
  for (const auto& [kind, code] : cases) {
    answer_with(kind, "because");
    const auto verified = client().verify();
    ASSERT_FALSE(verified.ok());
    EXPECT_THAT(verified.error().message, HasSubstr(std::string("because ") + code));
    EXPECT_THAT(client().report_demand(demand_of_two(1, 1)).error().message, HasSubstr(code));
    EXPECT_THAT(client().apply(apply_request("s0/n0", "s1/n0")).error().message, HasSubstr(code));
  }
}

TEST_F(RegionServiceTest, ADryRunShowsCommandsAndNoOutcome) {
  region_.answer = [](const RegionRequest& request, const RegionBackend::Done& done) {
    EXPECT_TRUE(request.dry_run);
    RegionAnswer answer;
    answer.preview.emplace();
    answer.preview->remove = {circuit(1, 3)};
    answer.preview->add = {circuit(0, 2)};
    answer.preview->blocked = {reported(circuit(1, 2), ocs::PairOutcome::kConflict)};
    answer.preview->commands = {"DLT-PATCH::2&4:0:;"};
    done(answer);
  };
  v1::ApplyCircuitsRequest request = apply_request("s0/n0", "s1/n0");
  request.set_dry_run(true);
  const auto reply = client().apply(request);
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  ASSERT_EQ(reply->circuits_size(), 3);
  EXPECT_FALSE(reply->circuits(0).wanted());
  EXPECT_EQ(reply->circuits(0).outcome(), v1::OUTCOME_UNSPECIFIED);
  EXPECT_TRUE(reply->circuits(1).wanted());
  EXPECT_EQ(reply->circuits(2).outcome(), v1::CONFLICT);
  ASSERT_EQ(reply->commands_size(), 1);
  EXPECT_EQ(reply->commands(0), "DLT-PATCH::2&4:0:;");
}

// A caller that gives up leaves the transaction alone: the region answers later, to nobody.
TEST_F(RegionServiceTest, ACancelledCallIsAnsweredAllTheSame) {
  std::mutex mutex;
  std::condition_variable changed;
  RegionBackend::Done waiting;
  region_.answer = [&](const RegionRequest&, const RegionBackend::Done& done) {
    const std::lock_guard lock(mutex);
    waiting = done;
    changed.notify_all();
  };
  std::thread caller([&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    v1::ApplyReply reply;
    EXPECT_EQ(stub()->Verify(&context, v1::VerifyRequest(), &reply).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  });
  caller.join();
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return waiting != nullptr; }));
  waiting(failure(FailureKind::kUnavailable, "late"));
  EXPECT_TRUE(client().health().ok());
}

// --- health and watching ------------------------------------------------------------------------

v1::Topology topology_of(uint64_t version) {
  v1::Topology topology;
  topology.set_version(version);
  topology.set_connected(true);
  topology.set_read(true);
  topology.set_settled(true);
  for (int port = 1; port <= 96; ++port) {
    v1::PortState& state = *topology.add_ports();
    state.set_port(port);
    state.set_nic("a-server-with-a-name/ens1f0");
    state.set_dbm(-3.5);
  }
  v1::Alarm& alarm = *topology.add_alarms();
  alarm.set_kind("dark");
  return topology;
}

TEST_F(RegionServiceTest, HealthFollowsTheSession) {
  EXPECT_EQ(client().health()->state(), v1::HealthReply::STARTING);
  feed_.publish(topology_of(3));
  const auto health = client().health();
  ASSERT_TRUE(health.ok()) << health.error().text();
  EXPECT_EQ(health->state(), v1::HealthReply::SERVING);
  EXPECT_TRUE(health->settled());
  ASSERT_EQ(health->alarms_size(), 1);
  EXPECT_EQ(health->version(), "1.2.3");
  EXPECT_EQ(health->region(), "r1");
  v1::Topology lost = topology_of(4);
  lost.set_connected(false);
  feed_.publish(lost);
  EXPECT_EQ(client().health()->state(), v1::HealthReply::DISCONNECTED);
  service_.stopping();
  EXPECT_EQ(client().health()->state(), v1::HealthReply::STOPPING);
}

TEST_F(RegionServiceTest, AWatcherGetsTheNewestAndThenEveryChangeInOrder) {
  feed_.publish(topology_of(1));
  std::vector<uint64_t> seen;
  const Status watched = client().watch([&](const v1::Topology& topology) {
    seen.push_back(topology.version());
    if (topology.version() < 5) {
      feed_.publish(topology_of(topology.version() + 1));
    }
    return topology.version() < 5;
  });
  EXPECT_TRUE(watched.ok()) << watched.error().text();
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(client().status()->version(), 5U);
}

TEST_F(RegionServiceTest, ASlowWatcherHoldsUpNobodyAndSkipsToTheNewest) {
  constexpr int kLast = 1000;
  v1::Topology large = topology_of(1);
  large.mutable_alarms(0)->set_message(std::string(100'000, 'x'));
  feed_.publish(large);
  const auto slow_stub = stub();
  grpc::ClientContext context;
  const auto slow = slow_stub->WatchTopology(&context, v1::WatchTopologyRequest());
  v1::Topology topology;
  ASSERT_TRUE(slow->Read(&topology));
  for (uint64_t version = 2; version <= kLast; ++version) {
    large.set_version(version);
    feed_.publish(large);
  }
  EXPECT_EQ(client().status()->version(), static_cast<uint64_t>(kLast));
  EXPECT_TRUE(client().health().ok());
  int reads = 0;
  uint64_t before = topology.version();
  while (topology.version() < kLast && slow->Read(&topology)) {
    EXPECT_GT(topology.version(), before);
    before = topology.version();
    ++reads;
  }
  EXPECT_EQ(topology.version(), static_cast<uint64_t>(kLast));
  // What fits into the buffers of the connection, far below the 100 MB that were published.
  EXPECT_LT(reads, kLast / 2);
  context.TryCancel();
  EXPECT_EQ(slow->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(RegionServiceTest, WatchersAreToldThatTheDaemonStops) {
  feed_.publish(topology_of(1));
  const Status watched = client().watch([&](const v1::Topology&) {
    feed_.end();
    return true;
  });
  ASSERT_FALSE(watched.ok());
  EXPECT_THAT(watched.error().message, HasSubstr("the daemon is stopping (UNAVAILABLE)"));
  EXPECT_THAT(client().status().error().message, HasSubstr("stopping"));
  listener_->stop(std::chrono::seconds(1));
  EXPECT_THAT(client().health().error().message, HasSubstr("UNAVAILABLE"));
}

// --- the socket ---------------------------------------------------------------------------------

TEST_F(RegionServiceTest, TheSocketIsForItsGroupAndGoesWithTheDaemon) {
  struct stat found {};
  ASSERT_EQ(::stat(folder_.file("r1.sock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0660U);
  listener_.reset();
  EXPECT_NE(::stat(folder_.file("r1.sock").c_str(), &found), 0);
}

TEST_F(RegionServiceTest, ASocketInUseIsLeftAlone) {
  ListenConfig listen;
  listen.grpc = "unix:" + folder_.file("r1.sock");
  RegionService other(ServiceOptions{"r1", Allocator::kSplit, 1, "1"}, region_, feed_);
  const auto second = GrpcListener::open(listen, other);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("another daemon answers there"));
  EXPECT_TRUE(client().health().ok());
}

TEST_F(RegionServiceTest, ASocketLeftBehindIsReplacedAndAFileIsNot) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder_.file("old.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
  ListenConfig listen;
  listen.grpc = "unix:" + folder_.file("old.sock");
  RegionService second(ServiceOptions{"r1", Allocator::kSplit, 1, "1"}, region_, feed_);
  EXPECT_TRUE(GrpcListener::open(listen, second).ok());

  listen.grpc = "unix:" + folder_.write("notes.txt", "keep me");
  RegionService third(ServiceOptions{"r1", Allocator::kSplit, 1, "1"}, region_, feed_);
  EXPECT_THAT(GrpcListener::open(listen, third).error().message, HasSubstr("is no socket"));
  EXPECT_EQ(mixnet::test_support::read_all(folder_.file("notes.txt")), "keep me");

  listen.grpc = "unix:" + folder_.file("absent/r1.sock");
  EXPECT_THAT(GrpcListener::open(listen, third).error().message, HasSubstr("there is no folder"));
}

}  // namespace
}  // namespace mixnet::daemon
