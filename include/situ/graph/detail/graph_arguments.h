// Arguments and results of a call that are object graphs: specialises call_pack and result_pack (call_pack.h of
// runtime).
#pragma once

#include <situ/graph/detail/graph_call.h>
#include <situ/graph/transfer.h>
#include <situ/runtime/detail/call.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ::detail {

// Returns whether a value holds addresses, so that a copy of its bytes is no copy of it.
template <class T>
consteval bool holds_pointers();
template <class... Ts>
consteval bool any_holds_pointers(type_list<Ts...>) {
  return (holds_pointers<std::remove_cv_t<Ts>>() || ...);
}
template <class T>
consteval bool holds_pointers() {
  if constexpr (std::is_pointer_v<T> || is_transient<T> || container<T>) {
    return true;
  } else if constexpr (!std::is_class_v<T> || is_data<T>) {
    return false;
  } else if constexpr (fixed<T>) {
    return holds_pointers<std::remove_cv_t<typename fixed_array<T>::type>>();
  } else if constexpr (sum<T>) {
    return any_holds_pointers(typename sum_alternatives<T>::type{});
  } else if constexpr (product<T>) {
    return any_holds_pointers(typename product_parts<T>::type{});
  } else if constexpr (std::is_base_of_v<object, T>) {
    return true;
  } else if constexpr (declared<T>) {
    return any_holds_pointers(described_types<T>{});
  } else if constexpr (has_known_fields<T>) {
    return any_holds_pointers(field_types<T>{});
  } else {
    return false;
  }
}

template <class T>
inline constexpr bool is_owned = false;
template <class T>
inline constexpr bool is_owned<owned<T>> = true;
template <class T>
concept graph_pointer = std::is_pointer_v<T> && std::is_class_v<std::remove_cv_t<std::remove_pointer_t<T>>>;
template <class T>
concept graph_value =
    std::is_class_v<T> && !is_owned<T> && !sum<T> && !product<T> && !fixed<T> && !is_data<T> &&
    (container<T> || declared<T> || is_open_aggregate<T>) && !has_own_wire<T>() && holds_pointers<T>();
template <class T>
concept graph_argument = graph_pointer<T> || is_owned<T> || graph_value<T>;

template <graph_argument A>
struct graph_of {  // by value
  using object = A;
  static graph_root root(const A& value) { return root_of(&value); }
};
template <graph_pointer A>
struct graph_of<A> {
  using object = std::remove_cv_t<std::remove_pointer_t<A>>;
  static graph_root root(const A& value) { return root_of<object>(value); }
};
template <class T>
struct graph_of<owned<T>> {
  using object = T;
  static graph_root root(const owned<T>& value) { return root_of<T>(value.get()); }
};

// An arrived graph for a body that does not take a plain pointer: the body can take ownership of it, or only look at
// it.
template <class T>
class arrived_graph {
 public:
  arrived_graph(const arena_reference& memory, T* object) noexcept : memory_{memory}, object_{object} {}
  [[nodiscard]] operator T*() const noexcept { return object_; }
  [[nodiscard]] operator owned<T>() const noexcept {
    return object_ == nullptr ? owned<T>{} : owned<T>{memory_, object_};
  }

 private:
  const arena_reference& memory_;
  T* object_;
};

// The type that the body gets for an argument: data as it arrived; a graph as a pointer or a reference, or, if `kept`,
// as an arrived_graph, which can become its owner.
template <class A, bool Kept>
struct passed {
  using type = A;
};
template <graph_pointer A>
struct passed<A, false> {
  using type = A;
};
template <class A>
  requires(graph_pointer<A> || is_owned<A>)
struct passed<A, true> {
  using type = arrived_graph<typename graph_of<A>::object>;
};
template <class T>
struct passed<owned<T>, false> {
  using type = T*;
};
template <graph_value A, bool Kept>
struct passed<A, Kept> {
  using type = A&;
};
template <class A, bool Kept>
using passed_t = typename passed<A, Kept>::type;

