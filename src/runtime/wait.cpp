#include <situ/runtime/wait.h>

#include <situ/base/error_code.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

namespace situ::detail {

bool await_words(bool (*is_done)(void*), void* of, std::uint64_t lines, std::uintptr_t word, std::int64_t deadline_ns,
                 const std::source_location& where) {
  if (current->scheduler == nullptr) throw_no_runtime("a word is waited for");
  return current->scheduler->wait_until(
      [=] { return is_done(of); },
      {.deadline_ns = deadline_ns, .words = lines, .note = {.kind = wait_kind::word, .subject = word, .where = where}});
}

void throw_not_own_word(std::uintptr_t address) {
  throw_error(
      errc::bad_address,
      fmt::format("wait_until at place {} names {:#x}, a word of place {}: a place waits for words of its own "
                  "segment; let situ::at wait there, or have a word here set",
                  current->place, address, ptr<std::byte>{reinterpret_cast<std::byte*>(address)}.place().index()));
}

}  // namespace situ::detail
