#include "placed_search.h"

#include "reference.h"

#include <algorithm>
#include <cstring>

namespace package_rank {
namespace {

void note(search_state& state, step s, std::uint32_t level) noexcept {
  SITU_ASSERT(1, s.dependent >= state.first && s.dependent < state.end, "a step goes to the owner of its dependent");
  const vertex local = s.dependent - state.first;
  if ((state.marks.local()[local] & usable) == 0) return;
  vertex& next = state.next.local()[local];
  if (next == no_vertex) {
    next = s.needed;
    state.level.local()[local] = level;
    state.found.local()[state.found_count++] = s.dependent;
  } else if (state.level.local()[local] == level) {
    next = std::min(next, s.needed);
  }
}

// The handler of the active messages, at the owner of the dependents.
void on_steps(situ::am::token&, std::span<std::byte> payload, situ::ptr<search_state> state, std::uint32_t level) {
  search_state& here = *state.local();
  for (std::size_t at = 0; at + sizeof(step) <= payload.size(); at += sizeof(step)) {
    step s;
    std::memcpy(&s, payload.data() + at, sizeof(s));
    note(here, s, level);
    ++here.steps_received;
  }
}

}  // namespace

chain_search::chain_search(const placed_graph& graph, traffic& traffic)
    : graph_{graph},
      traffic_{traffic},
      mine_{situ::allocate<search_state>()},
      batches_(situ::place_count()),
      sent_(situ::place_count()),
      batch_length_{std::min<std::size_t>(situ::am::max_medium_bytes(), 4096) / sizeof(step)} {
  const graph_part& part = graph.here();
  const std::size_t vertices = part.vertex_count();
  *mine_.local() = {part.first,
                    part.end,
                    0,
                    0,
                    part.marks,
                    situ::allocate<vertex>(vertices),
                    situ::allocate<std::uint32_t>(vertices),
                    situ::allocate<vertex>(vertices)};
  states_ = situ::all_gather(mine_);
}

chain_search::~chain_search() {
  situ::deallocate(mine_.local()->next);
  situ::deallocate(mine_.local()->level);
  situ::deallocate(mine_.local()->found);
  situ::deallocate(mine_);
}

std::vector<vertex> chain_search::run(vertex target) {
  reset(target);
  const search_state& state = *mine_.local();
  // What was found in the level before is [begin, end) of state.found. Both ends are taken while no message can be
  // under way.
  vertex begin = 0, end = state.found_count;
  situ::barrier();
  std::vector<vertex> chain;
  for (std::uint32_t level = 1;; ++level) {
    walk(begin, end, level);
    await_steps();
    begin = end;
    end = state.found_count;
    const progress all = sum_up(begin, end);
    if (all.smallest_root != no_vertex && situ::here() == situ::place{0}) chain = way_back(all.smallest_root, target);
    if (all.smallest_root != no_vertex || all.found == 0) break;
  }
  situ::barrier();  // place 0 has read the way back
  return chain;
}

void chain_search::reset(vertex target) {
  search_state& state = *mine_.local();
  std::fill_n(state.next.local(), state.end - state.first, no_vertex);
  state.found_count = 0;
  state.steps_received = 0;
  expected_ = 0;
  if (target >= state.first && target < state.end) note(state, {target, target}, 0);
}

void chain_search::walk(vertex begin, vertex end, std::uint32_t level) {
  const graph_part& part = graph_.here();
  search_state& state = *mine_.local();
  for (vertex i = begin; i < end; ++i) {
    const vertex v = state.found.local()[i];
    for (const vertex dependent : part.row(v - part.first)) {
      const situ::place owner = graph_.owner(dependent);
      if (owner == situ::here()) {
        note(state, {dependent, v}, level);
        continue;
      }
      batches_[owner.index()].push_back({dependent, v});
      if (batches_[owner.index()].size() == batch_length_) send_batch(owner, level);
    }
  }
  for (const situ::place p : situ::places())
    if (!batches_[p.index()].empty()) send_batch(p, level);
}

void chain_search::send_batch(situ::place to, std::uint32_t level) {
  std::vector<step>& batch = batches_[to.index()];
  const std::span<const std::byte> bytes = std::as_bytes(std::span{batch});
  situ::am::request_medium<on_steps>(to, bytes, states_[to.index()], level);
  traffic_.message(to, bytes.size());
  sent_[to.index()] += batch.size();
  batch.clear();
}

void chain_search::await_steps() {
  for (const std::uint64_t count : situ::all_to_all(sent_)) expected_ += count;
  std::fill(sent_.begin(), sent_.end(), 0);
  while (mine_.local()->steps_received < expected_) situ::progress();
}

chain_search::progress chain_search::sum_up(vertex begin, vertex end) const {
  const search_state& state = *mine_.local();
  progress local{end - begin, no_vertex};
  for (vertex i = begin; i < end; ++i) {
    const vertex v = state.found.local()[i];
    if ((state.marks.local()[v - state.first] & root) != 0) local.smallest_root = std::min(local.smallest_root, v);
  }
  return situ::all_reduce(local, [](progress a, progress b) {
    return progress{a.found + b.found, std::min(a.smallest_root, b.smallest_root)};
  });
}

// Reads the way out of the others' segments: one-sided, as they have nothing to add.
std::vector<vertex> chain_search::way_back(vertex from, vertex target) const {
  std::vector<vertex> chain{from};
  while (chain.back() != target) {
    const vertex v = chain.back();
    const situ::place p = graph_.owner(v);
    const search_state state = situ::get(states_[p.index()]);
    chain.push_back(situ::get(state.next + static_cast<std::ptrdiff_t>(v - state.first)));
    traffic_.get(p, sizeof(state) + sizeof(vertex));
  }
  return chain;
}

}  // namespace package_rank
