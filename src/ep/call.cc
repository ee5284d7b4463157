#include "ep/call.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::ep {
namespace {

enum MessageKind : uint8_t { kDeclare, kTell, kVote, kDecide };

MessageWriter message_of(MessageKind kind, uint64_t number) {
  MessageWriter message;
  message.put(number);
  message.put(kind);
  return message;
}

// An immediate carries the last bits of an attempt's number. Peers are never further ahead or
// behind than half of what these can tell apart, since every attempt ends with a vote of all.
constexpr uint32_t kTagBits = 32 - Attempt::kSubjectBits;

uint64_t number_of_tag(uint64_t current, uint32_t tag) {
  const uint64_t ahead = (tag - current) & ((uint64_t{1} << kTagBits) - 1);
  return ahead < (uint64_t{1} << (kTagBits - 1)) ? current + ahead : 0;
}

uint64_t number_of(const Event& event, uint64_t current) {
  if (event.kind == Event::Kind::kSignal) {
    return number_of_tag(current, event.immediate >> Attempt::kSubjectBits);
  }
  return MessageReader(event.message).get<uint64_t>();
}

RankSet read_set(MessageReader& reader, int ranks) {
  RankSet set(ranks);
  const std::vector<uint64_t> words = reader.get_all<uint64_t>();
  if (words.size() == set.words().size()) {
    set.words() = words;
  }
  return set;
}

void put_accusations(MessageWriter& message, const Accusations& accusations) {
  std::vector<int32_t> pairs;
  for (const auto& [accuser, accused] : accusations) {
    pairs.push_back(accuser);
    pairs.push_back(accused);
  }
  message.put_all(std::span<const int32_t>(pairs));
}

// Nothing: a pair names ranks that do not exist.
std::optional<Accusations> read_accusations(MessageReader& reader, int ranks) {
  const std::vector<int32_t> pairs = reader.get_all<int32_t>();
  Accusations accusations;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const bool known = std::min(pairs[i], pairs[i + 1]) >= 0 &&
                       std::max(pairs[i], pairs[i + 1]) < ranks && pairs[i] != pairs[i + 1];
    if (!known) {
      return std::nullopt;
    }
    accusations.emplace(pairs[i], pairs[i + 1]);
  }
  return accusations;
}

PeerDeclaration read_declaration(MessageReader& reader) {
  PeerDeclaration peer;
  peer.kind = reader.get<CallKind>();
  peer.fields = reader.get_all<int64_t>();
  peer.refusal = reader.get_text();
  peer.numbers = reader.get_all<int64_t>();
  return peer;
}

std::vector<std::byte> declaration_message(const PeerDeclaration& own, uint64_t number) {
  MessageWriter message = message_of(kDeclare, number);
  message.put(own.kind);
  message.put_all(std::span<const int64_t>(own.fields));
  message.put_text(own.refusal);
  message.put_all(std::span<const int64_t>(own.numbers));
  return {message.bytes().begin(), message.bytes().end()};
}

}  // namespace

Endpoint::Endpoint(Transport& way)
    : transport(way),
      memory(std::make_shared<WindowMemory>(way.window().bytes)),
      lost(way.ranks().ranks()),
      excluded(way.ranks().ranks()) {}

Attempt::Attempt(Endpoint& endpoint, const Patience& patience)
    : endpoint_(endpoint),
      patience_(patience),
      number_(++endpoint.attempts),
      late_(endpoint.transport.now() + patience.call),
      agreement_(endpoint.lost, endpoint.ranks(), endpoint.self()),
      declarations_(at(endpoint.ranks())),
      declared_(at(endpoint.ranks()), false),
      told_(at(endpoint.ranks())) {
  for (const int rank : endpoint.excluded.ranks()) {
    if (rank != endpoint.self() && takes_part(rank)) {
      agreement_.accuse(rank);
      agreement_.unheard(rank, true);
    }
  }
}

Attempt::Progress Attempt::announce(const Declaration& own) {
  PeerDeclaration plain = without_names(own);
  const std::vector<std::byte> message = declaration_message(plain, number_);
  const int self = endpoint_.self();
  for (int peer = 0; peer < endpoint_.ranks(); ++peer) {
    if (peer != self && takes_part(peer)) {
      transport().post(peer, message);
    }
  }
  declarations_[at(self)] = std::move(plain);
  declared_[at(self)] = true;
  const auto missing = [&](int rank) { return takes_part(rank) && !declared_[at(rank)]; };
  return wait(
      [&] {
        for (int rank = 0; rank < endpoint_.ranks(); ++rank) {
          if (missing(rank)) {
            return false;
          }
        }
        return true;
      },
      missing);
}

std::optional<uint64_t> Attempt::lend(uint64_t bytes) {
  const std::optional<uint64_t> offset = endpoint_.memory->allocate(bytes);
  if (offset) {
    lent_.push_back(Block{*offset, false});
  }
  return offset;
}

void Attempt::keep(uint64_t offset) {
  const auto block = std::find_if(lent_.begin(), lent_.end(),
                                  [&](const Block& lent) { return lent.offset == offset; });
  CHECK(block != lent_.end(), "keep() of a block that was lent in this attempt");
  block->kept = true;
}

