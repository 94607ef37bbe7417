// The fields of an aggregate, found by the compiler: how many there are, of which types, and where they lie.
//
// How many: the largest number of empty initialisers, T{{}, {}, ...}, that compiles; each stands for one field, also
// for an array or a nested aggregate. Which: structured bindings. So: classes without bases, with at most 48 fields
// that can be initialised from {}. (A reference cannot; has_unopenable_field tells.) No state, nothing at run time but
// visit_fields.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ::detail {

template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);
};

// Converts to any strict base of T.
template <class T>
struct any_base_of {
  template <class Base>
    requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
  constexpr operator Base() const noexcept;
};
inline constexpr std::size_t most_fields = 48;

template <class T>
inline constexpr bool is_open_aggregate = std::is_class_v<T> && std::is_aggregate_v<T>;

template <class T>
consteval bool aggregate_has_base() {
  if constexpr (is_open_aggregate<T> && !std::is_empty_v<T>) return requires { T{any_base_of<T>{}}; };
  return false;
}

template <class T>
consteval std::size_t count_fields() {
  if constexpr (std::is_empty_v<T>)
    return 0;
  else if constexpr (!requires { T{{}}; })
    return 0;
  else if constexpr (!requires { T{{}, {}}; })
    return 1;
  else if constexpr (!requires { T{{}, {}, {}}; })
    return 2;
  else if constexpr (!requires { T{{}, {}, {}, {}}; })
    return 3;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}}; })
    return 4;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}}; })
    return 5;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}}; })
    return 6;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; })
    return 7;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 8;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 9;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 10;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 11;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 12;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 13;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 14;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 15;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 16;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 17;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 18;
  else if constexpr (!requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; })
    return 19;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 20;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 21;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 22;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 23;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 24;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 25;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 26;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 27;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 28;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 29;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 30;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 31;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 32;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 33;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 34;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 35;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 36;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 37;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 38;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 39;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 40;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 41;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 42;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 43;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 44;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 45;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 46;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 47;
  else if constexpr (!requires {
                       T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                         {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
                     })
    return 48;
  return most_fields + 1;
}

template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

// Convert to whatever a field may be.
struct any_value {
  template <class Field>
  constexpr operator Field&&() const noexcept;
};
struct any_object {
  template <class Field>
  constexpr operator Field&() const noexcept;
};
// Whether there is a field beyond those counted: one that cannot be initialised from {}, but has an initialiser of its
// own.
template <class T>
consteval bool has_uncounted_field() {
  constexpr std::size_t n = field_count<T>;
  if constexpr (std::is_empty_v<T>)
    return false;
  else if constexpr (n == 0)
    return requires { T{any_value{}}; } || requires { T{any_object{}}; };
  else if constexpr (n == 1)
    return requires { T{{}, any_value{}}; } || requires { T{{}, any_object{}}; };
  else if constexpr (n == 2)
    return requires { T{{}, {}, any_value{}}; } || requires { T{{}, {}, any_object{}}; };
  else if constexpr (n == 3)
    return requires { T{{}, {}, {}, any_value{}}; } || requires { T{{}, {}, {}, any_object{}}; };
  else if constexpr (n == 4)
    return requires { T{{}, {}, {}, {}, any_value{}}; } || requires { T{{}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 5)
    return requires { T{{}, {}, {}, {}, {}, any_value{}}; } || requires { T{{}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 6)
    return requires { T{{}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 7)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 8)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 9)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 10)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 11)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 12)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 13)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 14)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 15)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 16)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 17)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 18)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 19)
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}}; } ||
           requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 20)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}}; };
  else if constexpr (n == 21)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 22)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 23)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 24)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 25)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 26)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 27)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 28)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 29)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 30)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 31)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 32)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 33)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 34)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 35)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 36)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 37)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 38)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 39)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 40)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 41)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 42)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 43)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 44)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 45)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 46)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},         {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},          {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  else if constexpr (n == 47)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_value{}};
    } || requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, any_object{}};
    };
  return false;
}

// Some field cannot be initialised from {}: a reference, or a class without a default constructor.
template <class T>
inline constexpr bool has_unopenable_field = [] {
  if constexpr (!is_open_aggregate<T>) {
    return false;
  } else if constexpr (!requires { T{}; }) {
    return true;
  } else {
    return has_uncounted_field<T>();
  }
}();

// Whether the fields of T can be found here.
template <class T>
inline constexpr bool has_known_fields = [] {
  if constexpr (!is_open_aggregate<T>) {
    return false;
  } else if constexpr (aggregate_has_base<T>()) {
    return false;
  } else {
    return field_count<T> <= most_fields && !has_unopenable_field<T>;
  }
}();

