#include "gascore/exchanges.h"

#include <situ/base/error.h>
#include <situ/model/pams_patterns.h>

#include <fmt/format.h>

#include <span>
#include <vector>

namespace situ::studies::gascore {
namespace {

// Addresses in a node's memory: the bytes for the neighbour before it and for the one after it, and theirs for it.
constexpr std::uint32_t to_before = 0, to_after = 0x2000, from_before = 0x8000, from_after = 0xa000;
constexpr std::uint32_t opposite_handler = 6;

constexpr std::uint32_t after(std::uint32_t node) { return (node + 1) % node_count; }
constexpr std::uint32_t before(std::uint32_t node) { return (node + node_count - 1) % node_count; }
constexpr std::uint32_t opposite(std::uint32_t node) { return (node + node_count / 2) % node_count; }

// The word at an address of what a node sends.
constexpr std::uint32_t sent_word(std::uint32_t node, std::uint32_t address) { return node << 24 | (address + 1); }

void fill(timed_board& board, std::uint32_t node, std::uint32_t address, std::uint32_t bytes) {
  for (std::uint32_t at = address; at < address + bytes; at += 4) board.memory(node)[at / 4] = sent_word(node, at);
}

// Compares the bytes at an address of `node` with those that `sender` has at its own address.
void check(timed_board& board, std::uint32_t node, std::uint32_t address, std::uint32_t sender,
           std::uint32_t sender_address, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += 4)
    if (board.memory(node)[(address + at) / 4] != sent_word(sender, sender_address + at))
      throw error{errc::bad_argument, fmt::format("node {} lacks byte {} of {} of node {}", node, at, bytes, sender)};
}

std::vector<model::pams_transfer> halo_transfers(std::uint32_t bytes) {
  std::vector<model::pams_transfer> all;
  for (std::uint32_t node = 0; node < node_count; ++node) {
    all.push_back({node, before(node), {.at = from_after, .bytes = bytes, .from = to_before}});
    all.push_back({node, after(node), {.at = from_before, .bytes = bytes, .from = to_after}});
  }
  return all;
}

}  // namespace

std::int64_t halo_cycles(const halo& of) {
  timed_board board;
  model::pams_exchange::uses used;
  used.asks = of.asks;
  const model::pams_exchange exchange{node_count, halo_transfers(of.bytes), used};
  exchange.begin(board.programs());
  board.add_start();
  for (unsigned step = 0; step < of.steps; ++step) exchange.append(board.programs());
  for (std::uint32_t node = 0; node < node_count; ++node)
    for (const std::uint32_t address : {to_before, to_after}) fill(board, node, address, of.bytes);
  board.run();
  for (std::uint32_t node = 0; node < node_count; ++node) {
    check(board, node, from_after, after(node), to_before, of.bytes);
    check(board, node, from_before, before(node), to_after, of.bytes);
  }
  return board.cycles_of_all();
}

opposite_result send_to_opposite(std::uint32_t bytes, std::uint32_t apart) {
  timed_board board;
  for (std::uint32_t node = 0; node < node_count; node += apart)
    board[opposite(node)].message_counter(0, opposite_handler, 1);
  for (std::uint32_t node = 0; node < node_count; node += apart) {
    board[node].timer_threshold(timed_board::start_time).wait(pams_program::timer_is_over());
    board[node].send_long(opposite_handler, opposite(node), {.at = from_before, .bytes = bytes, .from = to_after});
    fill(board, node, to_after, bytes);
  }
  board.load();
  opposite_result result;
  const auto add_words = [&](std::uint64_t sign) {
    for (unsigned chip = 0; chip < result.link_words.size(); ++chip)
      for (unsigned direction = 0; direction < 2; ++direction)
        result.link_words.at(chip).at(direction) += sign * board.board().link_words(chip, direction);
  };
  add_words(~std::uint64_t{0});  // those of the programs do not count
  board.board().run();
  add_words(1);
  for (std::uint32_t node = 0; node < node_count; node += apart)
    check(board, opposite(node), from_before, node, to_after, bytes);
  result.cycles = board.cycles_of_all();
  return result;
}

}  // namespace situ::studies::gascore
