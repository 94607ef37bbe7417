// Included before each C++ file of a modelled program: atomic loads and stores become asm statements with a mark, by
// which the hooks know them from ordinary ones. The instructions are those that gcc uses for them: mov, and xchg for a
// sequentially consistent store. Other atomics need no mark, since their instructions lock the bus.
//
// This covers std::atomic and gcc's functions. Not covered: C, and objects of 16 bytes or more.
#pragma once

#if defined(__cplusplus) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

namespace situ::model_marks {

template <class T>
struct same {
  using type = T;
};

// The assembler takes the size of a mov or xchg from its register.
template <class T>
[[gnu::always_inline]] inline T load(const volatile T* from, int) noexcept {
  if constexpr (sizeof(T) > 8) {
    return __atomic_load_n(from, __ATOMIC_SEQ_CST);
  } else {
    T value;
    asm volatile("#situ.atomic_read\n\tmov %1, %0" : "=r"(value) : "m"(*from) : "memory");
    return value;
  }
}

template <class T>
[[gnu::always_inline]] inline void store(volatile T* to, typename same<T>::type value, int order) noexcept {
  if constexpr (sizeof(T) > 8) {
    __atomic_store_n(to, value, __ATOMIC_SEQ_CST);
  } else if (order == __ATOMIC_SEQ_CST) {
    asm volatile("#situ.atomic_write\n\txchg %1, %0" : "+m"(*to), "+r"(value) : : "memory");
  } else {
    asm volatile("#situ.atomic_write\n\tmov %1, %0" : "=m"(*to) : "r"(value) : "memory");
  }
}

template <class T>  // of one byte, or nothing's address
[[gnu::always_inline]] inline void clear(volatile T* to, int order) noexcept {
  store(reinterpret_cast<volatile unsigned char*>(to), static_cast<unsigned char>(0), order);
}

// Objects that are no words: they go through one of their size.
template <unsigned long Bytes>
struct word;
template <>
struct word<1> {
  using type = unsigned char;
};
template <>
struct word<2> {
  using type = unsigned short;
};
template <>
struct word<4> {
  using type = unsigned int;
};
template <>
struct word<8> {
  using type = unsigned long;
};
template <unsigned long Bytes>
inline constexpr bool is_word = Bytes == 1 || Bytes == 2 || Bytes == 4 || Bytes == 8;

template <class T, class U>
[[gnu::always_inline]] inline void load_object(const volatile T* from, U* to, int order) noexcept {
  if constexpr (is_word<sizeof(T)>) {
    using of_size = typename word<sizeof(T)>::type;
    const of_size value = load(reinterpret_cast<const volatile of_size*>(from), order);
    __builtin_memcpy(to, &value, sizeof value);
  } else {
    __atomic_load(from, to, order);
  }
}

template <class T, class U>
[[gnu::always_inline]] inline void store_object(volatile T* to, U* from, int order) noexcept {
  if constexpr (is_word<sizeof(T)>) {
    using of_size = typename word<sizeof(T)>::type;
    of_size value;
    __builtin_memcpy(&value, from, sizeof value);
    store(reinterpret_cast<volatile of_size*>(to), value, order);
  } else {
    __atomic_store(to, from, order);
  }
}

}  // namespace situ::model_marks

// NOLINTBEGIN: the compiler's names
#define __atomic_load_n(from, order) (::situ::model_marks::load((from), (order)))
#define __atomic_store_n(to, value, order) (::situ::model_marks::store((to), (value), (order)))
#define __atomic_load(from, to, order) (::situ::model_marks::load_object((from), (to), (order)))
#define __atomic_store(to, from, order) (::situ::model_marks::store_object((to), (from), (order)))
#define __atomic_clear(to, order) (::situ::model_marks::clear((to), (order)))
// NOLINTEND

#endif