// The types of the fields, as declared (a bit-field's is that of its values).
template <class T>
consteval auto list_field_types(T& value) {
  constexpr std::size_t n = field_count<T>;
  if constexpr (n == 0)
    return type_list<>{};
  else if constexpr (n == 1) {
    auto& [f0] = value;
    return type_list<decltype(f0)>{};
  } else if constexpr (n == 2) {
    auto& [f0, f1] = value;
    return type_list<decltype(f0), decltype(f1)>{};
  } else if constexpr (n == 3) {
    auto& [f0, f1, f2] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2)>{};
  } else if constexpr (n == 4) {
    auto& [f0, f1, f2, f3] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3)>{};
  } else if constexpr (n == 5) {
    auto& [f0, f1, f2, f3, f4] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4)>{};
  } else if constexpr (n == 6) {
    auto& [f0, f1, f2, f3, f4, f5] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5)>{};
  } else if constexpr (n == 7) {
    auto& [f0, f1, f2, f3, f4, f5, f6] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5),
                     decltype(f6)>{};
  } else if constexpr (n == 8) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7)>{};
  } else if constexpr (n == 9) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8)>{};
  } else if constexpr (n == 10) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9)>{};
  } else if constexpr (n == 11) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10)>{};
  } else if constexpr (n == 12) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11)>{};
  } else if constexpr (n == 13) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12)>{};
  } else if constexpr (n == 14) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13)>{};
  } else if constexpr (n == 15) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14)>{};
  } else if constexpr (n == 16) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15)>{};
  } else if constexpr (n == 17) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16)>{};
  } else if constexpr (n == 18) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17)>{};
  } else if constexpr (n == 19) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18)>{};
  } else if constexpr (n == 20) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19)>{};
  } else if constexpr (n == 21) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20)>{};
  } else if constexpr (n == 22) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21)>{};
  } else if constexpr (n == 23) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22] =
        value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22)>{};
  } else if constexpr (n == 24) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
           f23] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23)>{};
  } else if constexpr (n == 25) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24)>{};
  } else if constexpr (n == 26) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25)>{};
  } else if constexpr (n == 27) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26)>{};
  } else if constexpr (n == 28) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27)>{};
  } else if constexpr (n == 29) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28)>{};
  } else if constexpr (n == 30) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29)>{};
  } else if constexpr (n == 31) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30)>{};
  } else if constexpr (n == 32) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31)>{};
  } else if constexpr (n == 33) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32)>{};
  } else if constexpr (n == 34) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33)>{};
  } else if constexpr (n == 35) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34)>{};
  } else if constexpr (n == 36) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35)>{};
  } else if constexpr (n == 37) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36)>{};
  } else if constexpr (n == 38) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37)>{};
  } else if constexpr (n == 39) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38)>{};
  } else if constexpr (n == 40) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39)>{};
  } else if constexpr (n == 41) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40)>{};
  } else if constexpr (n == 42) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40), decltype(f41)>{};
  } else if constexpr (n == 43) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40), decltype(f41), decltype(f42)>{};
  } else if constexpr (n == 44) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40), decltype(f41), decltype(f42),
                     decltype(f43)>{};
  } else if constexpr (n == 45) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44] =
        value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40), decltype(f41), decltype(f42),
                     decltype(f43), decltype(f44)>{};
  } else if constexpr (n == 46) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44,
           f45] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40), decltype(f41), decltype(f42),
                     decltype(f43), decltype(f44), decltype(f45)>{};
  } else if constexpr (n == 47) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40), decltype(f41), decltype(f42),
                     decltype(f43), decltype(f44), decltype(f45), decltype(f46)>{};
  } else if constexpr (n == 48) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46, f47] = value;
    return type_list<decltype(f0), decltype(f1), decltype(f2), decltype(f3), decltype(f4), decltype(f5), decltype(f6),
                     decltype(f7), decltype(f8), decltype(f9), decltype(f10), decltype(f11), decltype(f12),
                     decltype(f13), decltype(f14), decltype(f15), decltype(f16), decltype(f17), decltype(f18),
                     decltype(f19), decltype(f20), decltype(f21), decltype(f22), decltype(f23), decltype(f24),
                     decltype(f25), decltype(f26), decltype(f27), decltype(f28), decltype(f29), decltype(f30),
                     decltype(f31), decltype(f32), decltype(f33), decltype(f34), decltype(f35), decltype(f36),
                     decltype(f37), decltype(f38), decltype(f39), decltype(f40), decltype(f41), decltype(f42),
                     decltype(f43), decltype(f44), decltype(f45), decltype(f46), decltype(f47)>{};
  }
}
template <class T>
using field_types = decltype(list_field_types(std::declval<T&>()));

