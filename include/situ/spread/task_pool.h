// task_pool: tasks that any member of a team may run, and that may add further tasks.
//
//   void visit(situ::task_pool& pool, node n) { for (node child : children(n)) pool.add(visit, child); }
//
//   situ::task_pool pool;                                  // at each place, together
//   if (situ::here().index() == 0) pool.add(visit, root);
//   pool.run();                                            // at each place: until no task is left anywhere
//   long found = pool.run(0L, std::plus<>{});              // the same for tasks that return a long: their sum
//
// A task is a function with arguments as async_at takes them (at.h): it captures and takes values that travel, and
// finds the state of the place that runs it by itself (thread_local). Its first parameter may be the pool. A place runs
// its newest task first and leaves its oldest to the others. A place without tasks steals some from another place of its
// host, without that place's help; if none has any, it asks the other hosts, whose members answer between two tasks and
// whenever they handle messages. It sleeps if no place has any. Each task runs once, at one place; when and where is
// unspecified.
//
// A task may wait; its place then handles messages, but runs no other task of the pool, so a task must not wait for an
// effect of another task. Other code of a place may add tasks during a run, too. Places handle messages between tasks,
// now and then (situ::progress()).
//
// Collective: the members of a team construct, run and destroy it together, in the same order. It belongs to the thread
// that made it. Memory: tasks that have been added and have not begun, in chunks of 8 KiB in the segment of the place
// that added them; the nodes of a tree take its depth times its width. Errors: if tasks throw, run() rethrows the first
// exception of this place's tasks at the end of the run. If a member is lost (a lost host is the loss of all members
// there), it is unknown which of its tasks were done: run() throws place_lost_error at all other members, then and
// later, and the remaining tasks are dropped; over hosts a finish scope around run() may throw it, too, since it has
// counted the questions to that place. The remaining members may make another pool with a team of their own. The loss
// of a place that is not a member ends run() once, as it ends any wait; run() may be called again and continues.
#pragma once

#include <situ/base/detail/type_name.h>
#include <situ/base/error.h>
#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/serialize.h>
#include <situ/spread/detail/pool_core.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ {

class task_pool;

namespace detail {

// Encodes a task that calls F with these arguments, and runs it.
template <class F, class... Arguments>
struct pool_task {
  static constexpr bool takes_pool = std::is_invocable_v<F&, task_pool&, Arguments...>;

  static consteval void check() {
    check_body<F>();
    (check_value<Arguments>(), ...);
    static_assert(takes_pool || std::is_invocable_v<F&, Arguments...>,
                  "situ: the task cannot be called with these arguments (they arrive by value: take them by value or "
                  "const reference), nor with a task_pool& before them");
  }
  static std::size_t size(const F& f, const Arguments&... arguments) {
    return (travelling_function<F>::size(f) + ... + wire<Arguments>::size(arguments));
  }
  static void write(wire_writer writer, const F& f, const Arguments&... arguments) {
    travelling_function<F>::write(writer, f);
    (wire<Arguments>::write(writer, arguments), ...);
  }
  static void run(void* pool, const std::byte* at, std::size_t bytes);
  inline static const function_id code =
      name_function(reinterpret_cast<const void*>(static_cast<pool_core::task_code>(&run)));

 private:
  static void run_with(task_pool& pool, F& f, Arguments&... arguments);
};

}  // namespace detail

// Tasks that any member may run; see above.
class task_pool {
 public:
  // Makes an empty pool. Collective. cost: an all_gather.
  explicit task_pool(const team& members = world()) : core_{this, members} {}
  task_pool(const task_pool&) = delete;
  task_pool& operator=(const task_pool&) = delete;

  // Adds a task, which calls f(arguments...) or f(pool, arguments...) once, in the current run or in the next.
  // Throws out_of_memory. cost: some ns and the copy.
  template <class F, class... Arguments>
  void add(F f, const Arguments&... arguments) {
    [&]<class... As>(detail::type_list<As...>) {
      using task = detail::pool_task<F, As...>;
      task::check();
      [&](const As&... values) {
        std::byte* const at = core_.reserve(task::code, task::size(f, values...));
        task::write(wire_writer{at}, f, values...);
      }(detail::as_travelling<As>(arguments)...);
    }(detail::type_list<detail::travelling_t<const Arguments&>...>{});
  }

