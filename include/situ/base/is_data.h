// Which classes are plain data to messages and object graphs.
#pragma once

#include <situ/base/detail/abi.h>

#include <complex>

namespace situ {

// Trivially copyable classes that hold no address: their bytes are their value. Most are known by themselves;
// specialise for your own where a compile error says so: template <> inline constexpr bool situ::is_data<T> = true.
template <class T>
inline constexpr bool is_data = false;
template <class T>
inline constexpr bool is_data<std::complex<T>> = true;

}  // namespace situ