// Whether each field has an address, as bit-fields have not.
template <class T>
consteval auto find_whether_addressable(T& value) {
  constexpr std::size_t n = field_count<T>;
  if constexpr (n == 0)
    return std::true_type{};
  else if constexpr (n == 1) {
    auto& [f0] = value;
    return std::bool_constant<requires { &f0; }>{};
  } else if constexpr (n == 2) {
    auto& [f0, f1] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
    }>{};
  } else if constexpr (n == 3) {
    auto& [f0, f1, f2] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
    }>{};
  } else if constexpr (n == 4) {
    auto& [f0, f1, f2, f3] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
    }>{};
  } else if constexpr (n == 5) {
    auto& [f0, f1, f2, f3, f4] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
    }>{};
  } else if constexpr (n == 6) {
    auto& [f0, f1, f2, f3, f4, f5] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
    }>{};
  } else if constexpr (n == 7) {
    auto& [f0, f1, f2, f3, f4, f5, f6] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
    }>{};
  } else if constexpr (n == 8) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
    }>{};
  } else if constexpr (n == 9) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
    }>{};
  } else if constexpr (n == 10) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
    }>{};
  } else if constexpr (n == 11) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
    }>{};
  } else if constexpr (n == 12) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
    }>{};
  } else if constexpr (n == 13) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
    }>{};
  } else if constexpr (n == 14) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
    }>{};
  } else if constexpr (n == 15) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
    }>{};
  } else if constexpr (n == 16) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
    }>{};
  } else if constexpr (n == 17) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
    }>{};
  } else if constexpr (n == 18) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
    }>{};
  } else if constexpr (n == 19) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
    }>{};
  } else if constexpr (n == 20) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
    }>{};
  } else if constexpr (n == 21) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
    }>{};
  } else if constexpr (n == 22) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
    }>{};
  } else if constexpr (n == 23) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22] =
        value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
    }>{};
  } else if constexpr (n == 24) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
           f23] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
    }>{};
  } else if constexpr (n == 25) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
    }>{};
  } else if constexpr (n == 26) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
    }>{};
  } else if constexpr (n == 27) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
    }>{};
  } else if constexpr (n == 28) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
    }>{};
  } else if constexpr (n == 29) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
    }>{};
  } else if constexpr (n == 30) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
    }>{};
  } else if constexpr (n == 31) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
    }>{};
  } else if constexpr (n == 32) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
    }>{};
  } else if constexpr (n == 33) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
    }>{};
  } else if constexpr (n == 34) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
    }>{};
  } else if constexpr (n == 35) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
    }>{};
  } else if constexpr (n == 36) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
    }>{};
  } else if constexpr (n == 37) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
    }>{};
  } else if constexpr (n == 38) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
    }>{};
  } else if constexpr (n == 39) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
    }>{};
  } else if constexpr (n == 40) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
    }>{};
  } else if constexpr (n == 41) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
    }>{};
  } else if constexpr (n == 42) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
      &f41;
    }>{};
  } else if constexpr (n == 43) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
      &f41;
      &f42;
    }>{};
  } else if constexpr (n == 44) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
      &f41;
      &f42;
      &f43;
    }>{};
  } else if constexpr (n == 45) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44] =
        value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
      &f41;
      &f42;
      &f43;
      &f44;
    }>{};
  } else if constexpr (n == 46) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44,
           f45] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
      &f41;
      &f42;
      &f43;
      &f44;
      &f45;
    }>{};
  } else if constexpr (n == 47) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
      &f41;
      &f42;
      &f43;
      &f44;
      &f45;
      &f46;
    }>{};
  } else if constexpr (n == 48) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46, f47] = value;
    return std::bool_constant<requires {
      &f0;
      &f1;
      &f2;
      &f3;
      &f4;
      &f5;
      &f6;
      &f7;
      &f8;
      &f9;
      &f10;
      &f11;
      &f12;
      &f13;
      &f14;
      &f15;
      &f16;
      &f17;
      &f18;
      &f19;
      &f20;
      &f21;
      &f22;
      &f23;
      &f24;
      &f25;
      &f26;
      &f27;
      &f28;
      &f29;
      &f30;
      &f31;
      &f32;
      &f33;
      &f34;
      &f35;
      &f36;
      &f37;
      &f38;
      &f39;
      &f40;
      &f41;
      &f42;
      &f43;
      &f44;
      &f45;
      &f46;
      &f47;
    }>{};
  }
}
template <class T>
inline constexpr bool has_addressable_fields = [] {
  if constexpr (has_known_fields<T>)
    return decltype(find_whether_addressable(std::declval<T&>()))::value;
  else
    return false;
}();