  // Runs tasks until none is left at any member. Collective. Throws as described above. cost: some ns a task; some
  // hundred ns for each chunk that another place takes, two messages if that place is on another host; an atomic for each
  // member, and a message for each host, at the end.
  void run() { core_.run(); }
  // Runs tasks as run(), and combines their results in any order: returns operation(...) over `identity` and all
  // results, at every member. A task returns a T (or a future<T>), or nothing; if a task returns another type, the run
  // throws bad_argument. If run() throws at one member, the results at the others omit the tasks that threw. pre: the
  // operation is associative and commutative, the same at all members, and `identity` is its neutral element. cost: as
  // run(), a call of the operation for each task, and an all_reduce.
  template <class T, class Operation>
  [[nodiscard]] T run(T identity, Operation operation, std::source_location where = std::source_location::current());

  // Returns how many tasks this place has run so far. cost: a load.
  [[nodiscard]] std::uint64_t ran() const noexcept { return core_.ran(); }
  // Returns how often this place has taken tasks from another place. cost: a load.
  [[nodiscard]] std::uint64_t steals() const noexcept { return core_.stolen(); }

 private:
  template <class F, class... Arguments>
  friend struct detail::pool_task;

  template <class T>
  void take_result(T result) {
    if (results_.combine == nullptr) return;
    if (results_.type != detail::name_hash<T>()) [[unlikely]]
      detail::throw_other_result(detail::type_name<T>(), results_.type_name);
    results_.combine(results_.object, &result);
  }

  detail::pool_core core_;
  detail::pool_results results_;
};

template <class T, class Operation>
T task_pool::run(T identity, Operation operation, std::source_location where) {
  struct collected {
    T value;
    Operation& operation;
  } mine{std::move(identity), operation};
  struct collecting {
    detail::pool_results& results;
    ~collecting() { results = {}; }
  } const now{results_};
  results_ = {detail::name_hash<T>(), detail::type_name<T>(), &mine, [](void* object, void* result) {
                auto& into = *static_cast<collected*>(object);
                into.value = into.operation(std::move(into.value), std::move(*static_cast<T*>(result)));
              }};
  std::exception_ptr failure;
  try {
    failure = core_.run_to_its_end();  // a task's error may be the loss of a place that is not a member
  } catch (const place_lost_error&) {  // the run is not over: the caller may call run() again
    throw;
  } catch (...) {
    failure = std::current_exception();  // the other members wait for this member's part of the result
  }
  T all = all_reduce(std::move(mine.value), operation, core_.members(), where);
  if (failure) std::rethrow_exception(failure);
  return all;
}

template <class F, class... Arguments>
void detail::pool_task<F, Arguments...>::run(void* pool, const std::byte* at, std::size_t bytes) {
  wire_reader reader{at, bytes};
  F f = travelling_function<F>::read(reader);
  std::tuple<Arguments...> arguments{wire<Arguments>::read(reader)...};
  std::apply([&](Arguments&... each) { run_with(*static_cast<task_pool*>(pool), f, each...); }, arguments);
}

// If the task returns a future, the task ends when that future is ready.
template <class F, class... Arguments>
void detail::pool_task<F, Arguments...>::run_with(task_pool& pool, F& f, Arguments&... arguments) {
  const auto call = [&]() -> decltype(auto) {
    if constexpr (takes_pool) {
      return std::invoke(f, pool, std::move(arguments)...);
    } else {
      return std::invoke(f, std::move(arguments)...);
    }
  };
  using result = std::decay_t<decltype(call())>;
  if constexpr (std::is_void_v<result>) {
    call();
  } else if constexpr (!is_future<result>) {
    if constexpr (std::is_constructible_v<result, decltype(call())>)
      pool.take_result<result>(call());
    else
      (void)call();
  } else if constexpr (std::is_void_v<decltype(call().get())>) {
    call().get();
  } else {
    pool.take_result(call().get());
  }
}

}  // namespace situ
