#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ocs/emulator_box.h"
#include "ocs/tl1_text.h"

// Logging in and out, and who may.
namespace mixnet::ocs {
namespace {

constexpr std::string_view kNotAdmin = "User not in the admin group";

constexpr std::pair<std::string_view, UserGroup> kGroups[] = {
    {"ADMIN", UserGroup::kAdmin}, {"USER", UserGroup::kUser}, {"VIEW", UserGroup::kView}};

std::optional<UserGroup> group_named(std::string_view name) {
  for (const auto& [text, group] : kGroups) {
    if (equal_ignoring_case(text, name)) {
      return group;
    }
  }
  return std::nullopt;
}

std::string_view name_of(UserGroup group) {
  for (const auto& [text, known] : kGroups) {
    if (known == group) {
      return text;
    }
  }
  return "";
}

std::string user_in(const ReceivedCommand& received) {
  const auto& aid = received.command.aid;
  return aid.empty() || aid[0].empty() ? "" : aid[0][0].first;
}

EmulatedUser* find_user(EmulatorBox& box, std::string_view name) {
  const auto user = std::ranges::find(box.options.users, name, &EmulatedUser::name);
  return user == box.options.users.end() ? nullptr : &*user;
}

Reply log_in(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
             Instant /*now*/) {
  const std::string name = user_in(received);
  if (name.empty()) {
    return denial("IIAC", "Too few parameters (0/1)");
  }
  const std::string password = value_at(received, 1, 0);
  if (received.written_blocks >= 2 && password.empty()) {
    return denial("IPMS", "Too few parameters (0/1) in block 1");
  }
  if (!session.user.empty()) {
    return denial("SNVS", "Already logged in");
  }
  const EmulatedUser* user = find_user(box, name);
  if (user == nullptr || user->password.reveal() != password) {
    return denial("PICC", "");
  }
  session.user = user->name;
  session.group = user->group;
  ++box.counters.logins;
  return done();
}

Reply log_out(EmulatorBox& /*box*/, EmulatorSession& session, const ReceivedCommand& received,
              Instant /*now*/) {
  if (user_in(received) != session.user) {
    return denial("PICC", "Permission denied");
  }
  session.user.clear();
  Reply reply;
  reply.then = Reply::Then::kClose;
  return reply;
}

// Password and group as ENT-USER-SECU and ED-USER-SECU carry them: "::pw,,admin".
struct Security {
  std::string password;
  std::optional<UserGroup> group;
  std::optional<Reply> refusal;
};

Security security_in(const ReceivedCommand& received) {
  Security security;
  security.password = value_at(received, 1, 0);
  const std::string group = value_at(received, 1, 2);
  security.group = group_named(group);
  if (!group.empty() && !security.group) {
    security.refusal = denial("IPNV", "Invalid user access privilege");
  }
  return security;
}

Reply enter_user(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
                 Instant /*now*/) {
  constexpr std::size_t kMostUsers = 64;
  const std::string name = user_in(received);
  if (session.group != UserGroup::kAdmin) {
    return denial("PICC", std::string(kNotAdmin));
  }
  if (name.empty()) {
    return denial("IIAC", "Too few parameters (0/1)");
  }
  if (find_user(box, name) != nullptr) {
    return denial("IDNV", "User exists");
  }
  Security security = security_in(received);
  if (security.refusal) {
    return *std::move(security.refusal);
  }
  if (box.options.users.size() >= kMostUsers) {
    return denial("SARB", "Too many users");
  }
  box.options.users.push_back(
      EmulatedUser{name, Secret(security.password), security.group.value_or(UserGroup::kView)});
  return done();
}

Reply edit_user(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
                Instant /*now*/) {
  EmulatedUser* user = find_user(box, user_in(received));
  if (session.group != UserGroup::kAdmin) {
    return denial("PICC", std::string(kNotAdmin));
  }
  if (user == nullptr) {
    return denial("IDNV", "User does not exist");
  }
  Security security = security_in(received);
  if (security.refusal) {
    return *std::move(security.refusal);
  }
  if (!security.password.empty()) {
    user->password = Secret(security.password);
  }
  user->group = security.group.value_or(user->group);
  return done();
}

Reply delete_user(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
                  Instant /*now*/) {
  if (session.group != UserGroup::kAdmin) {
    return denial("PICC", std::string(kNotAdmin));
  }
  const EmulatedUser* user = find_user(box, user_in(received));
  if (user == nullptr) {
    return denial("IDNV", "User does not exist");
  }
  if (user->name == session.user) {
    return denial("PICC", "Permission denied");
  }
  box.options.users.erase(box.options.users.begin() + (user - box.options.users.data()));
  return done();
}

Reply retrieve_users(EmulatorBox& box, EmulatorSession& session, const ReceivedCommand& received,
                     Instant /*now*/) {
  if (session.group != UserGroup::kAdmin) {
    return denial("SRCN", std::string(kNotAdmin));
  }
  const std::string name = user_in(received);
  const bool all = name.empty() || equal_ignoring_case(name, "ALL");
  if (!all && find_user(box, name) == nullptr) {
    return denial("IDNV", "User does not exist");
  }
  Reply reply;
  for (const EmulatedUser& user : box.options.users) {
    if (all || user.name == name) {
      reply.lines.push_back(quoted(fmt::format("{}:,{}", user.name, name_of(user.group))));
    }
  }
  return reply;
}

// The commands check the group themselves: their codes differ.
constexpr EmulatedCommand kUserCommands[] = {
    {"ACT-USER", Right::kAnybody, log_in},
    {"CANC-USER", Right::kLoggedIn, log_out},
    {"ENT-USER-SECU", Right::kLoggedIn, enter_user},
    {"ED-USER-SECU", Right::kLoggedIn, edit_user},
    {"DLT-USER-SECU", Right::kLoggedIn, delete_user},
    {"RTRV-USER-SECU", Right::kLoggedIn, retrieve_users},
};

}  // namespace

std::span<const EmulatedCommand> user_commands() { return kUserCommands; }

}  // namespace mixnet::ocs
