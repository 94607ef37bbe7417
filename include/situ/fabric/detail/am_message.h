// The arguments of active messages in words, and the lookup of their handlers; am.h is built on it.
//
// A handler is named by its instantiation of run_handler, before main. The receiver checks an arriving message against
// the handler's own arguments, and runs the handler on its own thread.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/fabric/detail/function_id.h>
#include <situ/memory/place.h>
#include <situ/memory/ptr.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ::detail {

template <class T>
inline constexpr bool fits_argument = std::is_trivially_copyable_v<T> && sizeof(T) <= 8 && !std::is_reference_v<T>;

template <class T>
[[nodiscard]] std::uint64_t to_word(T value) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}

template <class T>
[[nodiscard]] T from_word(std::uint64_t word) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return (word & 0xff) != 0;  // a received byte may be neither 0 nor 1
  } else {
    T value;
    std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
    return value;
  }
}

enum class handler_form { short_form, payload_form };

template <class Function>
struct handler_traits;
template <class Token, class... Arguments>
struct handler_traits<void (*)(Token&, Arguments...)> {
  using token_type = Token;
  using arguments = std::tuple<Arguments...>;
  static constexpr handler_form form = handler_form::short_form;
};
template <class Token, class... Arguments>
struct handler_traits<void (*)(Token&, std::span<std::byte>, Arguments...)> {
  using token_type = Token;
  using arguments = std::tuple<Arguments...>;
  static constexpr handler_form form = handler_form::payload_form;
};
template <class Token, class... Arguments>
struct handler_traits<void (*)(Token&, Arguments...) noexcept> : handler_traits<void (*)(Token&, Arguments...)> {};
template <class Token, class... Arguments>
struct handler_traits<void (*)(Token&, std::span<std::byte>, Arguments...) noexcept>
    : handler_traits<void (*)(Token&, std::span<std::byte>, Arguments...)> {};

[[noreturn]] void handler_threw(const message& m) noexcept;
[[noreturn]] void throw_no_such_place(std::uint32_t index);
[[noreturn]] void throw_medium_too_large(std::size_t bytes);
[[noreturn]] void throw_wrong_arguments(const message& m, std::size_t expected);
// Copies a long message's payload to its destination. Throws bad_address unless the destination is in the target's
// segment.
void write_long_payload(std::uint32_t target, ptr<void> destination, std::span<const std::byte> payload);

[[nodiscard]] inline outgoing& request_channel(place target) {
  const place_context& context = *current;
  if (target.index() >= context.callable_places) [[unlikely]]
    throw_no_such_place(target.index());
  SITU_ASSERT(1, !context.endpoint->in_handler(),
              "a handler of an active message may only reply, and a call that takes a situ::payload send nothing: "
              "start an async task to send requests from");
  return context.endpoint->requests_to(target.index());
}

// The function that a channel calls: unpacks the arguments and runs the user's handler. Throws bad_message if the
// message has another number of arguments than the handler.
template <auto Handler>
void run_handler(message& m) {
  using traits = handler_traits<decltype(Handler)>;
  using arguments = typename traits::arguments;
  if (m.argument_count != std::tuple_size_v<arguments>) [[unlikely]]
    throw_wrong_arguments(m, std::tuple_size_v<arguments>);
  typename traits::token_type token{m};
  const endpoint::handler_scope scope{m.self};
  try {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      if constexpr (traits::form == handler_form::payload_form) {
        Handler(token, std::span<std::byte>{m.payload, m.payload_bytes},
                from_word<std::tuple_element_t<Index, arguments>>(m.argument(Index))...);
      } else {
        Handler(token, from_word<std::tuple_element_t<Index, arguments>>(m.argument(Index))...);
      }
    }(std::make_index_sequence<std::tuple_size_v<arguments>>{});
  } catch (...) {
    handler_threw(m);
  }
}

// Named once, before main, so that sending costs one load.
template <auto Handler>
inline const function_id handler_id =
    name_function(reinterpret_cast<const void*>(static_cast<message_handler>(&run_handler<Handler>)));