void Attempt::signal(int peer, int rail, uint32_t subject) {
  CHECK(subject < kSubjects, "a subject fits its bits");
  const auto tag = static_cast<uint32_t>(number_ & ((1u << kTagBits) - 1));
  transport().signal(peer, rail, tag << kSubjectBits | subject);
}

void Attempt::tell(int peer, std::span<const int64_t> numbers) {
  MessageWriter message = message_of(kTell, number_);
  message.put_all(numbers);
  transport().post(peer, message.bytes());
}

int Attempt::signals(int peer, uint32_t subject) const {
  const auto count = signals_.find({peer, subject});
  return count == signals_.end() ? 0 : count->second;
}

std::optional<std::vector<int64_t>> Attempt::told(int peer) {
  auto& queue = told_[at(peer)];
  if (queue.empty()) {
    return std::nullopt;
  }
  std::vector<int64_t> numbers = std::move(queue.front());
  queue.pop_front();
  return numbers;
}

Attempt::Progress Attempt::wait(const std::function<bool()>& advance,
                                const std::function<bool(int)>& missing) {
  while (true) {
    pump();
    if (agreement_.broken() || agreement_.decision()) {
      return Progress::kBroken;
    }
    if (advance()) {
      return Progress::kDone;
    }
    const Instant next = watch(missing);
    if (!agreement_.broken()) {
      transport().wait(next);
    }
  }
}

void Attempt::settle(Progress progress) {
  if (progress == Progress::kDone) {
    agreement_.complete();
  }
  // A peer may not vote before its own patience for somebody ends.
  voting_ = true;
  late_ = transport().now() + patience_.call * 2;
  while (true) {
    pump();
    if (agreement_.decision() || given_up()) {
      break;
    }
    const Instant next = watch([](int) { return false; });
    send_votes();
    if (!agreement_.decision()) {
      transport().wait(next);
    }
  }
  if (agreement_.decision()) {
    MessageWriter message = message_of(kDecide, number_);
    message.put_all(std::span<const uint64_t>(agreement_.decision()->words()));
    put_accusations(message, agreement_.grounds());
    broadcast(message);
  }
}

// Nobody tells a rank that was lost; it notices that it cannot decide and that nobody else does.
bool Attempt::given_up() {
  if (!agreement_.stuck()) {
    stuck_since_.reset();
    return false;
  }
  if (!stuck_since_) {
    stuck_since_ = transport().now();
  }
  given_up_ = transport().now() >= *stuck_since_ + patience_.silence * 2;
  return given_up_;
}

bool Attempt::expelled() const { return given_up_ || agreement_.decision()->has(endpoint_.self()); }

void Attempt::take_back() {
  const bool success = succeeded();
  bool may_still_write = false;
  for (const int rank : agreement_.condemned().ranks()) {
    may_still_write |= takes_part(rank) && !transport().health(rank).gone;
  }
  for (const Block& block : lent_) {
    if (success && block.kept) {
      continue;
    }
    if (!success && may_still_write) {
      endpoint_.memory->retire(block.offset);
    } else {
      endpoint_.memory->release(block.offset);
    }
  }
  lent_.clear();
}

void Attempt::pump() {
  std::vector<Event> early;
  early.swap(endpoint_.early);
  for (Event& event : early) {
    if (!settle_event(event, number_)) {
      endpoint_.early.push_back(std::move(event));
    }
  }
  while (true) {
    Event event = transport().poll();
    if (event.kind == Event::Kind::kNothing) {
      break;
    }
    if (!settle_event(event, number_)) {
      endpoint_.early.push_back(std::move(event));
    }
  }
  send_votes();
}

bool Attempt::is_direct(const Event& event) {
  return event.kind == Event::Kind::kSignal
             ? (event.immediate & kSubjects) == kSubjects
             : MessageReader(event.message).get<uint64_t>() == kDirectNumber;
}

// False: it belongs to a later attempt.
bool Attempt::settle_event(Event& event, uint64_t now_serving) {
  if (is_direct(event)) {
    // A signal belongs to a transfer that this rank gave up, or it would not be here.
    if (event.kind == Event::Kind::kMessage && !endpoint_.lost.has(event.peer)) {
      endpoint_.direct.push_back(std::move(event));
    }
    return true;
  }
  const uint64_t number = number_of(event, now_serving);
  if (number > now_serving) {
    return false;
  }
  if (endpoint_.lost.has(event.peer) || number <= endpoint_.foreign) {
    return true;
  }
  if (number < now_serving) {
    hear_of_the_past(event);
    return true;
  }
  if (event.kind == Event::Kind::kSignal) {
    ++signals_[{event.peer, event.immediate & kSubjects}];
    return true;
  }
  MessageReader reader(event.message);
  reader.get<uint64_t>();
  read_message(event.peer, reader, reader.get<uint8_t>());
  return true;
}

// A rank that others lost in an attempt that it took for finished would wait for them in vain, or
// go on alone once they ended.
void Attempt::hear_of_the_past(const Event& event) {
  if (event.kind != Event::Kind::kMessage) {
    return;
  }
  MessageReader reader(event.message);
  if (reader.get<uint64_t>() > endpoint_.foreign && reader.get<uint8_t>() == kDecide) {
    read_decision(event.peer, reader, true);
  }
}

