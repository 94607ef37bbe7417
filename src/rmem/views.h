// Which server processes have which memory: what the name server keeps, and tells them. It has no socket, no thread and
// no clock: whoever calls says what time it is, so a test can be all of these.
//
// A *chain* is the processes that have the memory of one server number. The first serves clients; each sends what
// changes to the next, and the last one's acknowledgment is everybody's (van Renesse and Schneider, chain replication,
// OSDI 2004). A *view* is a chain with an epoch. Servers tell of themselves in *beats*; who is silent for a lease is
// lost.
//
// Invariants
//   1. The epochs of a chain grow, and a view's epoch is told with one chain only.
//   2. The first of a chain is replaced only when the lease that it was granted last is over: it has stopped serving by
//      then, whether it knows or not.
//   3. A process is appended to a chain only when the last one of the newest view says that it has everything.
//   4. A chain never becomes empty: the last process that has the bytes is waited for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rmem/memory_table.h"
#include "rmem/protocol.h"

namespace situ::rmem::detail {

// Not thread-safe.
class view_keeper {
 public:
  // lease_ms: how long who serves may go on without having been told again.
  explicit view_keeper(std::uint32_t lease_ms) : lease_ms_{lease_ms} {}

  // What a server is to be told that said this. Throws nothing; false where it said nonsense.
  [[nodiscard]] bool beat(const beat_entry& said, std::uint64_t now_ns, view_entry& told);
  // From now on the process at that endpoint goes as soon as another one has what it has.
  [[nodiscard]] outcome drain(std::string_view endpoint, std::uint64_t now_ns);

  // The view of a server number; null where there is none.
  [[nodiscard]] const view_entry* find(std::uint32_t index, std::uint64_t now_ns);
  [[nodiscard]] std::vector<view_entry> all(std::uint64_t now_ns);
  // How many processes wait to be needed.
  [[nodiscard]] std::size_t spares() const;

 private:
  struct process {
    endpoint_text endpoint{};
    std::uint64_t capacity = 0;
    std::uint32_t index = any_server;
    std::uint64_t seen_ns = 0;
    bool drains = false;
  };
  struct group {
    view_entry view{};
    std::uint64_t capacity = 0;
    std::uint64_t granted_ns = 0;  // when the first one was last told that it may serve
  };

  void look(std::uint64_t now_ns);
  void look_at(group& of, std::uint64_t now_ns);
  void replace_first(group& of, std::uint64_t now_ns);
  void find_joining(group& of, std::uint64_t now_ns);
  void adopt(const beat_entry& said);
  void heed(group& of, const beat_entry& said);
  void begin_group(const beat_entry& said, std::uint64_t now_ns);
  [[nodiscard]] group* group_of(std::uint64_t node) noexcept;
  [[nodiscard]] bool is_lost(std::uint64_t node, std::uint64_t now_ns) const;
  [[nodiscard]] bool is_heard(std::uint64_t node, std::uint64_t now_ns) const;
  [[nodiscard]] bool drains(std::uint64_t node) const;
  [[nodiscard]] std::uint64_t lease_ns() const noexcept { return std::uint64_t{lease_ms_} * 1'000'000; }

  std::uint32_t lease_ms_;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
  std::map<std::uint64_t, process> processes_;
  std::map<std::uint32_t, group> groups_;
  std::map<std::uint32_t, view_entry> found_;           // by a name server that has been started anew
  std::map<std::uint64_t, std::uint64_t> told_epochs_;  // of those that have told it what they hold
};

// What a view says of a process.
[[nodiscard]] std::size_t place_in(const view_entry& view, std::uint64_t node) noexcept;  // `members`: none
// Whether bytes from outside are one.
[[nodiscard]] bool is_view(const view_entry& view) noexcept;

}  // namespace situ::rmem::detail
