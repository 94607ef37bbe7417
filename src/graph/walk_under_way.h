// A graph that a unit of the machine walks before it sends the call itself (graph_units.h: units_that_dispatch).
#pragma once

#include <situ/base/error.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "graph/graph_units.h"
#include "graph/transfer_protocol.h"
#include "memory/job.h"
#include "os/host.h"

namespace situ::detail {

static_assert(job::max_places < 1 << 16);  // a word has 16 bits for the failure epoch, at most one for each place

// The graph of one call or result. A unit reads it until the walk is over; the destructor waits for that.
struct walk_under_way final : unit_walk {
  std::array<graph_root, most_roots> store;
  std::uint32_t failure_epoch = 0;
  bool is_result = false;
  std::atomic<bool> is_over{true};  // also before begin()
  std::uint32_t error_code = 0;
  char error_text[256];

  walk_under_way() noexcept {}  // NOLINT(modernize-use-equals-default): `store` is not cleared
  walk_under_way(const walk_under_way&) = delete;
  walk_under_way& operator=(const walk_under_way&) = delete;
  ~walk_under_way() {
    if (is_over.load(std::memory_order_acquire)) return;
    if (graph_units_in_use().dispatching->recall(*this)) end();
    while (!is_over.load(std::memory_order_acquire)) give_way();  // a unit does the walk, so this ends soon
  }

  // Begins the walk. in_message: space for two words in the message that this place sends next; null: there is no
  // message, and words() has the result.
  void begin(std::span<const graph_root> graphs, std::byte* in_message) {
    std::copy(graphs.begin(), graphs.end(), store.begin());
    place = current->place;
    roots = {store.data(), graphs.size()};
    room = in_message;
    failure_epoch = current->told_of;
    over = [](unit_walk& walk, const measured_graph& found, const std::exception* failure, std::uint64_t(&words)[2]) {
      auto& self = static_cast<walk_under_way&>(walk);
      self.find_words(found, failure, words);
      self.end();
    };
    is_over.store(false, std::memory_order_relaxed);
    // A place that is notified of a loss, and may free the graph, first waits for this count to fall (liveness.cpp).
    control_ = current->job;
    control_->slot(place).read_by_agent.fetch_add(1);
    graph_units_in_use().dispatching->dispatch(*this);
  }
  // Returns the result of a walk without a message. pre: the walk is over.
  [[nodiscard]] const std::uint64_t* words() const noexcept { return words_; }

 private:
  void find_words(const measured_graph& found, const std::exception* failure, std::uint64_t (&words)[2]) noexcept {
    words[0] = found.finalizer_words << 32 | std::uint64_t{failure_epoch} << 16 |
               static_cast<std::uint64_t>(std::countr_zero(std::max(found.alignment, 1U))) << 8 |
               (is_result ? result_sent_by_unit : sent_by_unit);
    words[1] = found.objects << 32 | found.copy_bytes / 8;
    if (failure == nullptr && found.copy_bytes / 8 >> 32 == 0 && found.objects >> 31 == 0) {
      std::copy(std::begin(words), std::end(words), words_);
      return;
    }
    const auto* const known = dynamic_cast<const error*>(failure);
    error_code = static_cast<std::uint32_t>(known != nullptr ? known->code() : errc::out_of_memory);
    const std::string_view text = known != nullptr     ? std::string_view{known->message()}
                                  : failure != nullptr ? std::string_view{failure->what()}
                                                       : "a graph of 32 GiB or more is offloaded";
    const std::size_t length = std::min(text.size(), sizeof error_text - 1);
    std::memcpy(error_text, text.data(), length);
    error_text[length] = '\0';
    words[1] = walk_has_failed | reinterpret_cast<std::uintptr_t>(this);
    std::copy(std::begin(words), std::end(words), words_);
  }
  void end() noexcept {
    control_->slot(place).read_by_agent.fetch_sub(1);
    is_over.store(true, std::memory_order_release);
  }
  job_control* control_ = nullptr;  // units have no `current`
  std::uint64_t words_[2];
};

// Keeps a graph that a unit walks for a call.
struct walked_graph final : held_by_call {
  std::unique_ptr<held_by_call> arguments;
  walk_under_way walk;  // ends before the arguments that it reads
  explicit walked_graph(std::unique_ptr<held_by_call> held) noexcept : arguments{std::move(held)} {}
};

}  // namespace situ::detail
