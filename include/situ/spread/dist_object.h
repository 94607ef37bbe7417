// dist_object<T>: one T at each place of a team, which the other places can reach.
//
//   situ::dist_object<std::vector<int>> mine{std::vector<int>{1, 2, 3}};        // each place makes its own
//   mine->push_back(4);                                                         // this place's
//   std::vector<int> theirs = mine.fetch(situ::place{1}).get();                 // a copy of another's
//   long n = mine.at(situ::place{1}, [](std::vector<int>& v) { return v.size(); });
//
// The members of the team construct it in the same order, as they call collectives, or under a name, in any order.
// Construction does not wait: a call that needs the part of a place that has not yet constructed it waits at that
// place. Each place destroys its own part independently; later calls to that part get bad_argument. T is never moved to
// another place; it must travel only if fetch() is used. The object belongs to the thread that made it. Errors: calls
// to another place throw what at() throws, including place_lost_error.
#pragma once

#include <situ/runtime/at.h>
#include <situ/spread/detail/registry.h>

#include <string_view>
#include <type_traits>
#include <utility>

namespace situ {

template <class T>
class dist_object;

// The identity of a dist_object, which travels: pass it to at() to find the part of the place that runs the function.
template <class T>
class dist_id {
 public:
  dist_id() noexcept = default;
  explicit dist_id(const detail::object_id& id) noexcept : id_{id} {}  // for Situ itself

  // Returns the calling place's part; waits until it has been constructed. Throws bad_argument if it has been
  // destroyed. cost: a look-up in a hash table.
  [[nodiscard]] dist_object<T>& here() const { return *static_cast<dist_object<T>*>(detail::find_object(id_)); }

  friend bool operator==(const dist_id&, const dist_id&) = default;

 private:
  detail::object_id id_;
};

namespace detail {

// The function that at() sends instead of f: it calls f with the destination's part of the object.
template <class T, class F>
struct call_on_part {
  template <class... Arguments>
    requires std::is_invocable_v<F, T&, Arguments...>
  decltype(auto) operator()(dist_id<T> id, Arguments&&... arguments) const {
    return F{}(*id.here(), std::forward<Arguments>(arguments)...);
  }
};

template <class T, class F, class... Arguments>
consteval void check_call_on_part() {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "situ: a function that runs on another place's part must not capture: pass what it needs as arguments");
  static_assert(std::is_invocable_v<F, T&, travelling_t<Arguments>...>,
                "situ: the function cannot be called with the object (as T&) and these arguments (they arrive by "
                "value: take them by value or const reference)");
}

}  // namespace detail

// One T at each place of a team: holds this place's part and reaches the others'.
template <class T>
class dist_object {
 public:
  // Constructs this place's part. The members of the team construct in the same order. cost: an entry in a hash table;
  // no message.
  explicit dist_object(T value, const team& members = world())
      : value_{std::move(value)}, id_{detail::next_object_id(members, detail::name_hash<T>())} {
    detail::register_object(id_, this);
  }
  // Constructs this place's part under a name, independent of the order in which members construct. Throws bad_argument
  // if this place already has an object of that name.
  dist_object(std::string_view name, T value, const team& members = world())
      : value_{std::move(value)}, id_{detail::named_object_id(members, name, detail::name_hash<T>())} {
    detail::register_object(id_, this);
  }
  ~dist_object() { detail::unregister_object(id_); }
  dist_object(const dist_object&) = delete;
  dist_object& operator=(const dist_object&) = delete;

  // This place's part.
  [[nodiscard]] T& operator*() noexcept { return value_; }
  [[nodiscard]] const T& operator*() const noexcept { return value_; }
  [[nodiscard]] T* operator->() noexcept { return &value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &value_; }

  // Returns the object's identity, which travels. cost: a copy of three words.
  [[nodiscard]] dist_id<T> id() const noexcept { return dist_id<T>{id_}; }

  // Returns a copy of a place's part. cost: async_at's; T is sent back.
  [[nodiscard]] future<T> fetch(place p) const {
    static_assert(travels<T>,
                  "situ: fetch() copies the object, and this type does not travel: use at() for what is "
                  "needed of it");
    return async_at(p, [](const T& part) { return part; });
  }

  // Runs f(part, args...) at a place, with that place's part, and waits for the result. Errors: at()'s. cost: at()'s.
  template <class F, class... Arguments>
  auto at(place p, F, const Arguments&... arguments) const {
    detail::check_call_on_part<T, F, const Arguments&...>();
    return situ::at(p, detail::call_on_part<T, F>{}, id(), arguments...);
  }
  // Starts at() without waiting. cost: async_at()'s.
  template <class F, class... Arguments>
  auto async_at(place p, F, Arguments&&... arguments) const {
    detail::check_call_on_part<T, F, Arguments...>();
    return situ::async_at(p, detail::call_on_part<T, F>{}, id(), std::forward<Arguments>(arguments)...);
  }

 private:
  T value_;
  detail::object_id id_;
};

}  // namespace situ
