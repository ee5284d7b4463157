#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/stream.h"

// Ends of streams that remember what they heard.
namespace mixnet::net {

struct RecordingEnd final : StreamEvents {
  void on_open() override {
    ++opened;
    changed();
  }
  void on_bytes(std::string_view bytes) override {
    received += bytes;
    pieces.push_back(bytes.size());
    changed();
  }
  void on_closed(const Error& why) override {
    ++closed;
    error = why.text();
    changed();
  }

  std::unique_ptr<Stream> stream;
  int opened = 0;
  int closed = 0;
  std::string received;
  std::vector<std::size_t> pieces;
  std::string error;
  std::function<void()> changed = [] {};
};

// Keeps every stream that is accepted; `on_accept` may set them up.
struct RecordingAcceptor final : StreamAcceptor {
  StreamEvents& accept(std::unique_ptr<Stream> stream, const std::string& peer) override {
    ends.push_back(std::make_unique<RecordingEnd>());
    ends.back()->stream = std::move(stream);
    peers.push_back(peer);
    on_accept(*ends.back());
    return *ends.back();
  }

  std::vector<std::unique_ptr<RecordingEnd>> ends;
  std::vector<std::string> peers;
  std::function<void(RecordingEnd&)> on_accept = [](RecordingEnd&) {};
};

}  // namespace mixnet::net
