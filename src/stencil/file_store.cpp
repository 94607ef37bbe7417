// The backing store in a file. One io_uring carries all reads and writes, cut into requests; requests that do not fit
// into its queue wait here. If the system refuses a ring (a container's seccomp profile, kernel.io_uring_disabled, a
// kernel without it), threads carry the requests by plain calls.
#include <situ/stencil/backing_store.h>

#include "base/file_size.h"
#include "pages/store_threads.h"
#include "os/descriptor.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <liburing.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace situ::stencil {
namespace {

// Large enough for the device's full speed, small enough that all queues of the device have some requests.
constexpr std::size_t request_bytes = std::size_t{1} << 20;
// 4 GiB in flight: no thread hands in requests while a tile runs, so the requests of a whole window must fit.
constexpr unsigned queue_depth = 4096;
// Used instead of the ring: enough threads that the device has the next request while one is handed back.
constexpr int carrying_threads = 4;

os::descriptor open_unnamed(const std::string& directory, int flags) {
  const int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return os::descriptor{file};
  std::string name = directory + "/situ-stencil-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | flags);
  if (named >= 0) unlink(name.c_str());
  return os::descriptor{named};
}

// Makes a ring. Returns 0, or the errno value that says why there is none. A ring that accepts no request counts as
// none.
int make_ring(io_uring& ring) noexcept {
  if (const int refused = io_uring_queue_init(queue_depth, &ring, 0); refused < 0) return -refused;
  io_uring_prep_nop(io_uring_get_sqe(&ring));
  io_uring_cqe* done = nullptr;
  int code = io_uring_submit_and_wait(&ring, 1);
  if (code >= 0) code = io_uring_peek_cqe(&ring, &done);
  if (code < 0) {
    io_uring_queue_exit(&ring);
    return -code;
  }
  io_uring_cqe_seen(&ring, done);
  return 0;
}

class file_store final : public backing_store {
 public:
  explicit file_store(std::string directory);
  ~file_store() override;

  [[nodiscard]] std::string description() const override {
    return fmt::format(
        "file in {}, {}{}", directory_,
        is_direct_ ? "past the page cache" : "through the page cache, since its file system has no direct I/O",
        no_ring_ == 0 ? "" : fmt::format("; by threads, since io_uring is refused ({})", std::strerror(no_ring_)));
  }
  [[nodiscard]] bool may_fail() const override { return true; }
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override;
  void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) override;
  void wait(int queue) override;

 private:
  struct request {
    direction to;
    std::byte* memory;
    std::uint64_t offset;
    std::size_t bytes;
    int queue;
  };
  struct batch {
    int in_flight = 0;
    std::string failure;  // the first one
  };
  void prepare(request* r);
  void reap();
  void carry(detail::store_threads::request r) const;
  [[nodiscard]] std::string failure(direction to, std::uint64_t offset, std::string_view why) const {
    return fmt::format("the backing file in '{}' cannot be {} at offset {}: {}", directory_,
                       to == direction::read ? "read" : "written", offset, why);
  }

  io_uring ring_{};
  std::string directory_;
  os::descriptor file_;
  bool is_direct_ = true;
  std::uint64_t end_ = 0;
  int in_flight_ = 0;
  batch batches_[queues];
  int no_ring_ = 0;                                 // errno's value: why there is no ring
  std::unique_ptr<detail::store_threads> threads_;  // if there is no ring
};

file_store::file_store(std::string directory) : directory_{std::move(directory)} {
  if (directory_.empty()) {
    const char* const temporary = std::getenv("TMPDIR");
    directory_ = temporary != nullptr ? temporary : "/tmp";
  }
  const detail::standard_streams_filled kept_off;
  file_ = open_unnamed(directory_, O_DIRECT);
  if (!file_ && errno == EINVAL) {  // on tmpfs, for example
    is_direct_ = false;
    file_ = open_unnamed(directory_, 0);
  }
  if (!file_)
    throw_error(errc::bad_file, fmt::format("no backing file in '{}': {}; choose another with options::directory",
                                            directory_, std::strerror(errno)));
  no_ring_ = make_ring(ring_);
  if (no_ring_ != 0)
    threads_ = std::make_unique<detail::store_threads>(carrying_threads,
                                                       [this](const detail::store_threads::request& r) { carry(r); });
}

