// The file of a pool: making, opening and growing it, and mapping it at its own addresses. pool_header.cpp has every
// check of the header's contents; docs/formats/pool.md lists them.
#pragma once

#include "os/descriptor.h"
#include "os/mapping.h"
#include "pool/format.h"
#include "pool/openers.h"
#include "pool/persistence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ::detail {

struct pool_area;

// Throw bad_file: "pool PATH, byte OFFSET: ...". The first names `situ pool repair`; the second is for damage that this
// command cannot mend.
[[noreturn]] void throw_damaged(const std::string& path, std::uint64_t offset, std::string_view what);
[[noreturn]] void throw_lost(const std::string& path, std::uint64_t offset, std::string_view what);
// Throws bad_file: "pool PATH: ...".
[[noreturn]] void throw_refused(const std::string& path, std::string_view what);
// Throws out_of_memory: `bytes` more bytes cannot be had, because of this errno value.
[[noreturn]] void throw_no_room(const std::string& path, int descriptor, std::uint64_t bytes, int reason);
// Returns the largest file that this process may make (RLIMIT_FSIZE): beyond it the kernel sends SIGXFSZ.
[[nodiscard]] std::uint64_t longest_file() noexcept;
// Throws out_of_memory: a file of this size exceeds longest_file().
[[noreturn]] void throw_too_long(const std::string& path, std::uint64_t bytes);
// Throws bad_file if the system has no random bytes.
void set_random(void* to, std::size_t bytes);

// Throws bad_file if the pool has features that this build does not know.
void check_pool_features(const pool_header& header, const std::string& path);

// For tests: values that replace those found on the system.
struct pool_overrides {
  persistence_recorder* recorder = nullptr;
  std::optional<pool_medium> medium;
  std::uint64_t most_log_bytes = most_pool_log_bytes;  // used part of a redo log
};

