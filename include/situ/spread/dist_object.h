// dist_object<T>: one T at each place of a team, found from the others.
//
//   situ::dist_object<std::vector<int>> mine{std::vector<int>{1, 2, 3}};        // each place makes its own
//   mine->push_back(4);                                                         // this place's
//   std::vector<int> theirs = mine.fetch(situ::place{1}).get();                 // a copy of another's
//   long n = mine.at(situ::place{1}, [](std::vector<int>& v) { return v.size(); });
//
// The members of the team construct it in the same order, as they call collectives, or under a name, in any order.
// Construction does not wait: who asks for the part of a place that has not made its own yet waits there. It ends for
// each place by itself; who asks after that gets bad_argument. T stays where it is, and need travel for fetch only.
// Belongs to the thread that made it. Errors of what goes to another place: those of at(), place_lost_error among them.
#pragma once

#include <situ/runtime/at.h>
#include <situ/spread/detail/registry.h>

#include <string_view>
#include <type_traits>
#include <utility>

namespace situ {

template <class T>
class dist_object;

// The name of a dist_object, which travels: an argument of at() that finds the part of the place where it arrives.
template <class T>
class dist_id {
 public:
  dist_id() noexcept = default;
  explicit dist_id(const detail::object_id& id) noexcept : id_{id} {}  // for Situ itself

  // The calling place's part; waits until it is made. Throws bad_argument where it has ended. cost: a look into a hash
  // table.
  [[nodiscard]] dist_object<T>& here() const { return *static_cast<dist_object<T>*>(detail::find_object(id_)); }

  friend bool operator==(const dist_id&, const dist_id&) = default;

 private:
  detail::object_id id_;
};

namespace detail {

// What travels in place of f: f, on the object that the identity names where it arrives.
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

// One T at each place of a team: this place's part, and the way to the others'.
template <class T>
class dist_object {
 public:
  // This place's part. The members of the team construct in the same order. cost: an entry in a hash table; no message.
  explicit dist_object(T value, const team& members = world())
      : value_{std::move(value)}, id_{detail::next_object_id(members, detail::name_hash<T>())} {
    detail::register_object(id_, this);
  }
  // The same under a name, whatever else the members construct. Throws bad_argument where this place has an object of
  // that name.
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

  // Its identity, which travels. cost: a copy of three words.
  [[nodiscard]] dist_id<T> id() const noexcept { return dist_id<T>{id_}; }

  // A copy of the part at a place. cost: async_at's; T travels back.
  [[nodiscard]] future<T> fetch(place p) const {
    static_assert(travels<T>,
                  "situ: fetch() copies the object, and this type does not travel: use at() for what is "
                  "needed of it");
    return async_at(p, [](const T& part) { return part; });
  }

  // Runs f(part, args...) at a place, on its part, and waits for the result. Errors: at()'s. cost: at()'s.
  template <class F, class... Arguments>
  auto at(place p, F, const Arguments&... arguments) const {
    detail::check_call_on_part<T, F, const Arguments&...>();
    return situ::at(p, detail::call_on_part<T, F>{}, id(), arguments...);
  }
  // The same without waiting. cost: async_at()'s.
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
