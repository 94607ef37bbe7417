#include "model/execution/warm_start.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "model/execution/engine.h"
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
  in.begin_with(decode_state(content, in.state_hash(), file));
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

void engine::begin_with(state_words words) {
  warm_ = std::move(words);
  if (!fast_forward_) load_warm_state();
}

void engine::load_warm_state() {
  if (warm_.empty()) return;
  state_reader from{warm_};
  machine_->load_state(from);
  for (const auto& each : branch_predictors_) each->load(from);
  if (!from.is_at_end()) throw_error(errc::bad_file, "the saved state has more parts than the machine");
  warm_ = {};
}

}  // namespace situ::model
