#include "gascore/messages.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <span>

namespace situ::studies::gascore {
namespace {

constexpr std::uint32_t message = 3, reply = 4;  // handlers
constexpr std::uint32_t target = 0x8000;         // in the memory that is written; read at 0

constexpr std::uint32_t word_at(std::uint32_t index) { return 0x5a000001 + index * 7; }

void fill(std::span<std::uint32_t> memory, std::uint32_t bytes) {
  for (std::uint32_t i = 0; i < bytes / 4; ++i) memory[i] = word_at(i);
}

void check(std::span<const std::uint32_t> memory, std::uint32_t bytes) {
  for (std::uint32_t i = 0; i < bytes / 4; ++i)
    if (memory[target / 4 + i] != word_at(i))
      throw error{errc::bad_argument, fmt::format("word {} of {} bytes was not written", i, bytes)};
}

}  // namespace

void make_message(timed_board& board, unsigned distance, std::uint32_t bytes) {
  const std::uint32_t to = at_distance.at(distance);
  board[to].message_counter(0, message, 1);
  board[0].timer_threshold(timed_board::start_time).wait(pams_program::timer_is_over());
  if (bytes == 0)
    board[0].send(message, to);
  else
    board[0].send_long(message, to, {.at = target, .bytes = bytes, .from = 0});
}

std::int64_t one_way_cycles(unsigned distance, std::uint32_t bytes) {
  timed_board board;
  make_message(board, distance, bytes);
  fill(board.memory(0), bytes);
  board.run();
  check(board.memory(at_distance.at(distance)), bytes);
  return board.cycles(at_distance.at(distance));
}

std::int64_t both_ways_cycles(unsigned distance, std::uint32_t bytes) {
  timed_board board;
  const std::uint32_t to = at_distance.at(distance);
  board[to].message_counter(0, message, 1, pams_program::tokens::kept).wait(first_counter());
  if (bytes == 0)
    board[to].reply(reply);
  else
    board[to].reply_long(reply, {.at = target, .bytes = bytes, .from = 0});
  board[0].message_counter(0, reply, 1).timer_threshold(timed_board::start_time).wait(pams_program::timer_is_over());
  board[0].send(message, to).wait(first_counter());
  fill(board.memory(to), bytes);
  board.run();
  check(board.memory(0), bytes);
  return board.cycles(0);
}

}  // namespace situ::studies::gascore
