// Active messages: a message that runs a handler where it arrives. Three categories, as in GASNet (Bonachea, 2002):
//
//   short    up to 16 arguments of at most eight bytes
//   medium   also a payload of up to max_medium_bytes(), handed to the handler in a buffer of the runtime
//   long     also a payload of any size, written to an address in the target's segment before the handler runs
//
//   void on_pong(situ::am::reply_token&, int n);
//   void on_ping(situ::am::token& t, int n) { t.reply_short<on_pong>(n + 1); }
//   situ::am::request_short<on_ping>(place, 41);
//
// A request's handler may answer once; a reply's handler cannot answer (its token type has no function for it). A
// handler runs when its place makes progress (in any call that waits, or in situ::progress()), on the place's thread,
// one after another. A handler must not block, send requests or throw. Messages between two places arrive in the order
// in which they were sent; requests and replies are ordered separately. Delivery never waits for a third place.
// One-sided; not thread-safe (a place is one thread).
// cost: a short message of up to six arguments crosses to its target in one cache line; further arguments and payloads
// cross besides, copied once.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/fabric/detail/am_message.h>
#include <situ/memory/ptr.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::am {

// Returns the most arguments of a message, and the most bytes of a medium and of a long payload. They are constants
// here; callers ask through functions because other fabrics have other limits.
[[nodiscard]] constexpr std::uint32_t max_arguments() noexcept { return detail::max_arguments; }
[[nodiscard]] constexpr std::size_t max_medium_bytes() noexcept { return detail::max_medium_bytes; }
[[nodiscard]] constexpr std::size_t max_long_bytes() noexcept { return SIZE_MAX >> 1; }

// The types that an argument may have: trivially copyable, at most eight bytes.
template <class T>
concept argument = detail::fits_argument<T>;

class reply_token;

// A request as its handler sees it; the handler replies through it, at most once.
class token {
 public:
  explicit token(detail::message& message) noexcept : message_{message} {}
  token(const token&) = delete;
  token& operator=(const token&) = delete;

  // The place that sent the request.
  [[nodiscard]] place source() const noexcept { return place{message_.source}; }

  // Sends the answer, in the three forms of a request, with their errors. pre: this request has not been answered yet.
  template <auto Handler, class... Arguments>
  void reply_short(Arguments... arguments) {
    detail::check_handler<Handler, reply_token, detail::handler_form::short_form, Arguments...>();
    detail::send_short<Handler>(answer(), arguments...);
  }
  template <auto Handler, class... Arguments>
  void reply_medium(std::span<const std::byte> payload, Arguments... arguments) {
    detail::check_handler<Handler, reply_token, detail::handler_form::payload_form, Arguments...>();
    detail::send_medium<Handler>(answer(), payload, arguments...);
  }
  template <auto Handler, class... Arguments>
  void reply_long(ptr<void> destination, std::span<const std::byte> payload, Arguments... arguments) {
    detail::check_handler<Handler, reply_token, detail::handler_form::payload_form, Arguments...>();
    detail::send_long<Handler>(answer(), destination, payload, arguments...);
  }

 private:
  detail::outgoing& answer() {
    SITU_ASSERT(1, !message_.answered,
                "a request is answered at most once: gather the answer and reply at the end of the handler");
    message_.answered = true;
    return message_.self.replies_to(message_.source);
  }
  detail::message& message_;
};

// A reply as its handler sees it.
class reply_token {
 public:
  explicit reply_token(detail::message& message) noexcept : source_{message.source} {}
  // The place that answered.
  [[nodiscard]] place source() const noexcept { return place{source_}; }

 private:
  std::uint32_t source_;
};

// Sends a request. May wait for room, and takes in messages while it waits. Throws place_lost_error if the target is
// lost, bad_argument if there is no such place, no_runtime. pre: not inside a handler.
template <auto Handler, class... Arguments>
void request_short(place target, Arguments... arguments) {
  detail::check_handler<Handler, token, detail::handler_form::short_form, Arguments...>();
  detail::send_short<Handler>(detail::request_channel(target), arguments...);
}

// As request_short, with a copy of `payload`, which may be reused at once. Throws bad_argument if the payload is
// larger than max_medium_bytes().
template <auto Handler, class... Arguments>
void request_medium(place target, std::span<const std::byte> payload, Arguments... arguments) {
  detail::check_handler<Handler, token, detail::handler_form::payload_form, Arguments...>();
  detail::send_medium<Handler>(detail::request_channel(target), payload, arguments...);
}

// As request_short, with `payload` written to `destination` in the target's segment before the handler runs.
// Throws bad_address if the destination is not in that segment.
template <auto Handler, class... Arguments>
void request_long(place target, ptr<void> destination, std::span<const std::byte> payload, Arguments... arguments) {
  detail::check_handler<Handler, token, detail::handler_form::payload_form, Arguments...>();
  detail::send_long<Handler>(detail::request_channel(target), destination, payload, arguments...);
}

}  // namespace situ::am
