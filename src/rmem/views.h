// The views of a name server: it records which server processes have which memory, and tells them. It has no socket, no
// thread and no clock: the caller passes the time, so a test can be all of these.
//
// A *chain* is the processes that have the memory of one server number. The first serves clients; each sends its
// changes to the next, and the last one's acknowledgment counts for all (van Renesse and Schneider, chain replication,
// OSDI 2004). A *view* is a chain with an epoch. Servers report in *beats*; a server that is silent for a lease is
// lost.
//
// Invariants
//   1. The epochs of a chain grow, and each epoch belongs to one chain only.
//   2. The first of a chain is replaced only when its last granted lease is over: it has stopped serving by then, even
//      if it does not know of the replacement.
//   3. A process is appended to a chain only when the last member of the newest view reports that it has everything.
//   4. A chain never becomes empty: the name server waits for the last process that has the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmem/memory_table.h"
#include "rmem/protocol.h"

namespace situ::rmem::detail {

// Not thread-safe.
class view_keeper {
 public:
  // lease_ms: how long a server that serves may continue without a new answer.
  // report: called with a sentence for each process that is found lost; may be empty.
  explicit view_keeper(std::uint32_t lease_ms, std::function<void(const std::string&)> report = {})
      : lease_ms_{lease_ms}, report_{std::move(report)} {}

  // Takes a server's beat and sets `told` to the view to answer with. Throws nothing; returns false if the beat is
  // invalid.
  [[nodiscard]] bool beat(const beat_entry& said, std::uint64_t now_ns, view_entry& told);
  // Marks the process at that endpoint to be removed as soon as another process has its memory.
  [[nodiscard]] outcome drain(std::string_view endpoint, std::uint64_t now_ns);

  // Returns the view of a server number; null if there is none.
  [[nodiscard]] const view_entry* find(std::uint32_t index, std::uint64_t now_ns);
  [[nodiscard]] std::vector<view_entry> all(std::uint64_t now_ns);
  // Returns the number of spare processes.
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
    std::uint64_t granted_ns = 0;  // when the first was last told that it may serve
    bool is_silent = false;        // the first is lost, and no other can take its place
  };

  void look(std::uint64_t now_ns);
  void look_at(group& of, std::uint64_t now_ns);
  void replace_first(group& of, std::uint64_t now_ns);
  void find_joining(group& of, std::uint64_t now_ns);
  void note_silence(group& of, bool is_silent);
  void report_lost(const view_entry& now, const member_entry& who, std::string_view why) const;
  [[nodiscard]] std::string silence() const;
  [[nodiscard]] endpoint_text endpoint_of(std::uint64_t node) const;
  void adopt(const beat_entry& said);
  void heed(group& of, const beat_entry& said);
  void begin_group(const beat_entry& said, std::uint64_t now_ns);
  [[nodiscard]] group* group_of(std::uint64_t node) noexcept;
  [[nodiscard]] bool is_lost(std::uint64_t node, std::uint64_t now_ns) const;
  [[nodiscard]] bool is_heard(std::uint64_t node, std::uint64_t now_ns) const;
  [[nodiscard]] bool drains(std::uint64_t node) const;
  [[nodiscard]] std::uint64_t lease_ns() const noexcept { return std::uint64_t{lease_ms_} * 1'000'000; }

  std::uint32_t lease_ms_;
  std::function<void(const std::string&)> report_;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
  std::map<std::uint64_t, process> processes_;
  std::map<std::uint32_t, group> groups_;
  std::map<std::uint32_t, view_entry> found_;           // reported to a restarted name server, not yet adopted
  std::map<std::uint64_t, std::uint64_t> told_epochs_;  // by node: the epoch that the node has reported
};

// Returns the node's place in the view's chain.
[[nodiscard]] std::size_t place_in(const view_entry& view, std::uint64_t node) noexcept;  // `members` if it has none
// Returns true if bytes from outside form a valid view.
[[nodiscard]] bool is_view(const view_entry& view) noexcept;

}  // namespace situ::rmem::detail
