// The backing file of the out-of-core executor, and transfers from and to it.
//
// The file has no name (O_TMPFILE, or unlinked at once), so nothing is left behind however the program ends. It is opened past the page
// cache (O_DIRECT) where the file system can; transfers go through one io_uring with many requests in flight. Offsets, sizes and
// addresses are multiples of a page. What was never written reads as zero.
// Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace situ::stencil {

class file_store {
 public:
  static constexpr std::size_t page_bytes = 4096;

  // Throws bad_file, with the directory.
  explicit file_store(const std::string& directory);
  ~file_store();
  file_store(const file_store&) = delete;
  file_store& operator=(const file_store&) = delete;

  // A range of the file. Space is taken from the disk when it is written.
  [[nodiscard]] std::size_t allocate(std::size_t bytes);

  enum class direction { read, write };
  // Starts a transfer; the memory must stay. A batch's transfers are waited for together; batches are numbered from 0.
  void start(direction to, std::byte* memory, std::size_t offset, std::size_t bytes, int batch);
  // Until all transfers of the batch are done. Throws bad_file with file offset and the system's reason, after all of them have ended.
  void wait(int batch);
  void wait_all();

  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_; }
  [[nodiscard]] bool is_direct() const noexcept { return is_direct_; }

  static constexpr int batches = 4;

 private:
  struct ring;
  struct request;
  void submit(request* r);
  void reap(bool block);

  std::unique_ptr<ring> ring_;
  std::string directory_;
  int file_ = -1;
  bool is_direct_ = true;
  std::size_t end_ = 0;
  int in_flight_ = 0;
  int waiting_for_[batches] = {};
  std::string failure_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace situ::stencil
