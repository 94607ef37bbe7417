#include "rmem/membership.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>

#include "os/bytes.h"
#include "os/host.h"
#include "rmem/link.h"

namespace situ::rmem::detail {
namespace {

using namespace std::chrono_literals;
using situ::detail::steady_ns;

constexpr auto beat_interval = 50ms;                  // an eighth of the usual lease
constexpr auto connect_interval = 50ms;               // the pause between two tries
constexpr client_options patience{.timeout = 300ms};  // with a name server or a member; less than the usual lease

link link_to(const std::string& endpoint, const application_key& key) {
  return link{[endpoint](bool) { return server_place{endpoint, 0}; }, std::nullopt, key, patience};
}

}  // namespace

membership::membership(std::string names, application_key key, poster post, calls to)
    : names_{std::move(names)},
      key_{std::move(key)},
      post_{std::move(post)},
      calls_{std::move(to)},
      connects_{[this](const std::stop_token& stop) { connect(stop); }},
      beats_{[this](const std::stop_token& stop) { beat(stop); }} {}

membership::~membership() {
  beats_.request_stop();
  connects_.request_stop();
}

template <class Call>
auto membership::ask(const std::stop_token& stop, Call call) -> std::optional<decltype(call())> {
  auto answer = std::make_shared<std::promise<decltype(call())>>();
  auto comes = answer->get_future();
  post_([answer, call] { answer->set_value(call()); });
  while (comes.wait_for(10ms) != std::future_status::ready)
    if (stop.stop_requested()) return {};
  return comes.get();
}

void membership::beat(const std::stop_token& stop) {
  link names = link_to(names_, key_);
  bool has_complained = false;
  while (!stop.stop_requested()) {
    const std::uint64_t asked_ns = steady_ns();
    const std::optional<beat_entry> said = ask(stop, calls_.beat);
    if (!said) return;
    try {
      const short_answer got = names.ask({.operation = static_cast<std::uint16_t>(operation::beat)}, bytes_of(*said));
      const auto told = os::whole_value<view_entry>(got.body);
      if (!told) throw_error(errc::bad_message, "an answer has no view");
      has_complained = false;
      post_([this, asked_ns, told = *told] { calls_.told(told, asked_ns); });
    } catch (const error& failure) {
      if (!has_complained)
        log(log_level::warning,
            fmt::format("the name server {} does not answer; without it no replica serves for long: {}", names_,
                        failure.message()));
      has_complained = true;
    }
    std::unique_lock held{lock_};
    ends_.wait_for(held, stop, beat_interval, [] { return false; });
  }
}

void membership::connect(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto wish = ask(stop, calls_.wish);
    if (!wish) return;
    if (const auto& [to, said] = *wish; to.node != 0) {
      try {
        link made = link_to(std::string{text_of(to.endpoint)}, key_);
        made.ask({.operation = static_cast<std::uint16_t>(operation::follow)}, bytes_of(said));
        auto taken = std::make_shared<link::taken_socket>(made.release());
        post_([this, node = to.node, taken] {
          calls_.connected(node, std::move(taken->socket), std::move(taken->come));
        });
      } catch (const error&) {
        // The member has not received the view yet, or is lost; the next view decides.
      }
    }
    std::unique_lock held{lock_};
    ends_.wait_for(held, stop, connect_interval, [] { return false; });
  }
}

}  // namespace situ::rmem::detail
