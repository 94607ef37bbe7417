// A server's regions and the capabilities for them.
//
// Invariants
//   1. A byte of a region is reached through `reach` alone, which compares number and secret, range, rights and
//      application with the server's own entry, on every call. Nothing that a client sent is used as an address.
//   2. A number is never used twice: its low half is the slot, its high half counts the uses of the slot.
//   3. A capability has no more range and rights than its parent, and ends with it.
//   4. Regions do not overlap; a byte between any two belongs to none, nor does address 0 of any server.
//   5. A region's pages are zero when it begins. When it ends the server releases them, unless another process has
//      them mapped.
//   6. The server passes memory for writing to one connection alone: the one that the region ends with, by the region's
//      first capability. From then on nobody else ends the region or that capability, so the mapping never gives more
//      than the holder may do. The file is the region's own, with fixed size and seals: its stores damage nothing else.
//   7. Alternatively the server passes memory for reading, by a capability to read the whole region. From then on only
//      the server's own mapping can write to the file (F_SEAL_FUTURE_WRITE). When such a capability ends, the region
//      moves to another file, which was reserved at the first sharing, so the move cannot fail: the readers' file no
//      longer changes, and its notice says so.
//   8. A file without a region that is still open or mapped somewhere counts as a region of its owner until the kernel
//      reports that nobody has it.
#pragma once

#include <situ/pages/memory_kind.h>
#include <situ/rmem/capability.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rmem/application_index.h"
#include "rmem/capability_slots.h"
#include "rmem/passed_files.h"
#include "rmem/protocol.h"
#include "rmem/region_file.h"

namespace situ::rmem::detail {

// The result of a call: a status and, if it was refused, a text.
struct outcome {
  detail::status status = status::ok;
  std::string text;
  [[nodiscard]] bool is_ok() const noexcept { return status == status::ok; }
};

// The table of one server. Not thread-safe.
class memory_table {
 public:
  static constexpr std::uint32_t most_regions = 4096;       // of an application
  static constexpr std::uint32_t most_capabilities = 4096;  // of a region
  static constexpr std::uint32_t most_slots = capability_slots::most;

  memory_table(std::uint32_t server, std::uint64_t capacity_bytes, memory_kind kind);
  ~memory_table();
  memory_table(const memory_table&) = delete;
  memory_table& operator=(const memory_table&) = delete;

  // session: the session whose end frees the region; 0: none.
  outcome allocate(std::uint64_t bytes, application_index owner, std::uint64_t session, capability& made);
  // Returns the address of [address, address + bytes) in the server's memory if this capability covers all of it and
  // this use; else null.
  [[nodiscard]] std::byte* reach(application_index who, std::uint64_t number, const capability_secret& secret,
                                 std::uint64_t address, std::uint64_t bytes, rights use) const noexcept;
  outcome grant(application_index who, const capability& from, const range& of, rights may, application_index to,
                capability& made);
  outcome revoke(application_index who, std::uint64_t number, const capability_secret& secret);

  // Returns the file that holds the region, from byte 0 on, for the connection `session`; the region keeps it.
  // Invariant 6 says which connection may have it. not_supported if the memory is of a kind that cannot be passed, or
  // readers have it.
  outcome pass(application_index who, std::uint64_t session, std::uint64_t number, const capability_secret& secret,
               int& file);
  // As pass(), for reading, by a capability for `whole` with the right to read. Behind the region's pages the file has
  // one more page (notice_bytes). not_supported also if the region would have no room to move to, or exceeds
  // set_most_mapped().
  outcome pass_to_read(application_index who, const range& whole, std::uint64_t number, const capability_secret& secret,
                       int& file);
  // Sets the largest region that is passed to readers, in bytes: moving a region takes time.
  void set_most_mapped(std::uint64_t bytes) noexcept { most_mapped_ = bytes; }
  // Sets the limit of descriptors. A region takes one; a region that readers have takes three: two files, and one
  // opened again for reading.
  void set_most_files(std::uint64_t files) noexcept { most_files_ = files; }
  // Return the connection that has the memory of the region that begins at `address`, or of the region whose first
  // capability this is; 0: none.
  [[nodiscard]] std::uint64_t holder_at(std::uint64_t address) const noexcept;
  [[nodiscard]] std::uint64_t holder_by(std::uint64_t number, const capability_secret& secret) const noexcept;

