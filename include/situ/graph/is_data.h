// Which classes are plain data to object graphs and messages.
#pragma once

#include <situ/memory/place.h>
#include <situ/memory/ptr.h>

#include <chrono>
#include <complex>

namespace situ {

// Trivially copyable classes that hold no address: their bytes are their value. Specialise for your own where they are
// no aggregates.
template <class T>
inline constexpr bool is_data = false;
template <class T>
inline constexpr bool is_data<ptr<T>> = true;
template <>
inline constexpr bool is_data<place> = true;
template <class Rep, class Period>
inline constexpr bool is_data<std::chrono::duration<Rep, Period>> = true;
template <class Clock, class Duration>
inline constexpr bool is_data<std::chrono::time_point<Clock, Duration>> = true;
template <class T>
inline constexpr bool is_data<std::complex<T>> = true;

}  // namespace situ
