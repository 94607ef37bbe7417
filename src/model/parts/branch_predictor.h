// The branch predictor of a core. The executor reports basic blocks, so the predictor predicts a block's successor, as
// a branch target buffer does. The prediction of a branch as taken or not taken is the same question.
//
// As in TAGE (Seznec and Michaud, 2006), one table is indexed by the block alone, and three tables by the block and the
// path that led to it, of the last 4, 16 and 64 blocks. The longest path that knows the block predicts. If its
// prediction was wrong, the next longer path learns the successor. A block that no table knows counts as predicted:
// most blocks end in one way.
//
// Worked example: a loop of four turns runs the blocks B B B B E, again and again. Indexed by the block alone, B is
// followed by B, and the end is mispredicted each time. Paths of 4 blocks tell the fourth B from the others: from the
// second or third round on every block is predicted.
//
// Blind spots: a real core has other tables, larger or smaller (here 4 of 8192 entries); the same tables predict
// returns and calls through pointers.
//
// Hardware threads of a core share the tables, each with a path of its own (of_sibling).
//
// Not thread-safe. cost: a lookup in four tables.
#pragma once

#include "model/parts/warm_state.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace situ::model {

class branch_predictor {
 public:
  branch_predictor() : tables_{std::make_shared<all_tables>()} {
    for (auto& table : *tables_) table.resize(entries);
  }
  // Returns a predictor for another hardware thread of the core: the tables are those of this one, the path is its own.
  [[nodiscard]] branch_predictor of_sibling() const {
    branch_predictor made{*this};
    made.paths_ = {};
    made.last_ = 0;
    made.is_sibling_ = true;
    return made;
  }

  // Records that the core goes to this block. Returns false if the predictor predicted another block. pre: block is not
  // 0.
  bool go_to(std::uint64_t block) noexcept {
    const bool foreseen = last_ == 0 || follow(block);
    const std::uint64_t mixed = block * 0x9e3779b97f4a7c15ULL;
    for (std::size_t t = 1; t < tables; ++t) paths_[t] = (paths_[t] << shifts[t]) ^ (mixed >> 40);
    last_ = block;
    return foreseen;
  }

  // Append what the tables know to words, and take it from such words. A sibling's words are its path alone.
  void save(state_words& to) const {
    to.push_back(last_);
    to.insert(to.end(), paths_.begin(), paths_.end());
    if (is_sibling_) return;
    for (const std::vector<entry>& table : *tables_) {
      to.push_back(
          static_cast<std::uint64_t>(std::ranges::count_if(table, [](const entry& each) { return each.tag != 0; })));
      for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i].tag != 0)
          to.insert(to.end(), {i, table[i].tag, table[i].next,
                               static_cast<std::uint64_t>(static_cast<std::int64_t>(table[i].trust))});
    }
  }
  void load(state_reader& from) {
    last_ = from.next();
    for (std::uint64_t& each : paths_) each = from.next();
    if (is_sibling_) return;
    for (std::vector<entry>& table : *tables_) {
      table.assign(entries, {});
      for (std::uint64_t left = from.next(); left > 0; --left) {
        const std::span<const std::uint64_t> words = from.next(4);
        table[words[0] % entries] = {
            .tag = words[1], .next = words[2], .trust = static_cast<std::int8_t>(static_cast<std::int64_t>(words[3]))};
      }
    }
  }

 private:
  static constexpr std::size_t tables = 4;
  static constexpr std::size_t entries = 8192;
  static constexpr std::array<int, tables> shifts{0, 16, 4, 1};  // 64 bits of path: 0, 4, 16 and 64 blocks
  static constexpr std::int8_t most_trust = 3;

  struct entry {
    std::uint64_t tag = 0;   // of block and path; 0: empty
    std::uint64_t next = 0;  // the successor
    std::int8_t trust = 0;
  };
  using all_tables = std::array<std::vector<entry>, tables>;

  [[nodiscard]] std::uint64_t tag_of(std::size_t t) const noexcept {
    return ((last_ ^ (paths_[t] * 0xbf58476d1ce4e5b9ULL)) * 0x94d049bb133111ebULL) | 1;
  }
  bool follow(std::uint64_t block) noexcept {
    std::array<entry*, tables> at;
    std::array<std::uint64_t, tables> tags;
    std::size_t longest = tables;  // none
    for (std::size_t t = 0; t < tables; ++t) {
      tags[t] = tag_of(t);
      at[t] = &(*tables_)[t][tags[t] >> 51];
      if (at[t]->tag == tags[t] && (t == 0 || at[t]->trust > 0)) longest = t;
    }
    const bool foreseen = longest == tables || at[longest]->next == block;
    for (std::size_t t = 0; t < tables; ++t)
      if (at[t]->tag == tags[t]) learn(*at[t], block);
    if (longest == tables) {
      *at[0] = {.tag = tags[0], .next = block, .trust = 1};
    } else if (!foreseen && longest + 1 < tables) {
      enter(*at[longest + 1], tags[longest + 1], block);
    }
    return foreseen;
  }
  static void learn(entry& of, std::uint64_t block) noexcept {
    if (of.next == block) {
      of.trust = of.trust < most_trust ? static_cast<std::int8_t>(of.trust + 1) : of.trust;
    } else if (--of.trust < 0) {
      of.next = block;
      of.trust = 0;
    }
  }
  // Replaces another block's entry once that entry has lost its trust.
  static void enter(entry& of, std::uint64_t tag, std::uint64_t block) noexcept {
    if (of.tag == tag) return;
    if (of.tag == 0 || of.trust <= 0) {
      of = {.tag = tag, .next = block, .trust = 1};
    } else {
      --of.trust;
    }
  }

  std::shared_ptr<all_tables> tables_;  // of all hardware threads of a core
  std::array<std::uint64_t, tables> paths_{};
  std::uint64_t last_ = 0;
  bool is_sibling_ = false;
};

}  // namespace situ::model