// The addresses of the fields, as constants: what field_key is made of. No bit-fields, no references.
template <class T>
consteval auto list_field_addresses(T& value) {
  constexpr std::size_t n = field_count<T>;
  if constexpr (n == 0)
    return std::tuple<>{};
  else if constexpr (n == 1) {
    auto& [f0] = value;
    return std::tuple{&f0};
  } else if constexpr (n == 2) {
    auto& [f0, f1] = value;
    return std::tuple{&f0, &f1};
  } else if constexpr (n == 3) {
    auto& [f0, f1, f2] = value;
    return std::tuple{&f0, &f1, &f2};
  } else if constexpr (n == 4) {
    auto& [f0, f1, f2, f3] = value;
    return std::tuple{&f0, &f1, &f2, &f3};
  } else if constexpr (n == 5) {
    auto& [f0, f1, f2, f3, f4] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4};
  } else if constexpr (n == 6) {
    auto& [f0, f1, f2, f3, f4, f5] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5};
  } else if constexpr (n == 7) {
    auto& [f0, f1, f2, f3, f4, f5, f6] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6};
  } else if constexpr (n == 8) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7};
  } else if constexpr (n == 9) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8};
  } else if constexpr (n == 10) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9};
  } else if constexpr (n == 11) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10};
  } else if constexpr (n == 12) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10, &f11};
  } else if constexpr (n == 13) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10, &f11, &f12};
  } else if constexpr (n == 14) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10, &f11, &f12, &f13};
  } else if constexpr (n == 15) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10, &f11, &f12, &f13, &f14};
  } else if constexpr (n == 16) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10, &f11, &f12, &f13, &f14, &f15};
  } else if constexpr (n == 17) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10, &f11, &f12, &f13, &f14, &f15, &f16};
  } else if constexpr (n == 18) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17] = value;
    return std::tuple{&f0, &f1, &f2, &f3, &f4, &f5, &f6, &f7, &f8, &f9, &f10, &f11, &f12, &f13, &f14, &f15, &f16, &f17};
  } else if constexpr (n == 19) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8, &f9,
                      &f10, &f11, &f12, &f13, &f14, &f15, &f16, &f17, &f18};
  } else if constexpr (n == 20) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,
                      &f10, &f11, &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19};
  } else if constexpr (n == 21) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9, &f10,
                      &f11, &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20};
  } else if constexpr (n == 22) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10,
                      &f11, &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21};
  } else if constexpr (n == 23) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22] =
        value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11,
                      &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22};
  } else if constexpr (n == 24) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
           f23] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11,
                      &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23};
  } else if constexpr (n == 25) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12,
                      &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24};
  } else if constexpr (n == 26) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12,
                      &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25};
  } else if constexpr (n == 27) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13,
                      &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26};
  } else if constexpr (n == 28) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13,
                      &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27};
  } else if constexpr (n == 29) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14,
                      &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28};
  } else if constexpr (n == 30) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14,
                      &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29};
  } else if constexpr (n == 31) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14, &f15,
                      &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29, &f30};
  } else if constexpr (n == 32) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14, &f15,
                      &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31};
  } else if constexpr (n == 33) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10,
                      &f11, &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21,
                      &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31, &f32};
  } else if constexpr (n == 34) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11,
                      &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23,
                      &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31, &f32, &f33};
  } else if constexpr (n == 35) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11,
                      &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23,
                      &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31, &f32, &f33, &f34};
  } else if constexpr (n == 36) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11,
                      &f12, &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23,
                      &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31, &f32, &f33, &f34, &f35};
  } else if constexpr (n == 37) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12,
                      &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25,
                      &f26, &f27, &f28, &f29, &f30, &f31, &f32, &f33, &f34, &f35, &f36};
  } else if constexpr (n == 38) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12,
                      &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25,
                      &f26, &f27, &f28, &f29, &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37};
  } else if constexpr (n == 39) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12,
                      &f13, &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25,
                      &f26, &f27, &f28, &f29, &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37, &f38};
  } else if constexpr (n == 40) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13,
                      &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27,
                      &f28, &f29, &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39};
  } else if constexpr (n == 41) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13,
                      &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27,
                      &f28, &f29, &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40};
  } else if constexpr (n == 42) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13,
                      &f14, &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27,
                      &f28, &f29, &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40, &f41};
  } else if constexpr (n == 43) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14,
                      &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29,
                      &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40, &f41, &f42};
  } else if constexpr (n == 44) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14,
                      &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29,
                      &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40, &f41, &f42, &f43};
  } else if constexpr (n == 45) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44] =
        value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14,
                      &f15, &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29,
                      &f30, &f31, &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40, &f41, &f42, &f43, &f44};
  } else if constexpr (n == 46) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44,
           f45] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14, &f15,
                      &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31,
                      &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40, &f41, &f42, &f43, &f44, &f45};
  } else if constexpr (n == 47) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14, &f15,
                      &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31,
                      &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40, &f41, &f42, &f43, &f44, &f45, &f46};
  } else if constexpr (n == 48) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46, f47] = value;
    return std::tuple{&f0,  &f1,  &f2,  &f3,  &f4,  &f5,  &f6,  &f7,  &f8,  &f9,  &f10, &f11, &f12, &f13, &f14, &f15,
                      &f16, &f17, &f18, &f19, &f20, &f21, &f22, &f23, &f24, &f25, &f26, &f27, &f28, &f29, &f30, &f31,
                      &f32, &f33, &f34, &f35, &f36, &f37, &f38, &f39, &f40, &f41, &f42, &f43, &f44, &f45, &f46, &f47};
  }
}

