// The backing store in a file, with a name or without one. The store exists once; what differs are its file and its
// carrier.
//
//   start, wait --> file_carrier                                      --> store_file
//                   threads with pread and pwrite      (here)             a named file: its last page may be partial
//                   an io_uring (src/stencil/ring_carrier.cpp)            an unnamed file: whole pages
//
// The library that has a dependency brings its carrier: this module needs no liburing.
//
// As for a store, one thread at a time calls store and carrier. Threads of a carrier use the file concurrently.
#pragma once

#include <situ/pages/backing_store.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "os/descriptor.h"
#include "pages/store_threads.h"

namespace situ::detail {

// The file of a store. The carrier takes a reference.
class store_file {
 public:
  using request = store_threads::request;

  virtual ~store_file() = default;
  store_file(const store_file&) = delete;
  store_file& operator=(const store_file&) = delete;

  // These two as in backing_store.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual std::uint64_t allocate(std::uint64_t bytes) = 0;
  // Returns the message for a failed request. `reason`: errno's value; below 0: the file ended, or took nothing.
  [[nodiscard]] virtual std::string failure(const request& one, int reason) const = 0;

  // Transfers the bytes of a request by plain calls. Reads zeros beyond the file's end. Throws bad_file.
  void carry(const request& one) const;
  // Returns the descriptor for requests of whole pages, past the page cache if possible.
  [[nodiscard]] int number() const noexcept { return direct_ ? direct_.number() : file_.number(); }

 protected:
  // file: through the page cache. direct: past it. One of them may be none, unless the file's last page is partial.
  store_file(std::uint64_t bytes, os::descriptor file, os::descriptor direct)
      : bytes_{bytes}, file_{std::move(file)}, direct_{std::move(direct)} {}
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const os::descriptor& file() const noexcept { return file_; }
  [[nodiscard]] bool is_direct() const noexcept { return static_cast<bool>(direct_); }

 private:
  void move(int file, request one) const;

  std::uint64_t bytes_;
  os::descriptor file_;
  os::descriptor direct_;
};

// Carries requests between memory and a file. Its destructor waits until all of them have ended.
class file_carrier {
 public:
  using request = store_file::request;

  virtual ~file_carrier() = default;
  // These two as in backing_store.
  virtual void start(const request& one) = 0;
  virtual void wait(int queue) = 0;
};

// The size of the pieces in which requests on an unnamed file are carried: large enough for the device's full speed,
// small enough that all queues of the device have some.
inline constexpr std::size_t carried_piece_bytes = std::size_t{1} << 20;

// Calls `visit` with the pieces of a request, in order.
template <class Visit>
void for_each_piece(file_carrier::request rest, std::size_t piece_bytes, Visit visit) {
  while (rest.bytes != 0) {
    file_carrier::request piece = rest;
    piece.bytes = std::min(rest.bytes, piece_bytes);
    visit(std::as_const(piece));
    rest.memory += piece.bytes;
    rest.offset += piece.bytes;
    rest.bytes -= piece.bytes;
  }
}

// Makes a carrier for the file. Returns null if the system refuses what the carrier needs, with a clause that says so.
using make_carrier = std::unique_ptr<file_carrier> (*)(const store_file& file, std::string& refusal);

struct unnamed_file {
  std::string directory;             // "": TMPDIR or /tmp
  std::string name_begin;            // of the name that it has for a moment if the file system has no unnamed files
  std::string remedy;                // what to do if it cannot be made, for the message
  make_carrier preferred = nullptr;  // null, or refused: threads
};
// Makes a store from a file without a name, which disappears when the program ends in any way. Throws bad_file.
[[nodiscard]] std::shared_ptr<backing_store> make_unnamed_file_store(unnamed_file what);

}  // namespace situ::detail
