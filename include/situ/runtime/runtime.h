// The runtime: a program's part in its job.
//
//   int main(int argc, char** argv) {
//     situ::runtime rt{argc, argv};     // joins; alone the program is a job of one place
//     ...
//   }                                   // leaves, after everything that this place has started is done, and all others
//                                       are here
//
// Construction and destruction are collective. `situ run -n 4 prog` starts the places as processes; with --in-process
// as threads, each of which runs main. One runtime a place at a time. Errors: bad_launch, version_mismatch (a place
// runs another executable), place_lost_error, bad_argument for a SITU_STACK, SITU_PROGRESS or stack_bytes that cannot
// be. A runtime left by an exception makes its place lost: the others learn it, and are not waited for. cost: joining
// maps the job's memory and waits for all places, as leaving does; the rest are loads.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/memory/place.h>

#include <cstdint>
#include <memory>
#include <ranges>

namespace situ {

// What a program asks for its place. Whoever starts the job may say otherwise.
struct runtime_options {
  // Of each task's stack; 0: 256 KiB. `situ run --stack`, launch_options::stack_bytes and SITU_STACK in the environment
  // (in this order) come before it. Addresses only: pages are taken as they are touched. For single tasks see
  // with_stack (task.h).
  std::uint64_t stack_bytes = 0;
  // A second thread, so that the place is served while it computes in serve_while() (serve.h). `situ run --progress`,
  // launch_options::progress and SITU_PROGRESS in the environment come before it.
  bool progress = false;
};

// A program's membership in its job: from here to the end of its scope this is a place. Belongs to the thread that made
// it.
class runtime {
 public:
  // Joins the job, and waits for the other places to join. Errors: see above.
  explicit runtime(const runtime_options& options = {});
  // The same. The arguments are the program's; Situ takes none of them. In-process mode hands copies to the other
  // places' main.
  runtime(int argc, char** argv, const runtime_options& options = {});
  // Leaves: waits until all that this place has started is done, and for the other places. What was thrown and nobody
  // took is logged, and makes this place lost.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

 private:
  struct implementation;
  std::unique_ptr<implementation> self_;
};

// The calling place. Throws no_runtime outside a runtime.
[[nodiscard]] place here();
// How many places the job has. Throws no_runtime outside a runtime.
[[nodiscard]] std::uint32_t place_count();
// All places, in order: for (situ::place p : situ::places()). Throws no_runtime outside a runtime. A template, so that
// programs that do not call it do not compile its views.
template <class = void>
[[nodiscard]] auto places() {
  return std::views::iota(std::uint32_t{0}, place_count()) |
         std::views::transform([](std::uint32_t index) { return place{index}; });
}

}  // namespace situ
