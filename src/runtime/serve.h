// The second thread of a place, on which serve_while() computes. The first such call makes it, and ~runtime ends it.
//
//   own thread:    turn 1 ---> wakes; runs the place's worker ......... sees done 1: goes on
//   second thread:             computes .......... done 1, wakes the place
#pragma once

#include <situ/memory/detail/place_context.h>
#include <situ/runtime/serve.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/float_settings.h"
#include "os/host.h"
#include "os/worker.h"

namespace situ::detail {

// Fills a context with those parts of a place's own that one-sided access needs, and with nothing else of the place.
void give_access(place_context& context, const place_context& own, const std::vector<std::uint64_t>& limits) noexcept;

// The context to which `current` points in code that may access memory, and do nothing else of a place.
struct access_context {
  place_context context;
  std::vector<std::uint64_t> limits;
  explicit access_context(const place_context& own);
  access_context(const access_context&) = delete;
  access_context& operator=(const access_context&) = delete;
};

class computing_thread {
 public:
  explicit computing_thread(const place_context& own);
  ~computing_thread();
  computing_thread(const computing_thread&) = delete;
  computing_thread& operator=(const computing_thread&) = delete;

  [[nodiscard]] bool is_busy() const noexcept { return !is_done(); }
  // Runs `what` on the second thread and returns when it has ended; the place works in that time. If the wait throws,
  // the function still waits for the end and then rethrows. pre: not busy; on the place's own thread.
  void run(computation& what);

 private:
  [[nodiscard]] bool is_done() const noexcept { return done_.load() == turn_.load(std::memory_order_relaxed); }
  void compute();

  access_context access_;
  std::atomic<std::uint32_t> turn_{0};  // raised for each computation
  std::atomic<std::uint32_t> done_{0};
  computation* next_ = nullptr;                        // null: the thread ends
  float_settings settings_ = float_settings::usual();  // those of the caller of run()
  os::worker thread_;                                  // last: it uses the rest
};

// Returns whether this place is to have a second thread.
[[nodiscard]] bool choose_progress(bool of_job, bool of_program);

}  // namespace situ::detail
