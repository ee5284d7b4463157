#pragma once

#include <cstdint>

#include "core/result.h"
#include "ep/address.h"
#include "ep/exchange.h"

// Transfers between two ranks, of which the others know nothing: they are no attempts and count as
// none, so that the ranks' numbers of attempts stay alike.
//
// A send and the receive that the other rank calls meet: a send ends when its bytes are where they
// belong. Sends from one rank to another are received in their order. Two ranks that both send
// first wait for each other in vain; send_receive() does both at once.
//
// Inside a host the receiver copies out of the sender's window. Through NICs chunks take turns on
// all rails, and are counted in state.traffic. Both sides need window for the data; what lies in
// the sender's window is read where it is.
//
// Errors: a peer that is lost, ended, gave no sign of life for patience.silence, or did not come
// for patience.call (counted from the last step of the transfer); sizes that differ and windows
// that are too small, on both sides. They make nobody lost, the next collective decides about that;
// what has been received is unspecified. A side that gives up tells the other one.
namespace mixnet::ep {

struct Outgoing {
  int to = 0;
  ConstAddress data;
  uint64_t bytes = 0;
};

struct Incoming {
  int from = 0;
  Address data;
  uint64_t bytes = 0;
};

Status send(ExchangeState& state, const Outgoing& outgoing);
Status receive(ExchangeState& state, const Incoming& incoming);
// Both at once; with one peer or with two. If one fails, the other one is given up.
Status send_receive(ExchangeState& state, const Outgoing& outgoing, const Incoming& incoming);

}  // namespace mixnet::ep
