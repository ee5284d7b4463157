#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ocs/change_plan.h"
#include "ocs/circuit_checks.h"
#include "ocs/controller_options.h"
#include "ocs/journal.h"
#include "ocs/link_probe.h"
#include "ocs/region.h"
#include "ocs/region_report.h"
#include "ocs/tl1_session.h"

namespace mixnet::ocs {

// One transaction with the switch, without a session: the controller asks it for the next command
// and hands it the answer. Stages (a read that goes wrong is repeated; a write never is, what is
// missing is found by reading and planned anew):
//
//   read all -> [journal] -> deletes -> creates -> read touched -> shutters -> power -> carrier
//       ^           ^                                  |                            -> confirm
//       |           +--- something is missing ---------+
//       +--- a write without an answer, or a new session
//
// Confirm: what was read before a wait, or in an earlier session, is read once more at the end.
class Transaction {
 public:
  struct Job {
    bool change = true;           // false: read and check only
    std::vector<Circuit> wanted;  // passes check_circuits()
    // What should be there now; none: not known. Other circuits are somebody else's and stay.
    std::optional<std::vector<Circuit>> expected;
    std::map<NicId, std::string> unusable;  // and why
    std::set<Circuit> relinking;            // were switched shortly before
    TransactionId id = 0;                   // of an intent that is in the journal already
  };

  // The references outlive the transaction.
  Transaction(const Region& region, const ControllerOptions& options, Journal& journal,
              LinkProbe& probe, Job job, Instant now);

  struct Ask {
    Command command;
    Deadlines deadlines;
  };
  // What to send now; none while a time is awaited, or when done. Every Ask gets one answer().
  // CHECK: the last one was answered.
  std::optional<Ask> next(Instant now);
  void answer(const CommandDone& done, Instant now);
  // What was read may have changed meanwhile: the session was lost, or events were.
  void doubt();
  // Ends it: this switch must not be written to.
  void refuse(const std::string& why, Instant now);
  // Gives up at the deadline; goes on without a session where none is needed.
  void tick(Instant now);
  // When to call tick() and, if there is a session to ask, next().
  std::optional<Instant> next_deadline(bool may_ask) const;

  // Only reads: it may be dropped.
  bool is_harmless() const { return !job_.change; }
  bool done() const { return stage_ == Stage::kDone; }
  // When done. Covers the wanted circuits and those that were there.
  const ApplyReport& report() const { return report_; }
  // Are the readings of the whole switch, and younger than the last write?
  bool has_read() const { return has_read_ && known_; }
  // Circuits were there that nobody here asked for.
  bool met_other_writer() const { return other_writer_; }
  const Readings& readings() const { return readings_; }
  const Job& job() const { return job_; }
  // Everything that was to be known is known; nothing is left to resume.
  bool settled() const;
  // When the last write was answered.
  Instant wrote_at() const { return wrote_at_; }
  // Had the NICs all the time that was given to them?
  bool waited_for_carriers() const { return !carrier_wait_cut_; }
  // The switch was asked for these, and could not.
  const std::set<Circuit>& failed() const { return failed_; }
  // Of every circuit that is there, wanted or not.
  const std::map<Circuit, CircuitCheck>& checks() const { return checks_; }
  const std::string& journal_error() const { return journal_error_; }

 private:
  enum class Stage { kReadAll, kWrite, kReadTouched, kShutters, kPower, kCarrier, kConfirm, kDone };
  // What is known of a circuit that could not be switched.
  struct Fault {
    PairOutcome outcome = PairOutcome::kRefused;
    std::string message;
  };
  struct Batch {
    bool create = false;
    std::vector<Change> changes;
  };

  std::optional<Ask> ask(Command command, Deadlines deadlines, Instant now);
  std::optional<Ask> ask_write(Instant now);
  std::optional<Ask> ask_about_ports(Command (*command)(const PortSet&), Instant now);
  bool begin_writing();

  void read_all(const CommandDone& done, Instant now);
  void keep_unexpected(const SwitchView& view);
  void wrote(const CommandDone& done, Instant now);
  void denied(const Denial& denial, Instant now);
  void read_touched(const CommandDone& done, Instant now);
  void read_shutters(const CommandDone& done, Instant now);
  void read_power(const CommandDone& done, Instant now);
  bool cannot_be_read(const CommandDone& done) const;
  // Of the answer to a read; none: it is repeated, or everything ended.
  std::optional<std::vector<Patch>> patches_in(const CommandDone& done, Instant now);
  void repeat_later(Instant now);
  void write_later(Instant now);

  void plan();
  void plan_again(Instant now);
  void give_up_on(const std::vector<Change>& changes, bool create, const Fault& fault);
  // Of what is planned again: true if something was tried often enough.
  bool give_up_on_repeated();
  std::vector<Circuit> still_wanted() const;
  void start_checks(Instant now);
  void check_carriers(Instant now);
  void confirm(const CommandDone& done, Instant now);
  std::vector<Circuit> present_circuits() const;
  void go_on_after_shutters();
  void go_on_after_power(Instant now);

  void finish(Instant now);
  PairOutcome outcome_without_fault(CircuitReport& report, bool present) const;
  CircuitReport report_on(Circuit circuit, bool wanted, const SwitchView& view) const;
  void end_early(const std::string& message, Instant now);
  std::string stage_text() const;

  const Region& region_;
  const ControllerOptions& options_;
  Journal& journal_;
  LinkProbe& probe_;
  Job job_;
  Instant started_;
  Instant deadline_;

  Stage stage_ = Stage::kReadAll;
  std::optional<Instant> not_before_;
  bool asked_ = false;
  std::string last_asked_;
  Instant asked_at_;
  Instant wrote_at_;
  int repeats_ = 0;
  int write_pauses_ = 0;
  bool doubted_ = false;

  Readings readings_;
  bool has_read_ = false;
  bool known_ = false;         // the readings are younger than the last write
  std::vector<Circuit> keep_;  // are not touched, ascending
  bool other_writer_ = false;
  std::set<Circuit> found_;  // there before the first write, whole or half
  std::set<Circuit> whole_;  // there before the first write, whole
  ChangePlan plan_;
  std::size_t removed_ = 0;  // changes of the plan that were sent
  std::size_t added_ = 0;
  std::size_t batch_limit_ = 0;
  Batch batch_;  // the last one sent
  std::set<PortId> touched_;
  std::map<std::pair<Circuit, bool>, int> attempts_;  // to remove (false), to create (true)
  std::map<Circuit, std::string> last_answer_;        // to a write about this circuit
  bool unanswered_ = false;                           // no answer to the last write
  std::map<Circuit, Fault> faults_;
  std::set<Circuit> failed_;
  std::optional<Instant> delayed_until_;
  Instant light_until_;
  Instant carrier_until_;
  bool carrier_wait_cut_ = false;  // by the deadline
  bool to_confirm_ = false;
  std::map<Circuit, CircuitCheck> checks_;
  std::string trouble_;  // why it ended early
  std::string journal_error_;
  ApplyReport report_;
};

}  // namespace mixnet::ocs
