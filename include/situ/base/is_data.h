// Says which classes are plain data for messages and object graphs.
#pragma once

#include <situ/base/detail/abi.h>

#include <complex>

namespace situ {

// True for trivially copyable classes that hold no address, so that their bytes are their value. Most are recognised
// automatically. Specialise it for your own class if a compile error asks for that:
//
//   template <> inline constexpr bool situ::is_data<T> = true;
template <class T>
inline constexpr bool is_data = false;
template <class T>
inline constexpr bool is_data<std::complex<T>> = true;

}  // namespace situ
