// A server's regions and the capabilities for them.
//
// Invariants
//   1. A byte of a region is reached through `reach` alone, which compares number and secret, range, rights and
//      application with the server's own entry, on every call. Nothing that a client sent is used as an address.
//   2. A number is never used twice: its low half is the slot, its high half counts how often the slot was.
//   3. A capability has no more range and rights than the one that it was made from, and ends with it.
//   4. Regions do not overlap; a byte between any two belongs to none, nor does address 0 of any server.
//   5. A region's pages are zero when it begins, and gone from the machine when it ends, unless somebody has them
//   mapped.
//   6. Memory itself is passed to be written to one connection alone: the one that the region ends with, by the
//      capability that it got first. Nobody else ends either from then on, so nothing that it may do by its mapping has
//      been taken from it. The file is the region's own, and its size and seals are fixed: what it does there damages
//      nobody else.
//   7. It is passed to be read instead, by a capability to read all of it. Then nobody writes to the file but by the
//      mapping that is here already (F_SEAL_FUTURE_WRITE). When such a capability ends, the region moves to another
//      file, which has been ready since, so this cannot fail: what readers have does not change any more, and says so.
//   8. A file that has no region any more, but is open or mapped somewhere, counts as a region of its owner until the
//      kernel says that nobody has it.
#pragma once

#include <situ/memory/memory_kind.h>
#include <situ/rmem/capability.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "rmem/protocol.h"
#include "rmem/sockets.h"

namespace situ::rmem::detail {

using application_index = std::uint32_t;
inline constexpr application_index any_application = ~0U;

// What a call came to, where it is refused with the text of it.
struct outcome {
  detail::status status = status::ok;
  std::string text;
  [[nodiscard]] bool is_ok() const noexcept { return status == status::ok; }
};

// Of one server. Not thread-safe.
class memory_table {
 public:
  static constexpr std::uint32_t most_regions = 4096;       // an application's
  static constexpr std::uint32_t most_capabilities = 4096;  // a region's
  static constexpr std::uint32_t most_slots = 1U << 24;     // that another table may have

  memory_table(std::uint32_t server, std::uint64_t capacity_bytes, memory_kind kind);
  ~memory_table();
  memory_table(const memory_table&) = delete;
  memory_table& operator=(const memory_table&) = delete;

  // session: whose end frees it; 0: nobody's.
  outcome allocate(std::uint64_t bytes, application_index owner, std::uint64_t session, capability& made);
  // Where [address, address + bytes) lies in the server's memory, if this capability is for all of it and this use;
  // null where it is not.
  [[nodiscard]] std::byte* reach(application_index who, std::uint64_t number, const capability_secret& secret,
                                 std::uint64_t address, std::uint64_t bytes, rights use) const noexcept;
  outcome grant(application_index who, const capability& from, const range& of, rights may, application_index to,
                capability& made);
  outcome revoke(application_index who, std::uint64_t number, const capability_secret& secret);

  // The file in which the region lies, from byte 0 on, for the connection `session`; it remains the region's. Invariant
  // 6 says who may have it. not_supported where the memory is of a kind that cannot be passed, or readers have it.
  outcome pass(application_index who, std::uint64_t session, std::uint64_t number, const capability_secret& secret,
               int& file);
  // The same, to be read, by a capability for `whole` and the right to. Behind the region's pages the file has one more
  // (notice_bytes). not_supported also where the region would have no room to move to, or is larger than said below.
  outcome pass_to_read(application_index who, const range& whole, std::uint64_t number, const capability_secret& secret,
                       int& file);
  // Only regions up to so many bytes are passed to readers, as moving one takes time.
  void set_most_mapped(std::uint64_t bytes) noexcept { most_mapped_ = bytes; }
  // Regions have a file each, and those that readers have two and a descriptor more: so many descriptors at most.
  void set_most_files(std::uint64_t files) noexcept { most_files_ = files; }
  // Which connection has the memory of the region that begins there, or of that whose first capability this is; 0:
  // none.
  [[nodiscard]] std::uint64_t holder_at(std::uint64_t address) const noexcept;
  [[nodiscard]] std::uint64_t holder_by(std::uint64_t number, const capability_secret& secret) const noexcept;

  // Whether a region begins there that this application owns.
  [[nodiscard]] bool is_owner(application_index who, std::uint64_t address) const noexcept;
  // pre: a region begins there.
  void free(std::uint64_t address) noexcept;
  // The memory of the region that begins there, and what a capability is for (all of a region that moves when it ends);
  // empty where there is none.
  [[nodiscard]] std::span<const std::byte> memory_at(std::uint64_t address) const noexcept;
  [[nodiscard]] std::span<const std::byte> memory_of(std::uint64_t number,
                                                     const capability_secret& secret) const noexcept;
  // Where those regions begin that end with a session.
  [[nodiscard]] std::vector<std::uint64_t> regions_of(std::uint64_t session) const;

