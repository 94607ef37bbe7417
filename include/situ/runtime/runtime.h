// The runtime: a program's part in its job.
//
//   int main(int argc, char** argv) {
//     situ::runtime rt{argc, argv};     // joins; alone the program is a job of one place
//     ...
//   }                                   // leaves, when all that this place has started is done and all other places
//                                       // leave, too
//
// Construction and destruction are collective. `situ run -n 4 prog` starts the places as processes; with --in-process
// as threads, each of which runs main. A place has one runtime at a time. Errors: bad_launch, version_mismatch (a
// place runs another executable), place_lost_error, bad_argument for an impossible SITU_STACK, SITU_PROGRESS or
// stack_bytes. If an exception leaves a runtime's scope, its place is lost: the other places are notified, and the
// place does not wait for them. cost: joining maps the job's memory and waits for all places, as leaving does; the
// other calls are loads.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/memory/place.h>

#include <cstdint>
#include <memory>
#include <ranges>

namespace situ {

// A program's requests for its place. The user who starts the job can override them.
struct runtime_options {
  // Size of each task's stack, in bytes; 0: 256 KiB. `situ run --stack`, launch_options::stack_bytes and SITU_STACK in
  // the environment (in this order) override it. A stack reserves addresses only: pages are taken as they are touched.
  // For single tasks see with_stack (task.h).
  std::uint64_t stack_bytes = 0;
  // If true, the place has a second thread, so that it serves others while it computes in serve_while() (serve.h).
  // `situ run --progress`, launch_options::progress and SITU_PROGRESS in the environment override it.
  bool progress = false;
};

// A program's membership in its job: the calling thread is a place as long as the object lives. The object belongs to
// the thread that made it.
class runtime {
 public:
  // Joins the job, and waits for the other places to join. Errors: see above.
  explicit runtime(const runtime_options& options = {});
  // As above. The arguments are the program's; Situ takes none of them. In-process mode gives copies to the main of
  // the other places.
  runtime(int argc, char** argv, const runtime_options& options = {});
  // Leaves: waits until everything that this place has started is done, and for the other places. A task's exception
  // that no code has taken is logged, and makes this place lost.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

 private:
  struct implementation;
  std::unique_ptr<implementation> self_;
};

// Returns the calling place. Throws no_runtime outside a runtime.
[[nodiscard]] place here();
// Returns the number of places of the job. Throws no_runtime outside a runtime.
[[nodiscard]] std::uint32_t place_count();
// Returns all places, in order: for (situ::place p : situ::places()). Throws no_runtime outside a runtime. It is a
// template, so that programs that do not call it do not compile its views.
template <class = void>
[[nodiscard]] auto places() {
  return std::views::iota(std::uint32_t{0}, place_count()) |
         std::views::transform([](std::uint32_t index) { return place{index}; });
}

}  // namespace situ
