#include "task/shared_workers.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "os/host.h"
#include "os/thread_stacks.h"
#include "os/worker.h"

namespace situ::detail {

// The settings that a new thread inherits: its processors, and its memory policy. A thread that was made for another
// graph takes them over, so that it behaves like a new one. Settings that the kernel does not report are left
// unchanged.
struct inherited_settings {
  std::array<std::uint64_t, 128> processors{};  // 8192, the most that Linux is built for on x86-64
  std::array<std::uint64_t, 17> nodes{};        // 1024, and the kernel leaves out the last bit
  int policy = 0;
  bool has_processors, has_policy;

  inherited_settings() noexcept
      : has_processors{::syscall(SYS_sched_getaffinity, 0, sizeof processors, processors.data()) > 0},
        has_policy{::syscall(SYS_get_mempolicy, &policy, nodes.data(), node_bits, nullptr, 0) == 0} {}
  void take_over() const noexcept {
    if (has_processors) (void)::syscall(SYS_sched_setaffinity, 0, sizeof processors, processors.data());
    if (has_policy) (void)::syscall(SYS_set_mempolicy, policy, nodes.data(), node_bits);
  }
  void keep_processors(const machine::processor_set& on) noexcept {
    for (std::uint32_t i = 0; i < 64 * processors.size(); ++i)
      if (!on.contains(i)) processors[i / 64] &= ~(std::uint64_t{1} << i % 64);
  }
  friend bool operator==(const inherited_settings&, const inherited_settings&) = default;

 private:
  static constexpr unsigned long node_bits = 1025;
};

// A thread and its work. `turn` is even while the thread waits, odd while it runs a body.
struct shared_worker_state {
  static constexpr std::uint64_t looks_ns = 50'000;
  std::atomic<std::uint32_t> turn{0};
  inherited_settings has;     // settings of this thread
  inherited_settings wanted;  // settings of the thread that gave the body
  bool is_ending = false;
  std::function<void()> body;
  os::worker thread;

  // A program that makes one short graph after another needs a thread again within microseconds, and a sleeper takes
  // some fifty to wake up on a virtual machine. So the thread polls for about as long before it sleeps, and yields in
  // between.
  void await(std::uint32_t past) noexcept {
    const auto is_past = [this, past] { return turn.load(std::memory_order_acquire) == past; };
    for (const std::uint64_t until = steady_ns() + looks_ns; is_past() && steady_ns() < until;) give_way();
    while (is_past()) wait_on_word(turn, past, -1);
  }
  void advance() noexcept {
    turn.fetch_add(1, std::memory_order_release);
    wake_on_word(turn, 1);
  }
  void run() {
    const watched_stack watched{"a thread of a task graph"};
    for (std::uint32_t at = 0;; at += 2) {
      await(at);
      if (is_ending) return;
      if (wanted != has) wanted.take_over();
      has = wanted;
      body();
      body = nullptr;
      advance();
    }
  }
  void end() {
    is_ending = true;
    advance();
    thread.join();
  }
};

namespace {

class waiting_threads {
 public:
  waiting_threads() {
    ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                     [] {
                       all().forget();
                       all().mutex_.unlock();
                     });
  }
  ~waiting_threads() {
    for (const auto& each : waiting_) each->end();
  }
  waiting_threads(const waiting_threads&) = delete;
  waiting_threads& operator=(const waiting_threads&) = delete;

  static waiting_threads& all() {
    static waiting_threads of_process;
    return of_process;
  }

  std::unique_ptr<shared_worker_state> take() {
    const std::scoped_lock lock{mutex_};
    if (waiting_.empty()) return nullptr;
    auto taken = std::move(waiting_.back());
    waiting_.pop_back();
    return taken;
  }
  // Keeps a thread if there is room; `one` is null then.
  void keep(std::unique_ptr<shared_worker_state>& one) {
    const std::scoped_lock lock{mutex_};
    if (waiting_.size() < most_) waiting_.push_back(std::move(one));
  }

 private:
  // Called in a forked child: the threads do not exist there, and the child must not wait for them.
  void forget() noexcept {
    for (auto& each : waiting_) (void)each.release();
    waiting_.clear();
  }

  const std::size_t most_ = allowed_processors();
  std::mutex mutex_;
  std::vector<std::unique_ptr<shared_worker_state>> waiting_;
};

}  // namespace

shared_worker::shared_worker(std::function<void()> body, const machine::processor_set* on)
    : state_{waiting_threads::all().take()} {
  if (state_ == nullptr) {
    state_ = std::make_unique<shared_worker_state>();
    const program_stacks for_units;
    state_->thread = os::worker{[state = state_.get()] { state->run(); }};
  } else {
    state_->wanted = inherited_settings{};
  }
  if (on != nullptr) state_->wanted.keep_processors(*on);
  state_->body = std::move(body);
  state_->advance();
}

shared_worker::shared_worker(shared_worker&&) noexcept = default;

shared_worker::~shared_worker() {
  if (state_ == nullptr) return;
  // The turn is odd while the body runs.
  for (std::uint32_t turn = state_->turn.load(std::memory_order_acquire); turn % 2 != 0;
       turn = state_->turn.load(std::memory_order_acquire))
    state_->await(turn);
  waiting_threads::all().keep(state_);
  if (state_ != nullptr) state_->end();
}

}  // namespace situ::detail
