// Calls whose arguments and results are object graphs.
//
//   long s = situ::at(p, [](node* head) { return sum(head); }, head);         // all that head reaches travels
//   situ::at(p, [](situ::owned<node> mine) { keep(std::move(mine)); }, head); // or stays at p
//   situ::owned<node> answer = situ::at(p, [](node* n) { return n->next; }, head);
//   situ::at(situ::via(p, situ::transfer::pull), work, head);                 // by this transfer
//   situ::at(p, work, situ::by_reference(head));                              // the address alone
//   situ::async_at(p, work, situ::clone(head));                               // handed over, until the future is ready
//   situ::async_at(p, work, head);                                            // lent: *head stays as it is until then
//
// A graph is a pointer to a described class, an owned<T>, or a described class by value that holds pointers or
// containers (it arrives as an lvalue). Graphs of one call that share objects share their copies. Results arrive as
// owned<T>. What a null pointer points to is a null pointer. Errors: as at(), bad_message, and those of situ::clone;
// out_of_memory at the receiver arrives at the caller. cost: as at(), and the transfer's (graph/transfer.h).
#pragma once

#include <situ/graph/detail/graph_arguments.h>
#include <situ/memory/ptr.h>
#include <situ/runtime/at.h>

namespace situ {

// Passes the address of an object, not the object: the body gets a pointer to the original, which lies in another
// place's memory.
template <class T>
class reference_to {
 public:
  explicit reference_to(ptr<T> object) noexcept : object_{object} {}
  [[nodiscard]] operator T*() const noexcept { return object_.local(); }
  [[nodiscard]] operator ptr<T>() const noexcept { return object_; }

 private:
  ptr<T> object_;
};
// The address of an object as an argument; the caller sees that the object lives as long as the body uses it.
template <class T>
[[nodiscard]] reference_to<T> by_reference(T* object) noexcept {
  return reference_to<T>{ptr<T>{object}};
}
template <class T>
[[nodiscard]] reference_to<T> by_reference(ptr<T> object) noexcept {
  return reference_to<T>{object};
}

}  // namespace situ
