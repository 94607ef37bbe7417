// The carrier of the unnamed file's store (pages/file_store.h) by an io_uring: one ring carries all reads and writes,
// cut into pieces; pieces that do not fit into its queue wait here. If the system refuses a ring (a container's seccomp
// profile, kernel.io_uring_disabled, a kernel without it), the store's threads carry by plain calls.
#include <situ/stencil/backing_store.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <liburing.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/file_size.h"
#include "pages/file_store.h"

namespace situ::stencil {
namespace {

using situ::detail::file_carrier;
using situ::detail::store_file;

// 4 GiB in flight: no thread hands in requests while a tile runs, so the requests of a whole window must fit.
constexpr unsigned queue_depth = 4096;

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

class ring_carrier final : public file_carrier {
 public:
  explicit ring_carrier(const store_file& file) : file_{file} {}
  ~ring_carrier() override;
  ring_carrier(const ring_carrier&) = delete;
  ring_carrier& operator=(const ring_carrier&) = delete;

  // Returns errno's value if the system refuses a ring, else 0. pre of the other members: 0.
  [[nodiscard]] int refused() const noexcept { return refused_; }
  void start(const request& one) override;
  void wait(int queue) override;

 private:
  struct batch {
    int in_flight = 0;
    std::string failure;  // the first one
  };
  void prepare(const request& piece);
  void reap();

  const store_file& file_;
  io_uring ring_{};
  const int refused_ = make_ring(ring_);
  int in_flight_ = 0;
  batch batches_[backing_store::queues];
};

ring_carrier::~ring_carrier() {
  if (refused_ != 0) return;
  const situ::detail::file_size_signal_held held;
  while (in_flight_ > 0) reap();
  io_uring_queue_exit(&ring_);
}

void ring_carrier::start(const request& one) {
  const situ::detail::file_size_signal_held held;  // the kernel writes on behalf of this thread
  situ::detail::for_each_piece(one, situ::detail::carried_piece_bytes,
                               [this](const request& piece) { prepare(piece); });
  io_uring_submit(&ring_);
}

// The ring has as many entries as are ever in flight, so one is always free.
void ring_carrier::prepare(const request& piece) {
  auto r = std::make_unique<request>(piece);
  while (in_flight_ >= static_cast<int>(queue_depth)) {
    io_uring_submit(&ring_);
    reap();
  }
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  if (r->to == backing_store::direction::read) {
    io_uring_prep_read(entry, file_.number(), r->memory, static_cast<unsigned>(r->bytes), r->offset);
  } else {
    io_uring_prep_write(entry, file_.number(), r->memory, static_cast<unsigned>(r->bytes), r->offset);
  }
  ++batches_[r->queue].in_flight;
  ++in_flight_;
  io_uring_sqe_set_data(entry, r.release());
}

void ring_carrier::reap() {
  // What was prepared, and not submitted, would never come.
  if (io_uring_sq_ready(&ring_) != 0 && io_uring_submit(&ring_) < 0) return;  // the caller looks again
  io_uring_cqe* done = nullptr;
  if (io_uring_wait_cqe(&ring_, &done) < 0) return;  // interrupted: the caller looks again
  const std::unique_ptr<request> r{static_cast<request*>(io_uring_cqe_get_data(done))};
  const int result = done->res;
  io_uring_cqe_seen(&ring_, done);
  --in_flight_;
  batch& its = batches_[r->queue];
  --its.in_flight;
  if (result > 0 && static_cast<std::size_t>(result) < r->bytes) {  // a short transfer: the rest is submitted again
    const auto n = static_cast<std::size_t>(result);
    start({r->to, r->memory + n, r->offset + n, r->bytes - n, r->queue});
  } else if (result <= 0 && its.failure.empty()) {
    its.failure = file_.failure(*r, result < 0 ? -result : -1);
  }
}

void ring_carrier::wait(int queue) {
  const situ::detail::file_size_signal_held held;
  batch& its = batches_[queue];
  while (its.in_flight > 0) reap();
  if (!its.failure.empty()) throw_error(errc::bad_file, std::exchange(its.failure, {}));
}

std::unique_ptr<file_carrier> make_ring_carrier(const store_file& file, std::string& refusal) {
  auto carrier = std::make_unique<ring_carrier>(file);
  if (carrier->refused() == 0) return carrier;
  refusal = fmt::format("io_uring is refused ({})", std::strerror(carrier->refused()));
  return nullptr;
}

}  // namespace

std::shared_ptr<backing_store> make_file_store(std::string directory) {
  return situ::detail::make_unnamed_file_store({.directory = std::move(directory),
                                                .name_begin = "situ-stencil-",
                                                .remedy = "choose another with options::directory",
                                                .preferred = make_ring_carrier});
}

}  // namespace situ::stencil