  // --- of replicas: what another table has done is done here ---
  // Empty again, and of that server.
  void reset(std::uint32_t server) noexcept;
  // A region that lies there, with the number and secret of its first capability (0: that has ended). False where there
  // is no room.
  [[nodiscard]] bool place_region(const range& where, application_index owner, std::uint64_t session,
                                  std::uint64_t number, const capability_secret& secret);
  struct capability_view {
    range of;
    rights may;
    application_index for_whom;
    application_index maker;
    std::uint64_t number;
    std::uint64_t parent;  // its number
    const capability_secret* secret;
  };
  [[nodiscard]] bool place_capability(const capability_view& as);
  [[nodiscard]] bool drop_capability(std::uint64_t number) noexcept;
  // How often each slot has been used, and where the search for addresses begins: both go on from there.
  [[nodiscard]] std::vector<std::uint32_t> uses() const;
  void set_uses(std::span<const std::uint32_t> uses);
  [[nodiscard]] std::uint64_t next_address() const noexcept { return next_address_; }
  void set_next_address(std::uint64_t address) noexcept { next_address_ = address; }
  // The bytes of a range that lies within one region; empty where none does.
  [[nodiscard]] std::span<std::byte> bytes_at(const range& where) const noexcept;
  // Those of the first region that has any from an address on, which becomes theirs.
  [[nodiscard]] std::span<const std::byte> bytes_from(std::uint64_t& address) const noexcept;
  // Each region with its first capability (number 0: it has ended), and each capability that was granted, after the one
  // that it was made from.
  void for_each_region(const std::function<void(const range&, application_index owner, std::uint64_t session,
                                                std::uint64_t number, const capability_secret&)>& call) const;
  void for_each_grant(const std::function<void(const capability_view&)>& call) const;

  struct region_view {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t capabilities;
    application_index owner;
  };
  // Those from an address on, of one application or all, up to `most`.
  [[nodiscard]] std::vector<region_view> list(application_index who, std::uint64_t from, std::size_t most) const;

  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return capacity_; }
  // With what is kept for readers: room to move to, and files of which nobody but them has something.
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_; }
  // Looks which of these files nobody has any more.
  void collect() noexcept;
  [[nodiscard]] std::size_t region_count() const noexcept { return regions_.size(); }
  [[nodiscard]] std::size_t capability_count() const noexcept { return capabilities_; }

 private:
  struct region;
  struct region_file;
  static constexpr std::uint32_t no_slot = ~0U;
  struct slot {
    std::uint32_t uses = 0;  // odd: in use
    std::uint32_t next_free = no_slot;
    std::uint32_t last_free = no_slot;
    rights may = rights::none;
    application_index for_whom = any_application;
    application_index maker = 0;
    std::uint32_t parent = no_slot;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    region* of = nullptr;
    std::uint32_t sharing = 0;  // in which of the region's it was passed; 0: never
    capability_secret secret{};
    std::vector<std::uint32_t> children;
  };
  struct passed_file {
    application_index owner;
    std::uint64_t kept_bytes;  // 0: it has its region
  };

  [[nodiscard]] const slot* find(std::uint64_t number, const capability_secret& secret) const noexcept;
  [[nodiscard]] std::unique_ptr<region> make_region(std::uint64_t bytes, outcome& why) const;
  [[nodiscard]] region_file make_file(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t behind_region() const noexcept;
  [[nodiscard]] std::size_t files_of(application_index owner) const noexcept;
  [[nodiscard]] bool has_descriptors(std::uint64_t wanted) const noexcept;
  outcome begin_sharing(region& of);
  void end_sharing(region& of) noexcept;
  bool watch(region& of);
  void move(region& of) noexcept;
  void retire(region_file old) noexcept;
  void revoke(std::uint32_t index) noexcept;
  [[nodiscard]] std::uint64_t number_of(std::uint32_t index) const noexcept {
    return std::uint64_t{slots_[index].uses} << 32 | index;
  }
  slot& take_slot(std::uint64_t number);
  void add_free(std::uint32_t index) noexcept;
  void take_free(std::uint32_t index) noexcept;
  [[nodiscard]] const slot* find_slot(std::uint64_t number) const noexcept;
  capability add(region& of, const range& what, rights may, application_index for_whom, application_index maker,
                 std::uint32_t parent);
  bool end(std::uint32_t index) noexcept;
  [[nodiscard]] std::uint64_t gap_for(std::uint64_t room) const noexcept;
  outcome no_room(std::uint64_t bytes, application_index owner) const;

  std::uint32_t server_;
  std::uint64_t capacity_;
  std::uint64_t most_mapped_ = ~std::uint64_t{0};
  std::uint64_t most_files_ = ~std::uint64_t{0};
  memory_kind kind_;
  std::uint64_t used_ = 0;
  descriptor watches_;                           // inotify's, which tells when nobody has a file any more
  std::unordered_map<int, passed_file> passed_;  // by watch
  std::uint64_t next_address_;  // where the search for a gap begins: an address is used anew as late as can be
  std::map<std::uint64_t, std::unique_ptr<region>> regions_;  // by address
  std::vector<slot> slots_;
  std::uint32_t first_free_ = no_slot;  // of a list within slots_
  std::size_t capabilities_ = 0;        // slots that are not in it
};

}  // namespace situ::rmem::detail
