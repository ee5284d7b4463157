#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "core/check.h"
#include "ep/tcp_store.h"
#include "ep/tcp_store_wire.h"
#include "net/asio_loop.h"
#include "net/tcp_stream.h"

namespace mixnet::ep {
namespace tcp_store_server {

// Far above the ranks of one job, far below what a process may open where it matters.
inline constexpr std::size_t kMaxStoreClients = 65536;

inline bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

class StoreClient;

// What the clients share.
struct StoreDesk {
  StoreTable table;
  std::map<std::string, std::set<StoreClient*>, std::less<>> waiting;  // by key
  std::function<void(StoreClient*)> gone;
};

// One connection: collects a request, has it done, answers.
class StoreClient final : public net::StreamEvents {
 public:
  StoreClient(StoreDesk& desk, std::unique_ptr<net::Stream> stream)
      : desk_(desk), stream_(std::move(stream)) {}

  void on_open() override {}
  void on_closed(const Error& /*why*/) override { leave(); }

  void on_bytes(std::string_view bytes) override {
    input_.append(bytes);
    while (input_.size() >= kStoreHeaderBytes) {
      const StoreHeader header = read_store_header(input_);
      // A client sends nothing while it waits for an answer.
      if (!wanted_.empty() || !is_request(header)) {
        leave();
        return;
      }
      const std::size_t size = kStoreHeaderBytes + header.first + header.second;
      if (input_.size() < size) {
        return;
      }
      const std::string request = std::exchange(input_, input_.substr(size));
      const std::string_view body = std::string_view(request).substr(kStoreHeaderBytes);
      serve(header.kind, body.substr(0, header.first), body.substr(header.first, header.second));
    }
  }

  void answer(uint32_t code, std::string_view value) {
    wanted_.clear();
    stream_->send(store_header(code, value.size(), 0).append(value));
  }

 private:
  static bool is_request(const StoreHeader& header) {
    return header.magic == kStoreMagic && (header.kind == kStoreSet || header.kind == kStoreGet) &&
           header.first >= 1 && header.first <= kMaxStoreKeyBytes &&
           header.second <= kMaxStoreValueBytes;
  }

  void serve(uint32_t kind, std::string_view key, std::string_view value) {
    if (kind == kStoreSet) {
      const Status status = desk_.table.set(key, value);
      answer(status ? kStoreDone : kStoreRefused, status ? "" : status.error().message);
      const auto waiting = desk_.waiting.find(key);
      if (status && waiting != desk_.waiting.end()) {
        for (StoreClient* client : std::exchange(waiting->second, {})) {
          client->answer(kStoreDone, value);
        }
        desk_.waiting.erase(waiting);
      }
    } else if (const std::string* found = desk_.table.find(key); found != nullptr) {
      answer(kStoreDone, *found);
    } else {
      wanted_ = key;
      desk_.waiting[wanted_].insert(this);
    }
  }

  // Ends this object.
  void leave() {
    if (const auto waiting = desk_.waiting.find(wanted_); waiting != desk_.waiting.end()) {
      waiting->second.erase(this);
      if (waiting->second.empty()) {
        desk_.waiting.erase(waiting);
      }
    }
    desk_.gone(this);
  }

  StoreDesk& desk_;
  std::unique_ptr<net::Stream> stream_;
  std::string input_;
  std::string wanted_;  // the key of a get that waits
};

// For a client too many.
class RefusedClient final : public net::StreamEvents {
 public:
  void on_open() override {}
  void on_bytes(std::string_view /*bytes*/) override {}
  void on_closed(const Error& /*why*/) override {}
};

}  // namespace tcp_store_server

using tcp_store_server::kMaxStoreClients;
using tcp_store_server::RefusedClient;
using tcp_store_server::StoreClient;
using tcp_store_server::StoreDesk;

class TcpStoreServer::Impl final : public net::StreamAcceptor {
 public:
  Impl() {
    desk_.gone = [this](StoreClient* client) { clients_.erase(client); };
  }

  Status listen(const net::HostPort& address) {
    std::vector<std::string> hosts{address.host};
    if (!tcp_store_server::is_loopback(address.host)) {
      hosts = {"::", "0.0.0.0"};  // with IPv6 or without
    }
    Error failure;
    for (const std::string& host : hosts) {
      auto listener = net::TcpListener::listen(loop_, {host, address.port}, *this);
      if (listener) {
        listener_ = *std::move(listener);
        return {};
      }
      failure = listener.error();
    }
    return Error{fmt::format("no store for the ranks at port {}: {} (another port: MIXNET_PORT)",
                             address.port, failure.message),
                 {}};
  }

  net::StreamEvents& accept(std::unique_ptr<net::Stream> stream,
                            const std::string& /*peer*/) override {
    if (clients_.size() >= kMaxStoreClients) {
      return refused_;
    }
    auto client = std::make_unique<StoreClient>(desk_, std::move(stream));
    StoreClient& events = *client;
    clients_.emplace(&events, std::move(client));
    return events;
  }

  uint16_t port() const { return listener_->port(); }
  void run() { loop_.run(); }
  void stop() {
    loop_.post([this] { loop_.stop(); });
  }

 private:
  net::AsioLoop loop_;
  RefusedClient refused_;
  StoreDesk desk_;
  std::map<StoreClient*, std::unique_ptr<StoreClient>> clients_;
  std::unique_ptr<net::TcpListener> listener_;
};

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::start(const net::HostPort& address) {
  auto impl = std::make_unique<Impl>();
  if (Status listening = impl->listen(address); !listening) {
    return listening.error();
  }
  std::unique_ptr<TcpStoreServer> server(new TcpStoreServer(std::move(impl)));
  // Signals are for the threads of the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    server->thread_ = std::thread([raw = server->impl_.get()] { raw->run(); });
  } catch (const std::system_error& failure) {
    started = Error{fmt::format("no thread for the store: {}", failure.what()), {}};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {
    return started.error();
  }
  return server;
}

TcpStoreServer::TcpStoreServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)), owner_(getpid()) {}

TcpStoreServer::~TcpStoreServer() {
  if (!thread_.joinable()) {
    return;
  }
  if (getpid() != owner_) {
    thread_.detach();  // a copy made by fork(): the thread exists in the parent only
    return;
  }
  impl_->stop();
  thread_.join();
}

uint16_t TcpStoreServer::port() const { return impl_->port(); }

}  // namespace mixnet::ep
