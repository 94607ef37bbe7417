// The exceptions of OPS, for programs that name them. Situ's own errors are situ::error; both are std::exception.
#pragma once

#include <exception>
#include <sstream>
#include <string>

#define OPS_NOT_IMPLEMENTED 1
#define OPS_RUNTIME_CONFIGURATION_ERROR 2
#define OPS_INTERNAL_ERROR 3
#define OPS_RUNTIME_ERROR 4
#define OPS_HDF5_ERROR 5
#define OPS_INVALID_ARGUMENT 6

struct OPSException : public std::exception {
  int code;
  explicit OPSException(int c) : code{c} {}
  OPSException(int c, const char* message) : code{c}, situ_message{message} {}
  template <class T>
  OPSException& operator<<(const T& value) {
    std::ostringstream text;
    text << value;
    situ_message += text.str();
    return *this;
  }
  const char* what() const noexcept override { return situ_message.c_str(); }

  std::string situ_message;
};
