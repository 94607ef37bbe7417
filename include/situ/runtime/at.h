// at(p, f, args...): runs f at place p, next to the data, and returns its result. async_at does not wait.
//
//   long n = situ::at(p, [](const std::string& name) { return count(name); }, name);
//
// f is a function, a member, a lambda or a function object: its code travels by name, so every place runs the same
// executable (checked when a place joins). A lambda may capture plain data by value, a function object may have any
// state that travels, and bind_values gives a function values to carry; a captured reference or pointer is a compile
// error. Arguments and results travel by value (serialize.h). The body runs as a task of p: it may wait, call at again
// (also back to the caller) and start tasks; these count in the caller's finish scope. An exception that leaves the
// body arrives at the caller as remote_error, with its type's name, its message and the calls that it came through
// (place_lost_error as itself). Errors: besides that, place_lost_error, out_of_memory for arguments too large for a
// message, bad_argument if there is no such place, bad_message if p has not loaded the module of f, no_runtime. cost:
// two messages; arguments are copied once into the message, and once out of it. At the calling place f runs at once,
// on copies.
//
// If the body's parameter is a std::span<const T> or a std::string_view, and the argument a vector, string, array or
// span of such elements, the second copy is left out: the body reads the elements in the message, until it returns; it
// may wait. (A payload, payload.h, avoids the copy of short messages, too; a body with a payload may not wait.)
//
// Object graphs may also be arguments and results once <situ/graph.h> is included.
#pragma once

#include <situ/runtime/detail/call.h>
#include <situ/runtime/route.h>

#include <concepts>
#include <type_traits>
#include <utility>

namespace situ {

// Runs f at a place, waits for its end, and returns its result (the value of a future that f returns; a graph as
// owned<T>).
template <class F, class... Arguments>
auto at(route target, F f, const Arguments&... arguments) {
  return [&]<class... As>(detail::type_list<As...>) {
    return detail::at_decayed<F, As...>(target, std::move(f), detail::as_travelling<As>(arguments)...);
  }(detail::travelling_arguments_t<F, const Arguments&...>{});
}

// These overloads do not compile and say why: a place is neither its number nor its number in a team.
template <std::integral Index, class F, class... Arguments>
void at(Index, F, const Arguments&...) {
  static_assert(!std::is_integral_v<Index>,
                "situ: at() goes to a situ::place: say situ::place{i}, or, for a member of a team, team.member(i)");
}
template <std::integral Index, class F, class... Arguments>
void async_at(Index, F, Arguments&&...) {
  static_assert(
      !std::is_integral_v<Index>,
      "situ: async_at() goes to a situ::place: say situ::place{i}, or, for a member of a team, team.member(i)");
}

// As at, without waiting. A failure is stored in the future; if no handle of the future is left, the enclosing finish
// scope throws it. Values are copied or moved before the call returns. A pointer to a graph is lent: the graph must
// stay unchanged until the future is ready (if it travels by message, only until the call returns). An owned<T> is
// handed over by std::move, and the call keeps it until the future is ready.
template <class F, class... Arguments>
auto async_at(route target, F f, Arguments&&... arguments) {
  return [&]<class... As>(detail::type_list<As...>) {
    detail::check_call<F, As...>();
    return detail::async_at_decayed<F>(target, std::move(f),
                                       detail::as_travelling<As>(std::forward<Arguments>(arguments))...);
  }(detail::travelling_arguments_t<F, Arguments...>{});
}

}  // namespace situ
