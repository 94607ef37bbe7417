#include "model/execution/warm_start.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <utility>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/request_trace.h"
#include "model/parts/branch_predictor.h"

namespace situ::model {

std::string saved_state(const engine& of) {
  state_words words;
  of.save_state(words);
  return encode_state(of.state_hash(), words);
}

void begin_with_state(engine& in, const std::string& file) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream) throw_error(errc::bad_file, fmt::format("{}: cannot be read", file));
  const std::string content{std::istreambuf_iterator<char>{stream}, {}};
  in.begin_with(decode_state(content, in.state_hash(), file), file);
}

// --- the engine's part -----------------------------------------------------------------------------------------------

std::uint64_t engine::state_hash() const {
  word_hash hash;
  hash.add(machine_->state_hash());
  for (const core& each : cores_) hash.add(each.predictor != nullptr ? 1 : 0);
  return hash.value();
}

void engine::save_state(state_words& to) const {
  machine_->save_state(to);
  for (const auto& each : branch_predictors_) each->save(to);
}

void engine::begin_with(state_words words, std::string file) {
  warm_ = std::move(words);
  warm_file_ = std::move(file);
  if (!fast_forward_) load_warm_state();
}

// The machine's counts begin here: they leave out the program's accesses so far.
void engine::end_fast_forward() {
  fast_forward_ = false;
  if (requests_)
    for (const core& c : cores_) requests_->begin(c);
  if (options_.warms) {
    machine_->end_warming();
    for (core& c : cores_) {
      std::ranges::copy(c.hits, c.told_hits);
      c.told_fetch_hits = c.fetch_hits;
    }
  }
  try {
    load_warm_state();
  } catch (const std::exception& failure) {  // the program calls: it must see no exception of the executor's
    give_up(failure.what());
  }
}

// The checksum and the hash of the file were right: it was written as a state of this machine, if not by one.
void engine::load_warm_state() {
  if (warm_.empty()) return;
  try {
    state_reader from{warm_};
    machine_->load_state(from);
    for (const auto& each : branch_predictors_) each->load(from);
    if (!from.is_at_end()) throw_error(errc::bad_file, "the saved state has more parts than the machine");
  } catch (const error& failure) {
    throw_error(errc::bad_file, fmt::format("{}: {}", warm_file_, failure.message()));
  }
  warm_ = {};
}

}  // namespace situ::model