void file_store::carry(detail::store_threads::request r) const {
  const int failed = detail::carry_whole(file_.number(), r);
  if (failed == 0) return;
  const char* const at_end = r.to == direction::read ? "unexpected end of file" : "nothing was written";
  throw_error(errc::bad_file, failure(r.to, r.offset, failed < 0 ? at_end : situ::detail::write_failure(failed)));
}

file_store::~file_store() {
  const situ::detail::file_size_signal_held held;
  while (in_flight_ > 0) reap();
  if (threads_ == nullptr) io_uring_queue_exit(&ring_);
  threads_.reset();  // carries requests in flight
}

std::uint64_t file_store::allocate(std::uint64_t bytes) {
  const auto end = end_ + (bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (situ::detail::set_file_size(file_.number(), end) != 0) {
    throw_error(errc::bad_file, fmt::format("the backing file in '{}' cannot grow to {} bytes: {}", directory_, end,
                                            situ::detail::write_failure(errno)));
  }
  return std::exchange(end_, end);
}

void file_store::start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) {
  const situ::detail::file_size_signal_held held;  // the kernel writes on behalf of this thread
  while (bytes > 0) {
    const auto n = std::min(bytes, request_bytes);
    if (threads_ != nullptr)
      threads_->start({to, memory, offset, n, queue});
    else
      prepare(new request{to, memory, offset, n, queue});
    memory += n;
    offset += n;
    bytes -= n;
  }
  if (threads_ == nullptr) io_uring_submit(&ring_);
}

// The ring has as many entries as are ever in flight, so one is always free.
void file_store::prepare(request* r) {
  while (in_flight_ >= static_cast<int>(queue_depth)) {
    io_uring_submit(&ring_);
    reap();
  }
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  if (r->to == direction::read) {
    io_uring_prep_read(entry, file_.number(), r->memory, static_cast<unsigned>(r->bytes), r->offset);
  } else {
    io_uring_prep_write(entry, file_.number(), r->memory, static_cast<unsigned>(r->bytes), r->offset);
  }
  io_uring_sqe_set_data(entry, r);
  ++batches_[r->queue].in_flight;
  ++in_flight_;
}

void file_store::reap() {
  io_uring_cqe* done = nullptr;
  if (io_uring_wait_cqe(&ring_, &done) < 0) return;  // interrupted: the caller looks again
  const std::unique_ptr<request> r{static_cast<request*>(io_uring_cqe_get_data(done))};
  const int result = done->res;
  io_uring_cqe_seen(&ring_, done);
  --in_flight_;
  auto& b = batches_[r->queue];
  --b.in_flight;
  if (result > 0 && static_cast<std::size_t>(result) < r->bytes) {  // a short transfer: the rest is submitted again
    const auto n = static_cast<std::size_t>(result);
    start(r->to, r->memory + n, r->offset + n, r->bytes - n, r->queue);
  } else if (result <= 0 && b.failure.empty()) {
    const std::string why = result < 0                 ? situ::detail::write_failure(-result)
                            : r->to == direction::read ? "unexpected end of file"
                                                       : "nothing was written";
    b.failure = failure(r->to, r->offset, why);
  }
}

void file_store::wait(int queue) {
  if (threads_ != nullptr) return threads_->wait(queue);
  const situ::detail::file_size_signal_held held;
  auto& b = batches_[queue];
  while (b.in_flight > 0) reap();
  if (!b.failure.empty()) throw_error(errc::bad_file, std::exchange(b.failure, {}));
}

}  // namespace

std::shared_ptr<backing_store> make_file_store(std::string directory) {
  return std::make_shared<file_store>(std::move(directory));
}

}  // namespace situ::stencil
