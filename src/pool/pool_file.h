// The file of a pool: making, opening and growing it, and mapping it at its own addresses. Every check of what is in
// its header stands here; docs/formats/pool.md lists them.
#pragma once

#include "pool/format.h"
#include "pool/persistence.h"

#include <situ/base/error.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace situ::detail {

// Throws bad_file: "pool PATH, byte OFFSET: ...".
[[noreturn]] void throw_damaged(const std::string& path, std::uint64_t offset, std::string_view what);
// "pool PATH: ...".
[[noreturn]] void throw_refused(const std::string& path, std::string_view what);
// out_of_memory: so many bytes more, and errno's value.
[[noreturn]] void throw_no_room(const std::string& path, int descriptor, std::uint64_t bytes, int reason);

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
  static pool_file open(const std::string& path, pool_access access, const pool_overrides& overrides);
  ~pool_file();
  pool_file(pool_file&& other) noexcept;
  pool_file& operator=(pool_file&&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool may_write() const noexcept { return access_ == pool_access::write; }
  [[nodiscard]] const pool_header& header() const noexcept { return *at<const pool_header>(0); }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t heap_offset() const noexcept { return heap_offset_; }
  [[nodiscard]] std::uint64_t salt() const noexcept { return salt_; }
  // Whether its log is a redo log; then who writes has mapped it privately.
  [[nodiscard]] bool is_redo() const noexcept { return is_redo_; }
  [[nodiscard]] pool_promise promise() const noexcept { return static_cast<pool_promise>(header().promise); }
  // Of a redo log what may be written, for tests less than there is.
  [[nodiscard]] std::uint64_t used_log_bytes() const noexcept { return std::min(log_bytes_, most_log_bytes_); }
  [[nodiscard]] std::uint64_t map_offset() const noexcept { return pool_log_offset + log_bytes_; }
  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint32_t most_chunks() const noexcept { return most_chunks_; }
  // Whether it lies elsewhere than at its own addresses; for readers only.
  [[nodiscard]] bool is_moved() const noexcept { return reinterpret_cast<std::uintptr_t>(base_) != header().base; }
  // Where the heap ends, in the file.
  [[nodiscard]] std::uint64_t end() const noexcept { return heap_offset_ + std::uint64_t{chunks_} * chunk_bytes; }
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
  [[nodiscard]] std::uint64_t length() const noexcept;
  // Of the file, past this process's own pages. False where it ends before, or cannot be read.
  [[nodiscard]] bool read_bytes(std::uint64_t offset, std::byte* to, std::uint64_t bytes) const noexcept;

  // For who writes, once all is found sound: mends what a growth that was cut has left, and notes for whoever is
  // refused who it is.
  void settle();
  // At least `least` further chunks, `wanted` if there is room. Throws out_of_memory.
  void grow(std::uint32_t least, std::uint32_t wanted);

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

 private:
  pool_file(std::string path, int descriptor, pool_access access) noexcept;
  void lock();
  void check_header(const pool_header& header, std::uint64_t file_bytes) const;
  void map(std::uint64_t base, std::uint64_t bytes, const pool_overrides& overrides);
  void fill(const pool_header& header, const pool_options& options, const pool_overrides& overrides);
  void read_state(std::uint64_t file_bytes);
  [[nodiscard]] int get_room(std::uint32_t chunks) const noexcept;
  [[nodiscard]] int write_empty_log() const noexcept;
  void write_state(std::uint32_t chunks);

  std::string path_;
  int descriptor_;
  pool_access access_;
  std::byte* base_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t heap_offset_ = 0;
  std::uint64_t salt_ = 0;
  std::uint32_t chunks_ = 0;
  std::uint32_t most_chunks_ = 0;
  bool is_redo_ = false;
  std::uint64_t log_bytes_ = pool_log_bytes;
  std::uint64_t most_log_bytes_ = most_pool_log_bytes;
  persistence persist_;
};

}  // namespace situ::detail
