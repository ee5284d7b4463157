#include "daemon/region_client.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <region.grpc.pb.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "daemon/config_text.h"
#include "scenario/text_file.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;

// The answer to a request whose deadline has passed still has to travel.
constexpr Duration kGrace = std::chrono::seconds(2);

const char* code_name(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
      return "CANCELLED";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case grpc::StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    default:
      return "UNKNOWN";
  }
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const ClientOptions& options) {
  const bool is_socket = !unix_path(options.address).empty();
  const int given = (options.tls_ca.empty() ? 0 : 1) + (options.tls_certificate.empty() ? 0 : 1) +
                    (options.tls_key.empty() ? 0 : 1);
  if (is_socket && given == 0) {
    return grpc::InsecureChannelCredentials();
  }
  if (is_socket) {
    return Error{fmt::format("{} is a Unix socket: it takes no TLS files", options.address), ""};
  }
  if (given != 3) {
    return Error{fmt::format("{} is a network address: give a CA, a certificate and a key, or the "
                             "socket of a daemon on this machine, unix:/run/mixnet/r1.sock",
                             options.address),
                 ""};
  }
  grpc::SslCredentialsOptions tls;
  const std::pair<const std::string*, std::string*> files[] = {
      {&options.tls_ca, &tls.pem_root_certs},
      {&options.tls_certificate, &tls.pem_cert_chain},
      {&options.tls_key, &tls.pem_private_key}};
  for (const auto& [path, text] : files) {
    Result<std::string> read = scenario::read_text_file(*path);
    if (!read.ok()) {
      return read.error();
    }
    *text = std::move(read).value();
  }
  return grpc::SslCredentials(tls);
}

}  // namespace

struct RegionClient::Connection {
  ClientOptions options;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Region::Stub> stub;
  grpc::ClientContext watching;

  void prepare(grpc::ClientContext& context) const {
    context.set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(options.deadline + kGrace));
  }

  uint32_t deadline_ms() const {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(options.deadline).count();
    return static_cast<uint32_t>(std::clamp<int64_t>(ms, 1, UINT32_MAX));
  }

  Error error_of(const grpc::Status& status) const {
    return Error{fmt::format("{}: {} ({})", options.address, status.error_message(),
                             code_name(status.error_code())),
                 ""};
  }

  template <typename Reply, typename Request, typename Method>
  Result<Reply> call(Method method, const Request& request) const {
    grpc::ClientContext context;
    prepare(context);
    Reply reply;
    const grpc::Status status = ((*stub).*method)(&context, request, &reply);
    if (!status.ok()) {
      return error_of(status);
    }
    return reply;
  }
};

Result<RegionClient> RegionClient::make(const ClientOptions& options) {
  Result<std::shared_ptr<grpc::ChannelCredentials>> credentials = credentials_of(options);
  if (!credentials.ok()) {
    return credentials.error();
  }
  auto connection = std::make_unique<Connection>();
  connection->options = options;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  connection->channel =
      grpc::CreateCustomChannel(options.address, std::move(credentials).value(), arguments);
  connection->stub = v1::Region::NewStub(connection->channel);
  return RegionClient(std::move(connection));
}

RegionClient::RegionClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
RegionClient::RegionClient(RegionClient&&) noexcept = default;
RegionClient& RegionClient::operator=(RegionClient&&) noexcept = default;
RegionClient::~RegionClient() = default;

void RegionClient::await_connection(Duration most) {
  static_cast<void>(connection_->channel->WaitForConnected(
      std::chrono::system_clock::now() +
      std::chrono::duration_cast<std::chrono::system_clock::duration>(most)));
}

Result<v1::Topology> RegionClient::status() {
  grpc::ClientContext context;
  connection_->prepare(context);
  const auto reader = connection_->stub->WatchTopology(&context, v1::WatchTopologyRequest());
  v1::Topology topology;
  const bool read = reader->Read(&topology);
  if (!read) {
    return connection_->error_of(reader->Finish());
  }
  context.TryCancel();
  static_cast<void>(reader->Finish());
  return topology;
}

Result<v1::HealthReply> RegionClient::health() {
  return connection_->call<v1::HealthReply>(&v1::Region::Stub::Health, v1::HealthRequest());
}

Result<v1::ApplyReply> RegionClient::apply(v1::ApplyCircuitsRequest request) {
  request.set_deadline_ms(connection_->deadline_ms());
  return connection_->call<v1::ApplyReply>(&v1::Region::Stub::ApplyCircuits, request);
}

Result<v1::ApplyReply> RegionClient::verify() {
  v1::VerifyRequest request;
  request.set_deadline_ms(connection_->deadline_ms());
  return connection_->call<v1::ApplyReply>(&v1::Region::Stub::Verify, request);
}

Result<v1::ApplyReply> RegionClient::report_demand(const DemandMatrix& demand) {
  v1::ReportDemandRequest request;
  request.set_servers(static_cast<uint32_t>(demand.rows()));
  request.mutable_demand()->Add(demand.cells().begin(), demand.cells().end());
  request.set_deadline_ms(connection_->deadline_ms());
  return connection_->call<v1::ApplyReply>(&v1::Region::Stub::ReportDemand, request);
}

Status RegionClient::watch(const std::function<bool(const v1::Topology&)>& change) {
  grpc::ClientContext& context = connection_->watching;
  const auto reader = connection_->stub->WatchTopology(&context, v1::WatchTopologyRequest());
  v1::Topology topology;
  while (reader->Read(&topology)) {
    if (!change(topology)) {
      context.TryCancel();
      static_cast<void>(reader->Finish());
      return Status();
    }
  }
  const grpc::Status status = reader->Finish();
  return status.error_code() == grpc::StatusCode::CANCELLED ? Status()
                                                            : connection_->error_of(status);
}

void RegionClient::stop_watching() { connection_->watching.TryCancel(); }

}  // namespace mixnet::daemon
