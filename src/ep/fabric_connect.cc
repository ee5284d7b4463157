#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/index.h"
#include "ep/fabric_contact.h"
#include "ep/fabric_link.h"
#include "ep/fabric_nic.h"
#include "ep/fabric_rails.h"

// Of two ranks the lower one dials, on every rail; the higher one answers. A dial that fails is
// tried again until the deadline, since circuits may be dark for a while.
namespace mixnet::ep {
namespace {

using State = FabricLink::State;

constexpr Duration kConnectStep = std::chrono::milliseconds(20);
constexpr Duration kConnectNap = std::chrono::milliseconds(1);

}  // namespace

Status FabricRails::add_links(const std::vector<std::byte>& contact, int peer) {
  const auto decoded = decode_contact(contact);
  if (!decoded) {
    return Error{fmt::format("contact of rank {}: {}", peer, decoded.error().text()), ""};
  }
  if (decoded->rank != peer) {
    return Error{fmt::format("contact of rank {}: it is that of rank {}", peer, decoded->rank), ""};
  }
  if (decoded->rails.size() != nics_.size()) {
    return Error{fmt::format("rank {} has {} NICs, rank {} has {}: give every rank equally many",
                             peer, decoded->rails.size(), rank(), nics_.size()),
                 ""};
  }
  tokens_[at(peer)] = decoded->token;
  for (int rail = 0; rail < rails(); ++rail) {
    FabricNic& nic = *nics_[at(rail)];
    if (decoded->address_format != nic.address_format()) {
      return Error{
          fmt::format("addresses of rank {} are of another kind than \"{}\"", peer, nic.name()),
          ""};
    }
    auto& slot = links_[at(peer) * nics_.size() + at(rail)];
    if (slot == nullptr) {
      FabricLink::Options options;
      options.rank = rank();
      options.peer = peer;
      options.rail = rail;
      options.largest_message = rail == 0 ? options_.largest_message : 0;
      options.window_bytes = decoded->window_bytes;
      options.contact = decoded->rails[at(rail)];
      slot = std::make_unique<FabricLink>(nic, std::move(options));
    }
  }
  return {};
}

Status FabricRails::connect(const std::vector<std::vector<std::byte>>& contacts,
                            std::span<const int> peers, Duration within) {
  CHECK(contacts.size() == tokens_.size(), "an entry per rank");
  const auto end = std::chrono::steady_clock::now() + within;
  for (const int peer : peers) {
    CHECK(peer >= 0 && peer < ranks().ranks() && peer != rank(), "another rank");
    if (Status status = add_links(contacts[at(peer)], peer); !status) {
      return status;
    }
  }
  while (true) {
    dial_due(peers);
    read_events();
    const std::string who = missing(peers);
    if (who.empty()) {
      return {};
    }
    const Duration left = end - std::chrono::steady_clock::now();
    if (left <= Duration::zero()) {
      return Error{fmt::format("rank {} waited {:.3g} s for connections; missing: {}", rank(),
                               seconds_of(within), who),
                   ""};
    }
    if (arm()) {
      sleep(std::min(left, kConnectStep));
    } else {
      // What the first peers send already is left to poll(), and would wake this at once.
      std::this_thread::sleep_for(kConnectNap);
    }
  }
}

void FabricRails::dial_due(std::span<const int> peers) {
  const auto now = FabricLink::Clock::now();
  for (const int peer : peers) {
    for (int rail = 0; rail < rails(); ++rail) {
      FabricLink& to = *link(peer, rail);
      if (rank() < peer && to.state() == State::kIdle && to.dial_at() <= now) {
        to.dial(RailRequest{rank(), tokens_[at(peer)]});
      }
    }
  }
}

// "rank 2 (rails 0, 1), rank 5 (rail 1)"
std::string FabricRails::missing(std::span<const int> peers) const {
  std::string text;
  for (const int peer : peers) {
    std::vector<int> open;
    for (int rail = 0; rail < rails(); ++rail) {
      const State state = link(peer, rail)->state();
      if (state == State::kIdle || state == State::kConnecting) {
        open.push_back(rail);
      }
    }
    if (!open.empty()) {
      text += fmt::format("{}rank {} ({} {})", text.empty() ? "" : ", ", peer,
                          open.size() == 1 ? "rail" : "rails", fmt::join(open, ", "));
    }
  }
  return text;
}

void FabricRails::read_events() {
  for (int rail = 0; rail < rails(); ++rail) {
    while (true) {
      const FabricConnectionEvent event = nics_[at(rail)]->next_event();
      if (event.kind == FabricConnectionEvent::Kind::kNone) {
        break;
      }
      handle(rail, event);
    }
  }
}

void FabricRails::handle(int rail, const FabricConnectionEvent& event) {
  if (event.kind == FabricConnectionEvent::Kind::kRequest) {
    answer(rail, event);
    return;
  }
  auto* const subject = static_cast<FabricLink*>(event.context);
  if (subject == nullptr) {
    return;  // of the listener
  }
  if (event.kind == FabricConnectionEvent::Kind::kConnected) {
    subject->connected();
  } else {
    subject->lost();
    note_closing(*subject);
  }
}

void FabricRails::answer(int rail, const FabricConnectionEvent& event) {
  FabricNic& nic = *nics_[at(rail)];
  const auto request = decode_request(event.data);
  const bool known = request.ok() && request->token == token_ && request->rank < rank();
  FabricLink* const from = known ? link(request->rank, rail) : nullptr;
  if (from != nullptr && from->state() == State::kConnecting) {
    // Its first request was answered, but the answer got lost.
    from->lost();
  }
  if (from != nullptr && from->state() == State::kIdle) {
    from->answer(event.request.get());
  } else {
    nic.reject(event.request.get());
  }
}

}  // namespace mixnet::ep