  // Returns true if a region begins at `address` and this application owns it.
  [[nodiscard]] bool is_owner(application_index who, std::uint64_t address) const noexcept;
  // Ends a region and its capabilities. pre: a region begins at `address`.
  void free(std::uint64_t address) noexcept;
  // Return the memory of the region that begins at `address`, or of a capability's range (which is the whole region if
  // ending the capability moves the region); empty if there is none.
  [[nodiscard]] std::span<const std::byte> memory_at(std::uint64_t address) const noexcept;
  [[nodiscard]] std::span<const std::byte> memory_of(std::uint64_t number,
                                                     const capability_secret& secret) const noexcept;
  // Returns the addresses of the regions that end with a session.
  [[nodiscard]] std::vector<std::uint64_t> regions_of(std::uint64_t session) const;

  // --- for replicas: repeat the changes of another table ---
  // Empties the table, for the server of that number.
  void reset(std::uint32_t server) noexcept;
  // Adds a region at `where`, with the number and secret of its first capability (0: it has ended). Returns false if
  // there is no room, or if the values cannot be right.
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
  // Return the use counts of all slots and the address at which the search for a gap begins. A copy must continue from
  // both.
  [[nodiscard]] std::vector<std::uint32_t> uses() const { return slots_.uses(); }
  void set_uses(std::span<const std::uint32_t> uses) { slots_.set_uses(uses); }
  [[nodiscard]] std::uint64_t next_address() const noexcept { return next_address_; }
  void set_next_address(std::uint64_t address) noexcept { next_address_ = address; }
  // Returns the bytes of a range that lies within one region; empty if no region contains it.
  [[nodiscard]] std::span<std::byte> bytes_at(const range& where) const noexcept;
  // Returns the bytes of the first region that has any at or behind `address`, and sets `address` to theirs.
  [[nodiscard]] std::span<const std::byte> bytes_from(std::uint64_t& address) const noexcept;
  // Call `call` for each region with its first capability (number 0: it has ended), and for each granted capability,
  // parents first.
  void for_each_region(const std::function<void(const range&, application_index owner, std::uint64_t session,
                                                std::uint64_t number, const capability_secret&)>& call) const;
  void for_each_grant(const std::function<void(const capability_view&)>& call) const;

  struct region_view {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t capabilities;
    application_index owner;
  };
  // Returns the regions from an address on, of one application or all, up to `most`.
  [[nodiscard]] std::vector<region_view> list(application_index who, std::uint64_t from, std::size_t most) const;

  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return capacity_; }
  // Returns the bytes in use. They include the memory kept for readers: room to move to, and files without a region
  // that only readers have.
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return used_; }
  // Releases the files that nobody has any more.
  void collect() noexcept;
  [[nodiscard]] std::size_t region_count() const noexcept { return regions_.size(); }
  [[nodiscard]] std::size_t capability_count() const noexcept { return slots_.count_in_use(); }

 private:
  using region = table_region;
  using slot = capability_slots::slot;
  static constexpr std::uint32_t no_slot = capability_slots::none;

  [[nodiscard]] std::unique_ptr<region> make_region(std::uint64_t bytes, outcome& why) const;
  [[nodiscard]] std::size_t files_of(application_index owner) const noexcept;
  [[nodiscard]] bool has_descriptors(std::uint64_t wanted) const noexcept;
  outcome begin_sharing(region& of);
  void end_sharing(region& of) noexcept;
  bool watch(region& of);
  void move(region& of) noexcept;
  void retire(region_file old) noexcept;
  void revoke(std::uint32_t index) noexcept;
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
  passed_files passed_;
  std::uint64_t next_address_;  // where the search for a gap begins: an address is reused as late as possible
  std::map<std::uint64_t, std::unique_ptr<region>> regions_;  // by address
  capability_slots slots_;
};

}  // namespace situ::rmem::detail
