// Servers of remote memory for tests: in threads of the test, on ports of their own.
#pragma once

#include <situ/base/error.h>
#include <situ/rmem/client.h>
#include <situ/rmem/server.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pthread.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "os/descriptor.h"

namespace situ_rmem_test {

using namespace std::chrono_literals;
using situ::errc;
namespace os = situ::os;
namespace rmem = situ::rmem;
using rmem::capability;
using rmem::client;
using rmem::rights;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

// The applications of all tests.
inline const std::vector<rmem::application_key>& keys() {
  static const std::vector<rmem::application_key> all{rmem::application_key::generate("packages"),
                                                      rmem::application_key::generate("graphs"),
                                                      rmem::application_key::generate("cluster", true)};
  return all;
}
inline const rmem::application_key& packages() { return keys()[0]; }
inline const rmem::application_key& graphs() { return keys()[1]; }
inline const rmem::application_key& cluster() { return keys()[2]; }

inline rmem::server_options options_of(std::uint64_t capacity_bytes, std::uint32_t index = 0) {
  rmem::server_options options;
  options.capacity_bytes = capacity_bytes;
  options.index = index;
  options.keys = keys();
  return options;
}

class running_server {
 public:
  explicit running_server(rmem::server_options options)
      : server_{std::move(options)}, thread_{[this] { server_.run(); }} {}
  explicit running_server(std::uint64_t capacity_bytes) : running_server{options_of(capacity_bytes)} {}
  ~running_server() { stop(); }
  void stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] const std::string& endpoint(std::size_t which = 0) const { return server_.endpoints()[which]; }
  // What its thread has taken of the processors so far.
  [[nodiscard]] std::chrono::nanoseconds processor_time() {
    clockid_t clock{};
    timespec taken{};
    EXPECT_EQ(::pthread_getcpuclockid(thread_.native_handle(), &clock), 0);
    EXPECT_EQ(::clock_gettime(clock, &taken), 0);
    return std::chrono::seconds{taken.tv_sec} + std::chrono::nanoseconds{taken.tv_nsec};
  }
  // Of its whole life; ends it.
  [[nodiscard]] rmem::statistics counted() {
    stop();
    return server_.counted();
  }

 private:
  rmem::server server_;
  std::jthread thread_;
};

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
  std::vector<std::byte> made(bytes);
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::byte& each : made) {
    state = state * 1664525U + 1013904223U;
    each = static_cast<std::byte>(state >> 24);
  }
  return made;
}

template <class Call>
void expect_refused(errc code, const Call& call, const std::string& words = "") {
  try {
    call();
    FAIL() << "nothing was thrown";
  } catch (const situ::error& refused) {
    EXPECT_EQ(refused.code(), code) << refused.what();
    EXPECT_THAT(refused.what(), testing::HasSubstr(words));
  }
}

}  // namespace situ_rmem_test
