// The file of a pool: making, opening and growing it, and mapping it at its own addresses. Every check of what is in
// its header stands here; docs/formats/pool.md lists them.
#pragma once

#include "pool/format.h"
#include "pool/persistence.h"

#include <situ/base/error.h>

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

  // For who writes, once all is found sound: mends what a growth that was cut has left, and notes for whoever is
  // refused who it is.
  void settle();
  // At least `least` further chunks, `wanted` if there is room. Throws out_of_memory.
  void grow(std::uint32_t least, std::uint32_t wanted);

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

 private:
  pool_file(std::string path, int descriptor, pool_access access) noexcept;
  void lock();
  void check_header(const pool_header& header, std::uint64_t file_bytes) const;
  void map(std::uint64_t base, std::uint64_t bytes, const pool_overrides& overrides);
  void fill(const pool_header& header, const pool_options& options, const pool_overrides& overrides);
  void read_state(std::uint64_t file_bytes);
  [[nodiscard]] int get_room(std::uint32_t chunks) const noexcept;
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
  persistence persist_;
};

}  // namespace situ::detail