// The arguments that a call keeps alive while they may be read: owners, and values, which any transfer can then find;
// with All, the others as well.
struct not_held {
  template <class Given>
  explicit not_held(const Given&) noexcept {}
};
template <class A>
class held_value {
 public:
  template <class Given>
  explicit held_value(Given&& given)  // NOLINT(bugprone-forwarding-reference-overload): made of one A
      : bytes_{situ::allocate_bytes(sizeof(A), {.alignment = alignof(A)})} {
    try {
      object_ = std::construct_at(reinterpret_cast<A*>(bytes_.local()), std::forward<Given>(given));
    } catch (...) {
      deallocate(bytes_);
      throw;
    }
  }
  held_value(const held_value&) = delete;
  held_value& operator=(const held_value&) = delete;
  ~held_value() {
    std::destroy_at(object_);
    deallocate(bytes_);
  }
  [[nodiscard]] const A& get() const noexcept { return *object_; }

 private:
  ptr<std::byte> bytes_;
  A* object_ = nullptr;
};
template <class A, bool All>
struct held_argument {
  using type = std::conditional_t<All, A, not_held>;
};
template <class T, bool All>
struct held_argument<owned<T>, All> {
  using type = owned<T>;
};
template <graph_value A, bool All>
struct held_argument<A, All> {
  using type = held_value<A>;
};
template <class A>
inline constexpr bool is_held = is_owned<A> || graph_value<A>;

// Returns the argument to read: the held one, or the one that the caller gave.
template <class Held, class... Given>
const auto& argument_in(const Held& held, const Given&... given) noexcept {
  if constexpr (std::is_same_v<Held, not_held>) {
    return (given, ...);
  } else {
    return held;
  }
}
template <class A, class... Given>
const A& argument_in(const held_value<A>& held, const Given&...) noexcept {
  return held.get();
}

// Checks how an argument of async_at is given.
template <class Given>
consteval void check_given() {
  using A = std::remove_cvref_t<Given>;
  if constexpr (is_owned<A>) {
    static_assert(std::is_constructible_v<A, Given>,
                  "situ: async_at() returns before the graph is read: hand its owner over with std::move(x), or share "
                  "it with x.adopt(x.get()), and the call keeps "
                  "it; or lend it with x.get(), and keep it as it is until the future is ready");
  } else if constexpr (graph_value<A>) {
    static_assert(std::is_constructible_v<A, Given>,
                  "situ: async_at() returns before this value is read, and it cannot be copied: hand it over with "
                  "std::move(x), or pass a pointer");
  }
}

// Takes an owner that was handed over, so that it is empty when async_at returns, also if the graph is sent by message.
template <class Given>
void take_owner(Given&& given) noexcept {
  if constexpr (is_owned<std::remove_cvref_t<Given>>) (void)std::remove_cvref_t<Given>{std::forward<Given>(given)};
}

// Packs arguments of which some are graphs. A message holds the graphs, which share one head, then the data by wire<T>
// in order.
template <class... Arguments>
  requires(graph_argument<Arguments> || ...)
class call_pack<Arguments...> {
  static constexpr std::size_t graph_count = (std::size_t{graph_argument<Arguments>} + ...);
  static_assert(graph_count <= most_roots,
                "situ: at most 16 arguments of a call may be object graphs: put them into one object");
  static_assert(!(is_payload<Arguments> || ...),
                "situ: a call takes object graphs or a situ::payload, not both: pass a std::vector");
  using roots_array = std::array<graph_root, graph_count>;

 public:
  static constexpr bool may_lend = true;
  static constexpr bool reads_in_place = false;
  static constexpr bool may_view = false;
  static constexpr bool keeps_message = false;
  static constexpr bool is_unmeasured = false;

  // Starts an async_at. The call holds everything that the target or the agent may read after async_at has returned:
  // graphs that were handed over, and values. With offload, a task that holds all arguments waits for a free request or
  // for the agent's measure.
  template <class F, class... Given>
  static auto start(route target, F f, Given&&... given) {
    (check_given<Given>(), ...);
    const transfer how = target.how == transfer::automatic ? default_transfer() : target.how;
    if (how == transfer::offload) {
      auto held = std::make_unique<held_arguments<true>>(std::forward<Given>(given)...);
      if (offload_begins_at_once()) {
        call_pack pack = held->pack(target);
        return start_call<F, Arguments...>(target, f, pack, std::move(held));
      }
      return async(
          [target, f](std::unique_ptr<held_arguments<true>> arguments) {
            call_pack pack = arguments->pack(target);
            return start_call<F, Arguments...>(target, f, pack, std::move(arguments));
          },
          std::move(held));
    }
    route way = target;
    if constexpr ((is_held<Arguments> || ...)) {
      constexpr bool has_values = (graph_value<Arguments> || ...);
      if (how == transfer::pull || (how == transfer::automatic && !has_values)) {
        auto held = std::make_unique<held_arguments<false>>(std::forward<Given>(given)...);
        call_pack pack = held->pack(target, given...);  // NOLINT(bugprone-use-after-move): only what is not held
        return start_call<F, Arguments...>(target, f, pack, std::move(held));
      }
      way.how = transfer::message;
    }
    call_pack pack{way, given...};
    auto outcome = start_call<F, Arguments...>(target, f, pack);
    (take_owner(std::forward<Given>(given)), ...);
    return outcome;
  }