// Calls visit(field&) for each field of `value`, in order. Reads nothing. No bit-fields.
template <class T, class Visit>
void visit_fields(T& value, Visit&& visit) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>;
  const auto each = [&](auto&... fields) { (visit(fields), ...); };
  if constexpr (n == 0)
    return;
  else if constexpr (n == 1) {
    auto& [f0] = value;
    each(f0);
  } else if constexpr (n == 2) {
    auto& [f0, f1] = value;
    each(f0, f1);
  } else if constexpr (n == 3) {
    auto& [f0, f1, f2] = value;
    each(f0, f1, f2);
  } else if constexpr (n == 4) {
    auto& [f0, f1, f2, f3] = value;
    each(f0, f1, f2, f3);
  } else if constexpr (n == 5) {
    auto& [f0, f1, f2, f3, f4] = value;
    each(f0, f1, f2, f3, f4);
  } else if constexpr (n == 6) {
    auto& [f0, f1, f2, f3, f4, f5] = value;
    each(f0, f1, f2, f3, f4, f5);
  } else if constexpr (n == 7) {
    auto& [f0, f1, f2, f3, f4, f5, f6] = value;
    each(f0, f1, f2, f3, f4, f5, f6);
  } else if constexpr (n == 8) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7);
  } else if constexpr (n == 9) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8);
  } else if constexpr (n == 10) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9);
  } else if constexpr (n == 11) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10);
  } else if constexpr (n == 12) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11);
  } else if constexpr (n == 13) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12);
  } else if constexpr (n == 14) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13);
  } else if constexpr (n == 15) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14);
  } else if constexpr (n == 16) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15);
  } else if constexpr (n == 17) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16);
  } else if constexpr (n == 18) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17);
  } else if constexpr (n == 19) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18);
  } else if constexpr (n == 20) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19);
  } else if constexpr (n == 21) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20);
  } else if constexpr (n == 22) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21);
  } else if constexpr (n == 23) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22] =
        value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22);
  } else if constexpr (n == 24) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
           f23] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23);
  } else if constexpr (n == 25) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24);
  } else if constexpr (n == 26) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25);
  } else if constexpr (n == 27) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26);
  } else if constexpr (n == 28) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27);
  } else if constexpr (n == 29) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28);
  } else if constexpr (n == 30) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29);
  } else if constexpr (n == 31) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30);
  } else if constexpr (n == 32) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31);
  } else if constexpr (n == 33) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32);
  } else if constexpr (n == 34) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33);
  } else if constexpr (n == 35) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34);
  } else if constexpr (n == 36) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35);
  } else if constexpr (n == 37) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36);
  } else if constexpr (n == 38) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37);
  } else if constexpr (n == 39) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38);
  } else if constexpr (n == 40) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39);
  } else if constexpr (n == 41) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40);
  } else if constexpr (n == 42) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41);
  } else if constexpr (n == 43) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42);
  } else if constexpr (n == 44) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43);
  } else if constexpr (n == 45) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44] =
        value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44);
  } else if constexpr (n == 46) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44,
           f45] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45);
  } else if constexpr (n == 47) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
         f46);
  } else if constexpr (n == 48) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
           f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
           f46, f47] = value;
    each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23,
         f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45,
         f46, f47);
  }
}

}  // namespace situ::detail