// Not thread-safe.
class pool_file {
 public:
  static pool_file create(const std::string& path, const pool_options& options, const pool_overrides& overrides);
  static pool_file open(const std::string& path, const pool_opening& how, const pool_overrides& overrides);
  ~pool_file();
  pool_file(pool_file&& other) noexcept;
  pool_file& operator=(pool_file&&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool may_write() const noexcept { return access_ != pool_access::read; }
  [[nodiscard]] const pool_header& header() const noexcept { return *at<const pool_header>(0); }
  [[nodiscard]] std::byte* base() const noexcept { return range_.begin(); }
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept { return range_.bytes(); }
  [[nodiscard]] std::uint64_t heap_offset() const noexcept { return heap_offset_; }
  [[nodiscard]] std::uint64_t salt() const noexcept { return salt_; }
  // Returns whether this opener has made the file.
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }
  // Returns whether the log is a redo log; if so, the writer has mapped the file privately.
  [[nodiscard]] bool is_redo() const noexcept { return is_redo_; }
  // Returns whether each object has a check (object_checks.h).
  [[nodiscard]] bool has_checks() const noexcept { return has_checks_; }
  [[nodiscard]] pool_promise promise() const noexcept { return static_cast<pool_promise>(header().promise); }
  // Returns the bytes of a redo log that may be written; tests may reduce them.
  [[nodiscard]] std::uint64_t used_log_bytes() const noexcept { return std::min(log_bytes_, most_log_bytes_); }
  [[nodiscard]] std::uint64_t map_offset() const noexcept { return pool_log_offset + log_bytes_; }
  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint32_t most_chunks() const noexcept { return most_chunks_; }
  // Returns the pool's own address, to which the pointers of its objects refer. During a move, or after an interrupted
  // one, some pointers refer to the target instead.
  [[nodiscard]] std::uint64_t home() const noexcept { return home_; }
  [[nodiscard]] std::uint64_t moving_to() const noexcept { return is_moving_ ? moving_to_ : home_; }
  // Returns whether the pool's pointers refer to other addresses than those at which it is mapped.
  [[nodiscard]] bool is_moved() const noexcept {
    return is_moving_ || reinterpret_cast<std::uintptr_t>(base()) != home_;
  }
  // Returns the access of this opener and others. Until leave_gate() no other process can open or close the pool.
  [[nodiscard]] pool_company company() const noexcept { return company_; }
  [[nodiscard]] const pool_openers& openers() const noexcept { return openers_; }
  // Returns whether no other opener shared the pool before; if so, this opener repairs what a crash has left.
  [[nodiscard]] bool is_first() const noexcept;
  void leave_gate() const noexcept { openers_.leave_gate(); }
  // Returns the shared area, or nullptr if the pool is not shared.
  [[nodiscard]] pool_area* area() const noexcept;
  [[nodiscard]] std::uint64_t patience_ns() const noexcept { return patience_ns_; }
  // Returns the end of the heap in the file.
  [[nodiscard]] std::uint64_t end() const noexcept { return heap_offset_ + std::uint64_t{chunks_} * chunk_bytes; }
  [[nodiscard]] int descriptor() const noexcept { return file_.number(); }
  [[nodiscard]] persistence& persist() noexcept { return persist_; }
  [[nodiscard]] const persistence& persist() const noexcept { return persist_; }

  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(base() + offset);
  }
  [[nodiscard]] std::uint64_t offset_of(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base());
  }

  // Lengthen the file behind the heap to an offset, or cut it at the heap's end. lengthen throws out_of_memory.
  void lengthen(std::uint64_t to);
  void cut() const noexcept;
  // Returns the length of the file. Throws bad_file if the system call fails.
  [[nodiscard]] std::uint64_t length() const;
  // Reads from the file, bypassing this process's private pages. Returns false if the file ends before. Throws bad_file
  // if reading fails.
  [[nodiscard]] bool read_bytes(std::uint64_t offset, std::byte* to, std::uint64_t bytes) const;

  // read_state reads the size of the heap from the file, and throws bad_file; set_chunks sets the size that another
  // opener has published.
  void read_state();
  void set_chunks(std::uint32_t chunks) noexcept { chunks_ = chunks; }
  // Called by the writer after validation: repairs an interrupted growth, and records the writer's process for messages
  // to refused openers.
  void settle();
  // Called by a writer before its first store: allocates disk space for all bytes that it may store to, since a copy of
  // a pool may have holes there. Throws out_of_memory. cost: a system call for each 64 extents of the file, if it has
  // no holes.
  void take_room() const;
  // As take_room, for the area alone. Returns false if the disk is full.
  [[nodiscard]] bool takes_room_for_area() const noexcept;
  // Allocates disk space for chunks that are about to be taken, if a compaction may have made holes of them. Throws
  // out_of_memory.
  void fill_holes(std::uint32_t first, std::uint32_t chunks) const;
  // Sets a function that grow() calls first; it throws if this opener may not change the file any more.
  void call_before_growth(std::function<void()> check) { before_growth_ = std::move(check); }
  // Grows the heap by at least `least` chunks, by `wanted` if there is room. Throws out_of_memory.
  void grow(std::uint32_t least, std::uint32_t wanted);
  // Writes the new size of the heap to the file.
  void write_state(std::uint32_t chunks);

  // --- moving to other addresses, by an opener that has the pool alone (move.cpp) ---

  [[nodiscard]] bool is_moving() const noexcept { return is_moving_; }
  void begin_move(std::uint64_t to);
  // Ends the move; call it when all reachable pointers refer to `to`, and are flushed.
  void end_move(std::uint64_t to);
  // Admits other openers after a move, as far as the requested access does.
  void share();

  // Populates the pages of free chunks, many at a time, if that is cheaper than a fault for each. The pages are zero
  // afterwards, or keep their contents.
  void make_pages(std::uint32_t first, std::uint32_t chunks) noexcept;

  // Makes the pages of a pool that is open for reading writable while it lives; stores go to private copies of the
  // pages.
  class private_writing {
   public:
    explicit private_writing(pool_file& of);
    ~private_writing();
    private_writing(const private_writing&) = delete;
    private_writing& operator=(const private_writing&) = delete;

   private:
    pool_file& of_;
  };

  // make_private makes only some pages writable, or read-only again; drop_private discards private copies of pages.
  struct page_range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  void make_private(const std::vector<page_range>& pages, bool may_be_written) const;
  void drop_private(const std::vector<page_range>& pages) const noexcept;

 private:
  pool_file(std::string path, os::descriptor file, bool is_writable, pool_access access, std::uint64_t patience_ns);
  [[nodiscard]] pool_company company_for(pool_access access, pool_promise promise) const noexcept;
  void pass_gate() const;
  void come_in(pool_company as);
  [[nodiscard]] std::string why_unshared() const;
  [[noreturn]] void refuse(pool_openers::refusal why) const;
  [[nodiscard]] pool_medium look_for_medium() const noexcept;
  void map_for_reader(const pool_header& header, std::uint64_t file_bytes);
  void map_area();
  void check_header(const pool_header& header, std::uint64_t file_bytes) const;
  void map_for_writer(std::uint64_t base, std::uint64_t bytes, const pool_overrides& overrides);
  // Maps the file at free addresses to which the pool's pointers do not refer, and returns the base.
  std::uint64_t map_anywhere(std::uint64_t bytes, const pool_overrides& overrides);
  void open_for_writer(const pool_header& header, const pool_opening& how, const pool_overrides& overrides);
  [[nodiscard]] pool_header read_header(std::uint64_t file_bytes);
  void take_mapping(os::mapping range, pool_medium medium);
  [[noreturn]] void refuse_mapping(std::uint64_t base, std::uint64_t bytes, int reason) const;
  void fill(const pool_header& header, const pool_options& options, const pool_overrides& overrides);
  [[nodiscard]] int get_room(std::uint32_t chunks) const noexcept;
  [[nodiscard]] int write_empty_log() const noexcept;

  std::string path_;
  os::descriptor file_;
  bool is_writable_;
  pool_access access_;
  std::uint64_t patience_ns_;
  int process_;
  pool_openers openers_;
  pool_company company_ = pool_company::alone;
  os::mapping area_;   // a writable mapping of the area, for a reader, whose mapping of the pool is read-only
  os::mapping range_;  // the pool
  std::uint64_t home_ = 0;
  std::uint64_t moving_to_ = 0;
  bool is_moving_ = false;
  std::uint64_t heap_offset_ = 0;
  std::uint64_t salt_ = 0;
  std::uint32_t chunks_ = 0;
  std::uint32_t most_chunks_ = 0;
  bool is_new_ = false;
  bool is_redo_ = false;
  bool has_checks_ = false;
  std::uint64_t log_bytes_ = pool_log_bytes;
  std::uint64_t most_log_bytes_ = most_pool_log_bytes;
  persistence persist_;
  std::function<void()> before_growth_;  // belongs to the current owner; not moved with the file
};

}  // namespace situ::detail
