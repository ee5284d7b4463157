#include "ep/shared_transport.h"

#include <utility>

#include "core/check.h"
#include "ep/monotonic.h"

namespace mixnet::ep {

Result<std::unique_ptr<SharedTransport>> SharedTransport::open(const SharedOptions& options,
                                                               Store& store) {
  CHECK(options.link.ranks.hosts() == 1, "ranks of several hosts need NICs");
  auto link = HostLink::open(options.link, store);
  if (!link) {
    return link.error();
  }
  HostLink& shared = **link;
  PulseOptions watch;
  watch.rank = options.link.rank;
  watch.ranks = options.link.ranks.ranks();
  watch.interval = options.beat_interval;
  watch.beats = shared.beats();
  watch.peers = shared.pulse_peers();
  watch.news = [&shared] { shared.notify(); };
  auto pulse = Pulse::start(std::move(watch));
  if (!pulse) {
    return pulse.error();
  }
  return std::unique_ptr<SharedTransport>(
      new SharedTransport(options, *std::move(link), *std::move(pulse)));
}

SharedTransport::SharedTransport(const SharedOptions& options, std::unique_ptr<HostLink> link,
                                 std::unique_ptr<Pulse> pulse)
    : ranks_(options.link.ranks),
      rank_(options.link.rank),
      link_(std::move(link)),
      pulse_(std::move(pulse)) {}

void SharedTransport::write(const RemoteWrite& /*write*/) {
  CHECK(false, "there are no NICs: copy into the mapped window instead");
}

void SharedTransport::signal(int peer, int rail, uint32_t immediate) {
  CHECK(rail == kInsideHost, "there are no NICs");
  link_->signal(peer, immediate);
}

Instant SharedTransport::now() { return monotonic_now(); }

Health SharedTransport::health(int peer) {
  Health health = pulse_->health(peer, monotonic_now());
  health.gone = health.gone || link_->lost(peer);
  return health;
}

}  // namespace mixnet::ep
