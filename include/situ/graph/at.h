// Calls whose arguments and results are object graphs.
//
//   long s = situ::at(p, [](node* head) { return sum(head); }, head);         // copies the graph of head
//   situ::at(p, [](situ::owned<node> mine) { keep(std::move(mine)); }, head); // the copy may stay at p
//   situ::owned<node> answer = situ::at(p, [](node* n) { return n->next; }, head);
//   situ::at(situ::via(p, situ::transfer::pull), work, head);                 // by this transfer
//   situ::at(p, work, situ::by_reference(head));                              // passes only the address
//   situ::async_at(p, work, situ::clone(head));                               // handed over, until the future is ready
//   situ::async_at(p, work, head);                                            // lent: do not change *head until then
//
// A graph is a pointer to a described class, an owned<T>, or a described class by value that holds pointers or
// containers (it arrives as an lvalue). Graphs of one call that share objects share their copies. Results arrive as
// owned<T>. A null pointer arrives as a null pointer. Errors: as at(), bad_message, and those of situ::clone; an
// out_of_memory at the receiver is rethrown at the caller. cost: as at(), and the transfer's (graph/transfer.h).
#pragma once

#include <situ/graph/detail/graph_arguments.h>
#include <situ/memory/ptr.h>
#include <situ/runtime/at.h>

namespace situ {

// Passes the address of an object, not a copy: the body gets a pointer to the original, which lies in another place's
// memory.
template <class T>
class reference_to {
 public:
  explicit reference_to(ptr<T> object) noexcept : object_{object} {}
  [[nodiscard]] operator T*() const noexcept { return object_.local(); }
  [[nodiscard]] operator ptr<T>() const noexcept { return object_; }

 private:
  ptr<T> object_;
};
// Passes the address of an object as an argument. The caller keeps the object alive while the body uses it.
template <class T>
[[nodiscard]] reference_to<T> by_reference(T* object) noexcept {
  return reference_to<T>{ptr<T>{object}};
}
template <class T>
[[nodiscard]] reference_to<T> by_reference(ptr<T> object) noexcept {
  return reference_to<T>{object};
}

}  // namespace situ
