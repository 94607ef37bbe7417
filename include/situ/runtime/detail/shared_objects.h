// Objects that several std::shared_ptr of one message point to: the message carries each once, and its pointers name
// it by number.
//
//   shared_ptr := number [value]   u32. 0: null; the number of a known object; or the next number, then its value
//   weak_ptr   := number           0: expired, or its object is not part of the message
//
// Measuring, writing and reading each take one pass over all values of a message and meet the same pointers in the
// same order. A pass belongs to the thread that runs it: passes never wait. A reader may meet an object again while it
// reads it (a cycle, or a weak_ptr to an enclosing object), so it allocates and numbers each object before it
// constructs it.
#pragma once

#include <situ/base/detail/type_name.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace situ::detail {

struct shared_type {
  std::string_view name;
};
template <class T>
inline constexpr shared_type shared_type_of{type_name<T>()};  // its address tells types apart

struct shared_key {
  const void* object = nullptr;
  const shared_type* type = nullptr;
  friend bool operator==(const shared_key&, const shared_key&) = default;
};
struct shared_key_hash {
  std::size_t operator()(const shared_key& key) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(key.object) >> 4) ^ reinterpret_cast<std::uintptr_t>(key.type);
  }
};

class measured_objects {
 public:
  // Returns true if the object is new. Throws bad_argument beyond 100 levels of objects that are being measured.
  bool enter(const shared_key& key, std::shared_ptr<const void> owner);
  void leave() noexcept { --levels_; }
  // Throws bad_argument if two objects have one owner: each of their pointers would arrive with an owner of its own.
  void finish();

 private:
  struct met {
    std::shared_ptr<const void> owner;
    const shared_type* type;
  };
  std::unordered_set<shared_key, shared_key_hash> known_;
  std::vector<met> met_;
  std::size_t levels_ = 0;
};

class written_objects {
 public:
  struct numbered {
    std::uint32_t number;
    bool is_new;
  };
  [[nodiscard]] numbered number_of(const shared_key& key);
  // Remembers to store the number of a weak_ptr's object at `at` once the number is known.
  void add_weak(const shared_key& key, std::byte* at);
  void finish();

 private:
  struct weak_reference {
    shared_key key;
    std::byte* at;
  };
  std::unordered_map<shared_key, std::uint32_t, shared_key_hash> numbers_;
  std::vector<weak_reference> weak_;
};

// Memory for an object that is constructed later, or never.
template <class T>
struct late_object {
  late_object() noexcept {}
  late_object(const late_object&) = delete;
  late_object& operator=(const late_object&) = delete;
  ~late_object() { end(); }
  void end() {
    if (std::exchange(is_made, false)) std::destroy_at(std::addressof(value));
  }
  union {
    T value;
  };
  bool is_made = false;
};

class read_objects {
 public:
  read_objects() noexcept = default;
  read_objects(const read_objects&) = delete;
  read_objects& operator=(const read_objects&) = delete;
  // Destroys all objects if the pass did not reach its end: cycles among them would keep each other alive.
  ~read_objects() {
    if (is_finished_) return;
    for (const entry& each : objects_)
      if (each.type != nullptr) each.end_object(each.memory);
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  // Returns an object that has been met. Throws bad_message if it is of another type.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> known(std::uint32_t number) const {
    return std::static_pointer_cast<T>(expect(number, shared_type_of<T>).object);
  }
  // Returns the object that a weak_ptr refers to: it was read already, or it must still follow and take at least
  // `least_bytes` of the `left_bytes`. Throws bad_message if it cannot follow.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> announced(std::uint32_t number, std::size_t least_bytes, std::size_t left_bytes) {
    check(number, left_bytes / sizeof(number));
    if (number > objects_.size()) objects_.resize(number);
    if (objects_[number - 1].type == nullptr) {
      awaited_bytes_ += least_bytes;
      if (awaited_bytes_ > left_bytes) check(number, 0);
      place<T>(number, least_bytes);
    }
    return known<T>(number);
  }
  // Makes the next object by read(), which may meet the object again.
  template <class T, class Read>
  [[nodiscard]] std::shared_ptr<T> make_next(Read read) {
    const std::uint32_t number = ++count_;
    if (number > objects_.size()) objects_.resize(number);
    if (objects_[number - 1].type == nullptr) place<T>(number, 0);
    awaited_bytes_ -= std::exchange(objects_[number - 1].awaited_bytes, 0);
    const std::shared_ptr<T> object = known<T>(number);
    auto* const late = static_cast<late_object<T>*>(objects_[number - 1].memory);
    ::new (static_cast<void*>(std::addressof(late->value))) T(read());
    late->is_made = true;
    if constexpr (requires { late->value.weak_from_this(); }) {
      // Makes a std::shared_ptr of the plain pointer, for shared_from_this() to find. Its deleter drops `held` itself,
      // since the object's own weak_ptr keeps the control block, and the deleter in it, alive.
      objects_[number - 1].object =
          std::shared_ptr<T>(object.get(), [held = std::shared_ptr<T>(object)](T*) mutable { held.reset(); });
    }
    return known<T>(number);
  }
  // Throws bad_message if a weak_ptr names an object that has not arrived.
  void finish();
  // Throws bad_message if `number` is larger than the number of objects met so far plus `most_to_come`, the most that
  // can still follow.
  void check(std::uint32_t number, std::size_t most_to_come) const;

 private:
  struct entry {
    std::shared_ptr<void> object;
    void* memory = nullptr;
    const shared_type* type = nullptr;
    void (*end_object)(void* memory) = nullptr;
    std::size_t awaited_bytes = 0;
  };
  template <class T>
  void place(std::uint32_t number, std::size_t awaited_bytes) {
    const auto late = std::make_shared<late_object<T>>();
    objects_[number - 1] = {std::shared_ptr<T>(late, std::addressof(late->value)), late.get(), &shared_type_of<T>,
                            [](void* memory) { static_cast<late_object<T>*>(memory)->end(); }, awaited_bytes};
  }
  [[nodiscard]] const entry& expect(std::uint32_t number, const shared_type& type) const;

  std::vector<entry> objects_;
  std::uint32_t count_ = 0;        // objects that have been met or are being made
  std::size_t awaited_bytes_ = 0;  // least sizes of announced objects: bounds the memory of a short message
  bool is_finished_ = false;
};

// The pass that the thread is in; nullptr if none.
template <class Objects>
inline thread_local constinit Objects* open_objects = nullptr;

// A pass over the values of a message, or a part of the thread's current pass.
template <class Objects>
class sharing_pass {
 public:
  sharing_pass() {
    if (open_objects<Objects> == nullptr) open_objects<Objects> = &own_.emplace();
  }
  sharing_pass(const sharing_pass&) = delete;
  sharing_pass& operator=(const sharing_pass&) = delete;
  ~sharing_pass() {
    if (own_) open_objects<Objects> = nullptr;
  }
  // Finishes the pass; not called if an exception was thrown.
  void finish() {
    if (own_) own_->finish();
  }

 private:
  std::optional<Objects> own_;
};
struct no_pass {
  void finish() const noexcept {}
};

}  // namespace situ::detail