  call_pack(route target, const Arguments&... arguments)
      : arguments_{arguments...}, graphs_{target, gather(arguments...), false} {}
  // Returns an object that the call keeps until it is over.
  [[nodiscard]] std::unique_ptr<held_by_call> lend(std::unique_ptr<held_by_call> arguments) {
    return graphs_.lend(std::move(arguments));
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t bytes = graphs_.size();
    pass_over<measured_objects, Arguments...> pass;
    for_each_datum([&]<class A>(const A& value) { bytes += wire<A>::size(value); });
    pass.finish();
    return bytes;
  }
  void write(wire_writer& writer) const {
    graphs_.write(writer);
    pass_over<written_objects, Arguments...> pass;
    for_each_datum([&]<class A>(const A& value) { wire<A>::write(writer, value); });
    pass.finish();
  }

  class received {
   public:
    void complete() { graphs_.complete(roots_); }
    template <class F>
    decltype(auto) invoke(F& f) {
      return [&]<std::size_t... Index>(std::index_sequence<Index...>) -> decltype(auto) {
        return std::invoke(f, pass<Arguments, !std::is_invocable_v<F, passed_t<Arguments, false>...>>(
                                  std::integral_constant<std::size_t, Index>{})...);
      }(std::index_sequence_for<Arguments...>{});
    }

   private:
    friend class call_pack;
    // Returns the number of graphs among the first n arguments: the index of a graph's root.
    static consteval std::size_t graphs_before(std::size_t n) {
      const bool are_graphs[] = {graph_argument<Arguments>...};
      std::size_t count = 0;
      for (std::size_t i = 0; i < n; ++i) count += are_graphs[i];
      return count;
    }
    template <class A, bool Kept, std::size_t Index>
    passed_t<A, Kept> pass(std::integral_constant<std::size_t, Index>) {
      if constexpr (graph_argument<A>) {
        using object = typename graph_of<A>::object;
        auto* const root = static_cast<object*>(const_cast<void*>(roots_[graphs_before(Index)].object));
        if constexpr (graph_value<A>) {
          return *root;
        } else if constexpr (Kept) {
          return {memory(), root};
        } else {
          return root;
        }
      } else {
        return std::move(*std::get<Index>(data_));
      }
    }
    [[nodiscard]] const arena_reference& memory() const noexcept {
      return local_.get() != nullptr ? local_ : graphs_.memory();
    }

    template <class A>
    struct datum {
      using type = std::optional<A>;
    };
    template <graph_argument A>
    struct datum<A> {
      using type = std::nullptr_t;
    };
    roots_array roots_;
    graph_receiver graphs_;
    arena_reference local_;  // used when a place calls itself
    std::tuple<typename datum<Arguments>::type...> data_;
  };

