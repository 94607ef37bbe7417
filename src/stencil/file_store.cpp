#include "stencil/file_store.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <liburing.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace situ::stencil {
namespace {

// Large enough for the device's full speed, small enough that several are in flight for one slot.
constexpr std::size_t request_bytes = std::size_t{1} << 20;
constexpr unsigned queue_depth = 64;

int open_unnamed(const std::string& directory, int flags) {
  const int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
  std::string name = directory + "/situ-stencil-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | flags);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

struct file_store::ring {
  io_uring queue{};
};

struct file_store::request {
  direction to;
  std::byte* memory;
  std::size_t offset;
  std::size_t bytes;
  int batch;
};

file_store::file_store(const std::string& directory) : ring_{std::make_unique<ring>()}, directory_{directory} {
  if (directory_.empty()) {
    const char* const temporary = std::getenv("TMPDIR");
    directory_ = temporary != nullptr ? temporary : "/tmp";
  }
  file_ = open_unnamed(directory_, O_DIRECT);
  if (file_ < 0 && errno == EINVAL) {  // tmpfs, for one
    is_direct_ = false;
    file_ = open_unnamed(directory_, 0);
  }
  if (file_ < 0) throw_error(errc::bad_file, fmt::format("no backing file in '{}': {}; choose another with options::directory", directory_, std::strerror(errno)));
  if (const int code = io_uring_queue_init(queue_depth, &ring_->queue, 0); code < 0) {
    close(file_);
    throw_error(errc::not_supported, fmt::format("io_uring is not to be had here: {}; out-of-core execution needs it", std::strerror(-code)));
  }
}

file_store::~file_store() {
  while (in_flight_ > 0) reap(true);  // the kernel must not write into memory that is gone
  io_uring_queue_exit(&ring_->queue);
  close(file_);
}

std::size_t file_store::allocate(std::size_t bytes) {
  const auto at = end_;
  end_ += (bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (ftruncate(file_, static_cast<off_t>(end_)) != 0) {
    throw_error(errc::bad_file, fmt::format("the backing file in '{}' cannot grow to {} bytes: {}", directory_, end_, std::strerror(errno)));
  }
  return at;
}

void file_store::start(direction to, std::byte* memory, std::size_t offset, std::size_t bytes, int batch) {
  (to == direction::read ? bytes_read_ : bytes_written_) += bytes;
  while (bytes > 0) {
    const auto n = std::min(bytes, request_bytes);
    ++waiting_for_[batch];
    submit(new request{to, memory, offset, n, batch});
    memory += n;
    offset += n;
    bytes -= n;
  }
}

// The queue has as many entries as are ever in flight, so there is always one free.
void file_store::submit(request* r) {
  while (in_flight_ >= static_cast<int>(queue_depth)) reap(true);
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_->queue);
  if (r->to == direction::read) {
    io_uring_prep_read(entry, file_, r->memory, static_cast<unsigned>(r->bytes), r->offset);
  } else {
    io_uring_prep_write(entry, file_, r->memory, static_cast<unsigned>(r->bytes), r->offset);
  }
  io_uring_sqe_set_data(entry, r);
  ++in_flight_;
  io_uring_submit(&ring_->queue);
}

void file_store::reap(bool block) {
  io_uring_cqe* done = nullptr;
  const int code = block ? io_uring_wait_cqe(&ring_->queue, &done) : io_uring_peek_cqe(&ring_->queue, &done);
  if (code < 0 || done == nullptr) return;  // interrupted: the caller looks again
  const std::unique_ptr<request> r{static_cast<request*>(io_uring_cqe_get_data(done))};
  const int result = done->res;
  io_uring_cqe_seen(&ring_->queue, done);
  --in_flight_;
  --waiting_for_[r->batch];
  if (result > 0 && static_cast<std::size_t>(result) < r->bytes) {  // short: the rest again
    const auto n = static_cast<std::size_t>(result);
    ++waiting_for_[r->batch];
    submit(new request{r->to, r->memory + n, r->offset + n, r->bytes - n, r->batch});
  } else if (result <= 0 && failure_.empty()) {
    const char* const what = r->to == direction::read ? "read" : "written";
    const char* const why = result < 0 ? std::strerror(-result) : r->to == direction::read ? "unexpected end of file" : "nothing was written";
    failure_ = fmt::format("the backing file in '{}' cannot be {} at offset {}: {}", directory_, what, r->offset, why);
  }
}

void file_store::wait(int batch) {
  while (waiting_for_[batch] > 0) reap(true);
  if (failure_.empty()) return;
  wait_all();
}

void file_store::wait_all() {
  while (in_flight_ > 0) reap(true);
  if (failure_.empty()) return;
  throw_error(errc::bad_file, std::exchange(failure_, {}));
}

}  // namespace situ::stencil