void Attempt::read_decision(int peer, MessageReader& reader, bool past) {
  const RankSet set = read_set(reader, endpoint_.ranks());
  const std::optional<Accusations> grounds = read_accusations(reader, endpoint_.ranks());
  if (reader.finished() && grounds && (!past || set.has(endpoint_.self()))) {
    agreement_.hear_decision(peer, set, *grounds);
  }
}

void Attempt::read_message(int peer, MessageReader& reader, uint8_t kind) {
  switch (kind) {
    case kDeclare: {
      PeerDeclaration declaration = read_declaration(reader);
      if (reader.finished()) {
        declarations_[at(peer)] = std::move(declaration);
        declared_[at(peer)] = true;
      }
      return;
    }
    case kTell: {
      std::vector<int64_t> numbers = reader.get_all<int64_t>();
      if (reader.finished()) {
        told_[at(peer)].push_back(std::move(numbers));
      }
      return;
    }
    case kVote: {
      const std::optional<Accusations> accusations = read_accusations(reader, endpoint_.ranks());
      if (reader.finished() && accusations) {
        agreement_.hear_vote(peer, *accusations);
      }
      return;
    }
    case kDecide:
      read_decision(peer, reader, false);
      return;
    default:
      return;
  }
}

// Also to those that are just being voted lost: one that was only stopped learns it so.
void Attempt::broadcast(const MessageWriter& message) {
  for (int peer = 0; peer < endpoint_.ranks(); ++peer) {
    if (peer != endpoint_.self() && takes_part(peer)) {
      transport().post(peer, message.bytes());
    }
  }
}

void Attempt::send_votes() {
  if (const std::optional<Accusations> vote = agreement_.take_vote()) {
    MessageWriter message = message_of(kVote, number_);
    put_accusations(message, *vote);
    broadcast(message);
  }
}

// Accuses who is overdue, and says when somebody may next become so. After an accusation the votes
// of others are awaited anew.
Instant Attempt::watch(const std::function<bool(int)>& missing) {
  Instant next = late_;
  for (bool accused = true; accused;) {
    accused = false;
    next = late_;
    for (int rank = 0; rank < endpoint_.ranks(); ++rank) {
      if (rank != endpoint_.self() && takes_part(rank)) {
        accused = watch_rank(rank, missing, next) || accused;
      }
    }
  }
  for (const std::optional<Instant>& since : {broken_since_, stuck_since_}) {
    if (since) {
      next = std::min(next, std::max(*since + patience_.silence * 2,
                                     transport().now() + std::chrono::milliseconds(1)));
    }
  }
  return std::max(next, transport().now());
}

// True: it is accused now.
bool Attempt::watch_rank(int rank, const std::function<bool(int)>& missing, Instant& next) {
  listen_to(rank);
  const auto waited_for = [&] {
    return !agreement_.condemned().has(rank) && (missing(rank) || agreement_.awaits(rank));
  };
  if (!waited_for()) {
    return false;
  }
  if (overdue(rank, missing(rank)) || known_gone(rank)) {
    return waited_for() && agreement_.accuse(rank);
  }
  next = std::min(next, transport().health(rank).heard + patience_.silence);
  return false;
}

// A condemned rank that is heard but does not vote is waited for until everybody had the time to
// notice what there is to notice.
void Attempt::listen_to(int rank) {
  const Instant now = transport().now();
  if (agreement_.broken() && !broken_since_) {
    broken_since_ = now;
  }
  const Health health = transport().health(rank);
  const bool in_vain = broken_since_ && now >= *broken_since_ + patience_.silence * 2;
  if (health.gone || in_vain || now >= health.heard + patience_.silence) {
    agreement_.unheard(rank, health.gone);
  }
}

bool Attempt::overdue(int rank, bool missing) const {
  Transport& way = endpoint_.transport;
  const Instant now = way.now();
  if (now >= way.health(rank).heard + patience_.silence) {
    return true;
  }
  return now >= late_ && (missing || voting_);
}

// What it sent before it ended counts: that is read first.
bool Attempt::known_gone(int rank) {
  if (!transport().health(rank).gone) {
    return false;
  }
  pump();
  return true;
}

Status run_call(Endpoint& endpoint, const Patience& patience,
                const std::function<Attempt::Progress(Attempt&)>& attempt) {
  while (true) {
    Attempt current(endpoint, patience);
    current.settle(attempt(current));
    current.take_back();
    if (current.expelled()) {
      return Error{"rank " + std::to_string(endpoint.self()) +
                       " (this one) is lost to the others: one side did not hear the other for "
                       "longer than its patience. Open a new communicator",
                   {}};
    }
    if (current.succeeded()) {
      return {};
    }
    for (const int rank : current.decision().ranks()) {
      if (!endpoint.lost.has(rank)) {
        endpoint.transport.abandon(rank);
      }
    }
    endpoint.lost = current.decision();
  }
}

}  // namespace mixnet::ep