template <auto Handler, class Token, handler_form Form, class... Arguments>
consteval void check_handler() {
  using traits = handler_traits<decltype(Handler)>;
  static_assert(
      std::is_same_v<typename traits::token_type, Token>,
      "situ: the handler of a request takes a situ::am::token&, the handler of a reply a situ::am::reply_token&");
  static_assert(traits::form == Form,
                "situ: the handler of a medium or long message takes (token&, std::span<std::byte>, arguments...); of "
                "a short one (token&, arguments...)");
  static_assert(sizeof...(Arguments) <= max_arguments,
                "situ: an active message takes at most 16 arguments: send the rest as a medium payload");
  static_assert((fits_argument<Arguments> && ...),
                "situ: an argument of an active message is trivially copyable and at most 8 bytes: send larger values "
                "as a medium payload");
  static_assert(sizeof...(Arguments) == std::tuple_size_v<typename traits::arguments>,
                "situ: the handler takes another number of arguments than the message carries");
}

// Returns the arguments as the words of a message, each converted to the type that the handler declares, so that an
// int passed for a double is converted, not reinterpreted.
template <auto Handler, class... Given>
[[nodiscard]] auto words_for(Given... given) noexcept {
  using declared = typename handler_traits<decltype(Handler)>::arguments;
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<std::uint64_t, sizeof...(Given)>{
        to_word(static_cast<std::tuple_element_t<Index, declared>>(given))...};
  }(std::index_sequence_for<Given...>{});
}

template <auto Handler, class... Arguments>
void send_short(outgoing& out, Arguments... arguments) {
  const auto words = words_for<Handler>(arguments...);
  endpoint& self = *current->endpoint;
  if constexpr (sizeof...(Arguments) <= cell::word_count) {
    self.send_short(out, handler_id<Handler>, words.data(), sizeof...(Arguments));
  } else {
    draft message = self.begin(out, sizeof...(Arguments), 0);
    for (std::uint32_t i = 0; i < words.size(); ++i) message.set_argument(i, words[i]);
    self.send(message, message_kind::short_message, handler_id<Handler>, 0);
  }
}

template <auto Handler, class... Arguments>
void send_medium(outgoing& out, std::span<const std::byte> payload, Arguments... arguments) {
  if (payload.size() > max_medium_bytes) [[unlikely]]
    throw_medium_too_large(payload.size());
  const auto words = words_for<Handler>(arguments...);
  endpoint& self = *current->endpoint;
  draft message = self.begin(out, sizeof...(Arguments), static_cast<std::uint32_t>(payload.size()));
  for (std::uint32_t i = 0; i < words.size(); ++i) message.set_argument(i, words[i]);
  if (!payload.empty()) std::memcpy(message.payload, payload.data(), payload.size());
  self.send(message, message_kind::medium_message, handler_id<Handler>, static_cast<std::uint32_t>(payload.size()));
}

// Sets the payload of a long message: its address and size are in the last two words of the cell. Throws bad_message
// unless the range is open memory of this place.
void take_long_payload(message& m);

template <auto Handler>
void run_long_handler(message& m) {
  take_long_payload(m);
  run_handler<Handler>(m);
}
template <auto Handler>
inline const function_id long_handler_id =
    name_function(reinterpret_cast<const void*>(static_cast<message_handler>(&run_long_handler<Handler>)));

template <auto Handler, class... Arguments>
void send_long(outgoing& out, ptr<void> destination, std::span<const std::byte> payload, Arguments... arguments) {
  write_long_payload(out.target, destination, payload);
  const auto words = words_for<Handler>(arguments...);
  endpoint& self = *current->endpoint;
  draft message = self.begin(out, sizeof...(Arguments), 0, cell::word_count - 2);
  for (std::uint32_t i = 0; i < words.size(); ++i) message.set_argument(i, words[i]);
  message.head.words[cell::word_count - 2] = destination.address();
  message.head.words[cell::word_count - 1] = payload.size();
  self.send(message, message_kind::long_message, long_handler_id<Handler>, 0);
}

}  // namespace situ::detail