  static received read(wire_reader& reader, std::uint32_t source) {
    received result;
    result.roots_ = types();
    result.graphs_.read(reader, source, result.roots_);
    pass_over<read_objects, Arguments...> pass;
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (
          [&] {
            if constexpr (!graph_argument<Arguments>)
              std::get<Index>(result.data_).emplace(wire<Arguments>::read(reader));
          }(),
          ...);
    }(std::index_sequence_for<Arguments...>{});
    pass.finish();
    return result;
  }
  static received copy(const Arguments&... arguments) {
    received result;
    result.roots_ = gather(arguments...);
    result.local_ = copy_roots(result.roots_);
    auto copies = copy_values(only_datum(arguments)...);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (
          [&] {
            if constexpr (!graph_argument<Arguments>)
              std::get<Index>(result.data_).emplace(std::move(std::get<Index>(copies)));
          }(),
          ...);
    }(std::index_sequence_for<Arguments...>{});
    return result;
  }

  template <class F>
  static constexpr bool accepts =
      std::is_invocable_v<F, passed_t<Arguments, false>...> || std::is_invocable_v<F, passed_t<Arguments, true>...>;
  template <class F>
  using returned = typename std::conditional_t<std::is_invocable_v<F, passed_t<Arguments, false>...>,
                                               std::invoke_result<F, passed_t<Arguments, false>...>,
                                               std::invoke_result<F, passed_t<Arguments, true>...>>::type;
  static consteval void check() {
    (
        [] {
          if constexpr (graph_argument<Arguments>) {
            static_assert(check_class<typename graph_of<Arguments>::object>());
          } else {
            check_value<Arguments>();
          }
        }(),
        ...);
  }

 private:
  template <bool All>
  class held_arguments final : public held_by_call {
   public:
    template <class... Given>
    explicit held_arguments(Given&&... given) : parts_{std::forward<Given>(given)...} {}
    call_pack pack(route target) const
      requires All
    {
      return std::apply([&](const auto&... parts) { return call_pack{target, argument_in(parts)...}; }, parts_);
    }
    template <class... Given>
    call_pack pack(route target, const Given&... given) const {
      return std::apply([&](const auto&... parts) { return call_pack{target, argument_in(parts, given)...}; }, parts_);
    }

   private:
    std::tuple<typename held_argument<Arguments, All>::type...> parts_;
  };

  static roots_array gather(const Arguments&... arguments) {
    roots_array roots;
    std::size_t i = 0;
    (
        [&] {
          if constexpr (graph_argument<Arguments>) roots[i++] = graph_of<Arguments>::root(arguments);
        }(),
        ...);
    return roots;
  }
  static roots_array types() {
    roots_array roots;
    std::size_t i = 0;
    (
        [&] {
          if constexpr (graph_argument<Arguments>)
            roots[i++] = {nullptr, &descriptor_of<typename graph_of<Arguments>::object>()};
        }(),
        ...);
    return roots;
  }
  template <class A>
  static const A& only_datum(const A& value) noexcept {
    return value;
  }
  template <graph_argument A>
  static std::nullptr_t only_datum(const A&) noexcept {
    return nullptr;
  }
  template <class Use>
  void for_each_datum(Use use) const {
    std::apply(
        [&](const Arguments&... each) {
          (
              [&] {
                if constexpr (!graph_argument<Arguments>) use(each);
              }(),
              ...);
        },
        arguments_);
  }

  std::tuple<const Arguments&...> arguments_;
  graph_sender graphs_;
};

// A graph as a result: arrives as owned<T>.
template <graph_argument Result>
class result_pack<Result> {
  using object = typename graph_of<Result>::object;

 public:
  using arrives = owned<object>;
  static constexpr bool is_routed = true;
  static constexpr bool may_be_late = true;
  static constexpr bool is_unmeasured = false;
  result_pack(const Result& value, route back)
      : root_{graph_of<Result>::root(value)}, graph_{back, {&root_, 1}, true} {}
  [[nodiscard]] std::size_t size() const noexcept { return graph_.size(); }
  void write(wire_writer& writer) const { graph_.write(writer); }
  void complete() { graph_.wait_until_taken(); }

  static bool accept(future_state<arrives>& state, arrived_answer& answer) {
    graph_root root{nullptr, &descriptor_of<object>()};
    graph_receiver receiver;
    if (receiver.read(answer.reader(), answer.source(), {&root, 1})) {
      set(state, receiver, root);
      return true;
    }
    answer.finish_later([&state, receiver = std::move(receiver), root]() mutable {
      receiver.complete({&root, 1});
      set(state, receiver, root);
    });
    return false;
  }
  // Moves an owned result if the call stays within the place; copies any other result.
  static arrives copy(Result&& value) {
    if constexpr (is_owned<Result>) {
      return std::move(value);
    } else {
      graph_root root = graph_of<Result>::root(value);
      if (root.object == nullptr) return {};
      arena_reference memory = copy_roots({&root, 1});
      return {std::move(memory), static_cast<object*>(const_cast<void*>(root.object))};
    }
  }
  static consteval void check() { static_assert(check_class<object>()); }

 private:
  static void set(future_state<arrives>& state, const graph_receiver& receiver, const graph_root& root) {
    if (root.object == nullptr) {
      state.value.emplace();
    } else {
      state.value.emplace(receiver.memory(), static_cast<object*>(const_cast<void*>(root.object)));
    }
  }
  graph_root root_;
  graph_sender graph_;
};

}  // namespace situ::detail
