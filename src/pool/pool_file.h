// The file of a pool: making, opening and growing it, and mapping it at its own addresses. Every check of what is in
// its header stands in pool_header.cpp; docs/formats/pool.md lists them.
#pragma once

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

// Throws bad_file: "pool PATH, byte OFFSET: ...".
[[noreturn]] void throw_damaged(const std::string& path, std::uint64_t offset, std::string_view what);
// "pool PATH: ...".
[[noreturn]] void throw_refused(const std::string& path, std::string_view what);
// out_of_memory: so many bytes more, and errno's value.
[[noreturn]] void throw_no_room(const std::string& path, int descriptor, std::uint64_t bytes, int reason);
// How long this process may make files (RLIMIT_FSIZE): beyond it the kernel sends SIGXFSZ.
[[nodiscard]] std::uint64_t longest_file() noexcept;
// out_of_memory: a file of so many bytes is longer than that.
[[noreturn]] void throw_too_long(const std::string& path, std::uint64_t bytes);
// Throws bad_file where the system has no random bytes.
void set_random(void* to, std::size_t bytes);

// Throws bad_file where it has some that this build does not know.
void check_pool_features(const pool_header& header, const std::string& path);

// For tests: what is taken for granted instead of looked for.
struct pool_overrides {
  persistence_recorder* recorder = nullptr;
  std::optional<pool_medium> medium;
  std::uint64_t most_log_bytes = most_pool_log_bytes;  // of a redo log, what is used of it
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
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
  [[nodiscard]] std::uint64_t heap_offset() const noexcept { return heap_offset_; }
  [[nodiscard]] std::uint64_t salt() const noexcept { return salt_; }
  // Whether it was made just now.
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }
  // Whether its log is a redo log; then who writes has mapped it privately.
  [[nodiscard]] bool is_redo() const noexcept { return is_redo_; }
  // Whether each object has a check (object_checks.h).
  [[nodiscard]] bool has_checks() const noexcept { return has_checks_; }
  [[nodiscard]] pool_promise promise() const noexcept { return static_cast<pool_promise>(header().promise); }
  // Of a redo log what may be written, for tests less than there is.
  [[nodiscard]] std::uint64_t used_log_bytes() const noexcept { return std::min(log_bytes_, most_log_bytes_); }
  [[nodiscard]] std::uint64_t map_offset() const noexcept { return pool_log_offset + log_bytes_; }
  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint32_t most_chunks() const noexcept { return most_chunks_; }
  // Its own address, where the pointers of its objects lead to; while it is being moved, or where that was cut, some
  // lead to where it is moved to.
  [[nodiscard]] std::uint64_t home() const noexcept { return home_; }
  [[nodiscard]] std::uint64_t moving_to() const noexcept { return is_moving_ ? moving_to_ : home_; }
  // Whether its pointers lead elsewhere than to where it lies.
  [[nodiscard]] bool is_moved() const noexcept {
    return is_moving_ || reinterpret_cast<std::uintptr_t>(base_) != home_;
  }
  // In which company it is open. Until leave_gate() nobody else can open or close it.
  [[nodiscard]] pool_company company() const noexcept { return company_; }
  [[nodiscard]] const pool_openers& openers() const noexcept { return openers_; }
  // Whether nobody shared it before: then what a crash has left is this opener's to mend.
  [[nodiscard]] bool is_first() const noexcept;
  void leave_gate() const noexcept { openers_.leave_gate(); }
  // Where those meet who share it; nullptr where nobody does.
  [[nodiscard]] pool_area* area() const noexcept;
  [[nodiscard]] std::uint64_t patience_ns() const noexcept { return patience_ns_; }
  // Where the heap ends, in the file.
  [[nodiscard]] std::uint64_t end() const noexcept { return heap_offset_ + std::uint64_t{chunks_} * chunk_bytes; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] persistence& persist() noexcept { return persist_; }
  [[nodiscard]] const persistence& persist() const noexcept { return persist_; }

  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(base_ + offset);
  }
  [[nodiscard]] std::uint64_t offset_of(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_);
  }

  // What lies behind the heap: room up to an offset in the file, or nothing. lengthen throws out_of_memory.
  void lengthen(std::uint64_t to);
  void cut() const noexcept;
  // Throws bad_file where it cannot be seen.
  [[nodiscard]] std::uint64_t length() const;
  // Of the file, past this process's own pages. False where it ends before. Throws bad_file where it cannot be read.
  [[nodiscard]] bool read_bytes(std::uint64_t offset, std::byte* to, std::uint64_t bytes) const;

  // How long the heap is, as the file has it; throws bad_file. As another opener has said.
  void read_state();
  void set_chunks(std::uint32_t chunks) noexcept { chunks_ = chunks; }
  // For who writes, once all is found sound: mends what a growth that was cut has left, and notes for whoever is
  // refused who it is.
  void settle();
  // For a writer, before it stores anything: gives room on the disk to what it may store to, where a copy of the pool
  // has holes. Throws out_of_memory. cost: a system call for each 64 extents of the file, where it has no holes.
  void take_room() const;
  // The same for the area alone: false where its disk is full.
  [[nodiscard]] bool takes_room_for_area() const noexcept;
  // Chunks that are about to be taken: where a compaction may have made holes of them, they get room on the disk again.
  // Throws out_of_memory.
  void fill_holes(std::uint32_t first, std::uint32_t chunks) const;
  // What grow() calls first: it throws where this opener may not change the file any more.
  void call_before_growth(std::function<void()> check) { before_growth_ = std::move(check); }
  // At least `least` further chunks, `wanted` if there is room. Throws out_of_memory.
  void grow(std::uint32_t least, std::uint32_t wanted);
  // So long is the heap from now on.
  void write_state(std::uint32_t chunks);

  // --- to other addresses, for who has it alone (move.cpp) ---

  [[nodiscard]] bool is_moving() const noexcept { return is_moving_; }
  void begin_move(std::uint64_t to);
  // All pointers that are reached lead to `to`, and are flushed.
  void end_move(std::uint64_t to);
  // From being alone to what was asked for.
  void share();

  // Makes the pages of chunks that nobody has, many at a time, where that is cheaper than a fault for each. They hold
  // zeroes afterwards, or what they held.
  void make_pages(std::uint32_t first, std::uint32_t chunks) noexcept;

  // While it lives, a pool that is open for reading may be written: the pages become this process's own.
  class private_writing {
   public:
    explicit private_writing(pool_file& of);
    ~private_writing();
    private_writing(const private_writing&) = delete;
    private_writing& operator=(const private_writing&) = delete;

   private:
    pool_file& of_;
  };

  // The same for some pages alone, from an offset to another; and back to what the file has there.
  struct page_range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  void make_private(const std::vector<page_range>& pages, bool may_be_written) const;
  void drop_private(const std::vector<page_range>& pages) const noexcept;

 private:
  pool_file(std::string path, int descriptor, bool is_writable, pool_access access, std::uint64_t patience_ns);
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
  // Where nothing is, and the pool's pointers do not lead to.
  std::uint64_t map_anywhere(std::uint64_t bytes, const pool_overrides& overrides);
  void open_for_writer(const pool_header& header, const pool_opening& how, const pool_overrides& overrides);
  [[nodiscard]] pool_header read_header(std::uint64_t file_bytes);
  void take_mapping(void* at, std::uint64_t bytes, pool_medium medium);
  [[noreturn]] void refuse_mapping(std::uint64_t base, std::uint64_t bytes, const void* got, int reason) const;
  void fill(const pool_header& header, const pool_options& options, const pool_overrides& overrides);
  [[nodiscard]] int get_room(std::uint32_t chunks) const noexcept;
  [[nodiscard]] int write_empty_log() const noexcept;

  std::string path_;
  int descriptor_;
  bool is_writable_;
  pool_access access_;
  std::uint64_t patience_ns_;
  int process_;
  pool_openers openers_;
  pool_company company_ = pool_company::alone;
  std::byte* base_ = nullptr;
  void* area_ = nullptr;  // a mapping of its own, for who cannot write the pool's
  std::uint64_t mapped_bytes_ = 0;
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
  std::function<void()> before_growth_;  // of who has it now: does not move along
};

}  // namespace situ::detail
