#include "rmem/registrar.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace situ::rmem::detail {
namespace {

using namespace std::chrono_literals;
constexpr auto interval = 1s;
constexpr auto name_server_timeout = 2s;

}  // namespace

registrar::registrar(std::string names, application_key key, std::string name, std::string endpoint)
    : names_{std::move(names)},
      key_{std::move(key)},
      name_{std::move(name)},
      endpoint_{std::move(endpoint)},
      thread_{[this](const std::stop_token& stop) { keep(stop); }} {}
registrar::~registrar() = default;

void registrar::link_once() {
  try {
    if (!client_) client_.emplace(names_, key_, client_options{.timeout = name_server_timeout});
    client_->link_name(name_, endpoint_);
    if (!is_linked_) log(log_level::info, fmt::format("{} is linked to {} at {}", name_, endpoint_, names_));
    is_linked_ = true;
    has_complained_ = false;
  } catch (const error& failure) {
    if (!has_complained_)
      log(log_level::warning, fmt::format("{} cannot be linked at {}, and will be tried again each second: {}", name_,
                                          names_, failure.message()));
    has_complained_ = true;
    is_linked_ = false;
  }
}

void registrar::keep(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    link_once();
    std::unique_lock held{lock_};
    ends_.wait_for(held, stop, interval, [] { return false; });
  }
}

}  // namespace situ::rmem::detail
