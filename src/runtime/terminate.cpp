#include "runtime/terminate.h"

#include "memory/job.h"
#include "runtime/process.h"

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <cxxabi.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>

namespace situ::detail {
namespace {

// There is one std::terminate in a process, so its state is global, too: the handler that was set before, and a place
// to blame if the exception ends a thread that is no place.
std::atomic<std::terminate_handler> handler_before{nullptr};
std::atomic<place_context*> any_place{nullptr};

place_context* place_to_blame() noexcept { return current->job != nullptr ? current : any_place.load(); }

bool is_alone_in_process(const place_context& context) noexcept {
  const std::int32_t own = context.job->slot(context.place).pid.load();
  for (std::uint32_t other = 0; other < context.place_count; ++other)
    if (other != context.place && context.job->slot(other).pid.load() == own) return false;
  return true;
}

// Ends a place that dies because another is lost.
[[noreturn]] void leave_after(const place_context& context, const place_lost_error& error) noexcept {
  log(log_level::error, fmt::format("place {} ends: {}", context.place, error.what()));
  std::fflush(nullptr);
  ::_exit(EXIT_FAILURE);
}

[[noreturn]] void write_reason_and_terminate() {
  let_only_first_end_process();
  place_context* const context = place_to_blame();
  const std::exception_ptr exception = std::current_exception();
  const std::string reason =
      exception ? "uncaught exception: " + describe(exception) : std::string{"std::terminate was called"};
  if (context != nullptr) {
    mark_lost(*context->job, context->place, reason);
    try {
      if (exception) std::rethrow_exception(exception);
    } catch (const place_lost_error& error) {
      if (is_alone_in_process(*context)) leave_after(*context, error);
    } catch (...) {  // told below
    }
  }
  // The C++ library's own handler prints in pieces, between which other places print. A program's handler is its own.
  const std::terminate_handler before = handler_before.load();
  const bool is_librarys = before == nullptr || before == &__gnu_cxx::__verbose_terminate_handler;
  static constinit std::atomic<bool> is_told{false};  // a log's sink may end here, too
  if (context != nullptr && is_librarys && !is_told.exchange(true))
    log(log_level::error, fmt::format("place {} ends: {}", context->place, reason));
  else if (before != nullptr)
    before();
  std::abort();
}

}  // namespace

std::string describe(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return fmt::format("{}: {}", demangle(typeid(error).name()), error.what());
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return type != nullptr ? demangle(type->name()) : std::string{"an exception of another language"};
  }
}

void install_terminate_reason(place_context& context) noexcept {
  any_place.store(&context);
  const std::terminate_handler before = std::set_terminate(&write_reason_and_terminate);
  if (before != &write_reason_and_terminate) handler_before.store(before);
}

// The handler stays: other places of this process may need it, and without a place it only calls the previous one.
void remove_terminate_reason(place_context& context) noexcept {
  place_context* mine = &context;
  any_place.compare_exchange_strong(mine, nullptr);
}

void leave_by_exception(place_context& context, std::string_view what) noexcept {
  if (what.empty())
    mark_lost(*context.job, context.place, "left its runtime by an exception");
  else
    mark_lost(*context.job, context.place, fmt::format("left its runtime by an exception: {}", what));
}

}  // namespace situ::detail
