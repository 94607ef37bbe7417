// Calls whose arguments and results are object graphs.
//
//   long s = situ::at(p, [](node* head) { return sum(head); }, head);            // all that head reaches travels; *head lives for the call
//   situ::at(p, [](situ::owned<node> mine) { keep(std::move(mine)); }, head);    // or stays at p
//   situ::owned<node> answer = situ::at(p, [](node* n) { return n->next; }, head);
//   situ::at(situ::via(p, situ::transfer::pull), work, head);                    // by this transfer
//   situ::at(p, work, situ::by_reference(head));                                 // the address alone
//
// A graph is a pointer to a described class, an owned<T>, or a described class by value that holds pointers or containers (it arrives as
// an lvalue). Graphs of one call that share objects share their copies. Results arrive as owned<T>. What a null pointer points
// to is a null pointer. Errors: as at(), bad_message, and those of situ::clone; out_of_memory at the receiver arrives at the caller.
#pragma once

#include <situ/graph/transfer.h>
#include <situ/runtime/at.h>

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ {

// Passes the address of an object, not the object: the body gets a pointer to the original, which lies in another place's memory.
template <class T>
class reference_to {
 public:
  constexpr explicit reference_to(T* object) noexcept : object_{object} {}
  [[nodiscard]] constexpr operator T*() const noexcept { return object_; }
  [[nodiscard]] constexpr operator ptr<T>() const noexcept { return ptr<T>{object_}; }

 private:
  T* object_;
};
template <class T>
inline constexpr bool is_data<reference_to<T>> = true;
template <class T>
[[nodiscard]] constexpr reference_to<T> by_reference(T* object) noexcept {
  return reference_to<T>{object};
}
template <class T>
[[nodiscard]] constexpr reference_to<T> by_reference(ptr<T> object) noexcept {
  return reference_to<T>{object.local()};
}

namespace detail {

// Whether a value holds addresses, so that its bytes alone do not make a copy of it.
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
  } else if constexpr (declared<T>) {
    return !carries_only_data<T>();
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
concept graph_value = std::is_class_v<T> && !is_owned<T> && !sum<T> && !product<T> && !fixed<T> && !is_data<T> && (container<T> || declared<T> || is_open_aggregate<T>) &&
                      (!is_plain<T> || holds_pointers<T>());
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

// A graph as the body gets it, where it does not take a plain pointer: to be kept, or looked at.
template <class T>
class arrived_graph {
 public:
  arrived_graph(const arena_reference& memory, T* object) noexcept : memory_{memory}, object_{object} {}
  [[nodiscard]] operator T*() const noexcept { return object_; }
  [[nodiscard]] operator owned<T>() const noexcept { return object_ == nullptr ? owned<T>{} : owned<T>{memory_, object_}; }

 private:
  const arena_reference& memory_;
  T* object_;
};

// What is passed for an argument: data as it arrived; a graph as a pointer or a reference, or, `kept`, as something that can become its owner.
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

template <class A>
struct kept_argument {
  using type = A;
};
template <class T>
struct kept_argument<owned<T>> {
  using type = T*;
};

// Arguments of which some are graphs. Message: data by wire<T> in order, behind the graphs, which share one head.
template <class... Arguments>
  requires(graph_argument<Arguments> || ...)
class call_pack<Arguments...> {
  static constexpr std::size_t graph_count = (std::size_t{graph_argument<Arguments>} + ...);
  static_assert(graph_count <= most_roots, "situ: at most 16 arguments of a call may be object graphs: put them into one object");
  using roots_array = std::array<graph_root, graph_count>;

 public:
  // By offload, the agent's measure is waited for: async_at does so in a task. An owner stays where it is meanwhile; the task has its address.
  static constexpr bool may_wait = true;
  static bool would_wait(route target) { return (target.how == transfer::automatic ? default_transfer() : target.how) == transfer::offload; }
  template <class A>
  using kept = typename kept_argument<A>::type;
  template <class A>
  static const A& keep(const A& value) noexcept {
    return value;
  }
  template <class T>
  static T* keep(const owned<T>& value) noexcept {
    return value.get();
  }

  call_pack(route target, const Arguments&... arguments) : arguments_{arguments...}, graphs_{target.how, gather(arguments...), false} {}
  [[nodiscard]] std::size_t size() const {
    std::size_t bytes = graphs_.size();
    for_each_datum([&]<class A>(const A& value) { bytes += wire<A>::size(value); });
    return bytes;
  }
  void write(wire_writer& writer) const {
    graphs_.write(writer);
    for_each_datum([&]<class A>(const A& value) { wire<A>::write(writer, value); });
  }

  class received {
   public:
    void complete() { graphs_.complete(roots_); }
    template <class F>
    decltype(auto) invoke(F& f) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
        return f(pass<Arguments, !std::is_invocable_v<F, passed_t<Arguments, false>...>>(std::integral_constant<std::size_t, I>{})...);
      }(std::index_sequence_for<Arguments...>{});
    }

   private:
    friend class call_pack;
    // The number of graphs among the first n arguments: the index of a graph's root.
    static consteval std::size_t graphs_before(std::size_t n) {
      const bool are_graphs[] = {graph_argument<Arguments>...};
      std::size_t count = 0;
      for (std::size_t i = 0; i < n; ++i) count += are_graphs[i];
      return count;
    }
    template <class A, bool Kept, std::size_t I>
    passed_t<A, Kept> pass(std::integral_constant<std::size_t, I>) {
      if constexpr (graph_argument<A>) {
        using object = typename graph_of<A>::object;
        auto* const root = static_cast<object*>(const_cast<void*>(roots_[graphs_before(I)].object));
        if constexpr (graph_value<A>) {
          return *root;
        } else if constexpr (Kept) {
          return {memory(), root};
        } else {
          return root;
        }
      } else {
        return std::move(*std::get<I>(data_));
      }
    }
    [[nodiscard]] const arena_reference& memory() const noexcept { return local_.get() != nullptr ? local_ : graphs_.memory(); }

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
    arena_reference local_;  // of a call at the own place
    std::tuple<typename datum<Arguments>::type...> data_;
  };

  static received read(wire_reader& reader, std::uint32_t source) {
    received result;
    result.roots_ = types();
    result.graphs_.read(reader, source, result.roots_);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            if constexpr (!graph_argument<Arguments>) std::get<I>(result.data_).emplace(wire<Arguments>::read(reader));
          }(),
          ...);
    }(std::index_sequence_for<Arguments...>{});
    return result;
  }
  static received copy(const Arguments&... arguments) {
    received result;
    result.roots_ = gather(arguments...);
    result.local_ = copy_roots(result.roots_);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            if constexpr (!graph_argument<Arguments>) std::get<I>(result.data_).emplace(arguments);
          }(),
          ...);
    }(std::index_sequence_for<Arguments...>{});
    return result;
  }

  template <class F>
  static constexpr bool accepts = std::is_invocable_v<F, passed_t<Arguments, false>...> || std::is_invocable_v<F, passed_t<Arguments, true>...>;
  template <class F>
  using returned = typename std::conditional_t<std::is_invocable_v<F, passed_t<Arguments, false>...>, std::invoke_result<F, passed_t<Arguments, false>...>,
                                               std::invoke_result<F, passed_t<Arguments, true>...>>::type;
  static consteval void check() {
    (
        [] {
          if constexpr (graph_argument<Arguments>) {
            static_assert(check_class<typename graph_of<Arguments>::object>());
          } else {
            static_assert(travels<Arguments>,
                          "situ: this argument cannot travel: at() takes pointers to described classes, described classes, trivially copyable values, std::string, and "
                          "std::vector, std::tuple, std::pair, std::optional and std::array of such values");
          }
        }(),
        ...);
  }

 private:
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
          if constexpr (graph_argument<Arguments>) roots[i++] = {nullptr, &descriptor_of<typename graph_of<Arguments>::object>()};
        }(),
        ...);
    return roots;
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
  result_pack(const Result& value, transfer how) : root_{graph_of<Result>::root(value)}, graph_{how, {&root_, 1}, true} {}
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
  // At the own place an owned result is handed on; anything else is copied.
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

}  // namespace detail
}  // namespace situ
