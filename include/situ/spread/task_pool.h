// task_pool: tasks that any member of a team may run, and that may add further ones.
//
//   void visit(situ::task_pool& pool, node n) { for (node child : children(n)) pool.add(visit, child); }
//
//   situ::task_pool pool;                                  // at each place, together
//   if (situ::here().index() == 0) pool.add(visit, root);
//   pool.run();                                            // at each place: until no task is left anywhere
//
// A task is a function with arguments as async_at takes them (at.h): it captures and takes what travels, and finds the
// state of the place where it runs by itself (thread_local). Its first parameter may be the pool. A place runs its
// newest task first and leaves the oldest to the others; who has none takes some of somebody's, without that one's
// help, and sleeps where nobody has any. Each task runs once, at one place; nothing else is known of where and when.
//
// A task may wait; its place then takes in messages, but runs no other task of the pool before it goes on, so it must
// not wait for what another task does. Other code of a place may add tasks, too, during a run. Messages of other places
// are taken in between tasks, now and then (situ::progress()).
//
// Collective: the members of a team construct, run and destroy it together, in the same order. Belongs to the thread
// that made it. Memory: what has been added and not begun, in chunks of 8 KiB of the segment of who added it; a tree's
// nodes come to its depth times its width. Errors: what a task throws comes out of run() at the place that ran it, at
// the end, and the first of them where there are several. When a member is lost nobody knows which of its tasks were
// done: run() throws place_lost_error at every other, then and later, and what was in the pool is dropped. The others
// may go on with a pool of a team of their own. The loss of a place that is no member ends run() once, as any wait; it
// may be called again, and goes on.
#pragma once

#include <situ/runtime/at.h>
#include <situ/runtime/serialize.h>
#include <situ/spread/detail/pool_core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ {

class task_pool;

namespace detail {

// How a task of F with these arguments is written, and run.
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
  static void run(void* pool, const std::byte* at, std::size_t bytes) {
    wire_reader reader{at, bytes};
    F f = travelling_function<F>::read(reader);
    std::tuple<Arguments...> arguments{wire<Arguments>::read(reader)...};
    std::apply(
        [&](Arguments&... each) {
          if constexpr (takes_pool) {
            wait_for(std::invoke_result<F&, task_pool&, Arguments...>{},
                     [&] { return std::invoke(f, *static_cast<task_pool*>(pool), std::move(each)...); });
          } else {
            wait_for(std::invoke_result<F&, Arguments...>{}, [&] { return std::invoke(f, std::move(each)...); });
          }
        },
        arguments);
  }
  inline static const function_id code =
      name_function(reinterpret_cast<const void*>(static_cast<pool_core::task_code>(&run)));

 private:
  // A future that the task returns is part of it; other results are dropped.
  template <class Result, class Call>
  static void wait_for(Result, Call call) {
    if constexpr (is_future<std::decay_t<typename Result::type>>) {
      call().get();
    } else {
      (void)call();
    }
  }
};

}  // namespace detail

// Tasks that are run by whichever member is free; see above.
class task_pool {
 public:
  // Collective. cost: an all_gather.
  explicit task_pool(const team& members = world()) : core_{this, members} {}
  task_pool(const task_pool&) = delete;
  task_pool& operator=(const task_pool&) = delete;

  // Adds a task, which runs f(arguments...), or f(pool, arguments...), once: in the run that goes on, or in the next.
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

  // Runs tasks until none is left at any member. Collective. Throws what the header says. cost: of a task some ns; of
  // chunks that other places take, some hundred ns each; of the end, an atomic for each member.
  void run() { core_.run(); }

  // How many tasks this place has run so far. cost: a load.
  [[nodiscard]] std::uint64_t ran() const noexcept { return core_.ran(); }
  // How often this place has taken tasks from another. cost: a load.
  [[nodiscard]] std::uint64_t steals() const noexcept { return core_.stolen(); }

 private:
  detail::pool_core core_;
};

}  // namespace situ
