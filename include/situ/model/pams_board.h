// A modelled network of nodes with GAScore and PAMS (Willenberg and Chow, FPGA 2013): loads programs by active messages,
// as on the paper's BEE3, and runs them cycle by cycle.
//
//   situ::model::pams_board board;                                    // the BEE3: nodes 0 to 15, the loader is 16
//   situ::model::pams_program ping, pong;
//   ping.timer_threshold(1000).wait(situ::model::pams_program::timer_is_over()).send(5, 1).halt();
//   pong.message_counter(0, 5, 1).wait(situ::model::pams_program::messages_are_there(0)).halt();
//   board.load(0, ping.words());
//   board.load(1, pong.words());
//   board.run();
//   const std::uint32_t cycles = board.arrival_time(1) - 1000;        // 17
//
// docs/design/message_units.md has the parts and their states. Not thread-safe; boards are independent of each other.
// cost: about a microsecond for a cycle in which all nodes are busy, nothing for cycles in which nobody is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

class message_network;
class message_node;
struct network_shape;

// Such a network, with its loader and its nodes' memories.
class pams_board {
 public:
  // Makes the GAScore and PAMS of a node: as parts in C++, or other implementations of message_node.
  using maker = std::function<std::unique_ptr<message_node>(unsigned node, const network_shape& shape)>;

  // The paper's BEE3: sixteen nodes on four chips, and a loader on the last one.
  pams_board();
  // The network of a machine file; `makes` makes its nodes, if given. The first node without PAMS is the loader; other
  // such nodes stay empty. Throws bad_file as read_toml does, and if the file describes no such network, and
  // bad_argument if all of its nodes have PAMS.
  explicit pams_board(const std::string& machine_file, const maker& makes = {});
  explicit pams_board(const network_shape& shape, const maker& makes = {});
  ~pams_board();
  pams_board(pams_board&&) noexcept;
  pams_board& operator=(pams_board&&) noexcept;

  // Returns how many nodes the network has: those with PAMS, the loader, and empty ones.
  [[nodiscard]] unsigned nodes() const noexcept;
  [[nodiscard]] unsigned loader_node() const noexcept;
  [[nodiscard]] bool has_pams(unsigned node) const noexcept;

  // Sends a program to a node, and starts it at word 0. More words than the instruction RAM has end the run in a fault.
  // Throws bad_argument if the node has no PAMS.
  void load(unsigned node, std::span<const std::uint32_t> words);

  // Returns a cycle by which all programs loaded so far have started: a common start time is to be later.
  [[nodiscard]] std::uint64_t loaded_after() const noexcept;

  // Says how a run ended.
  enum class outcome : std::uint8_t {
    finished,     // every program has halted, and no message is on its way
    stands,       // some wait for what cannot come any more
    fault,        // a unit met what it cannot carry out
    cycle_limit,  // the limit was reached
  };
  // Runs until one of these; a later call goes on. Throws what a node of `makes` throws.
  outcome try_run(std::uint64_t limit = 10'000'000);
  // Does the same as try_run(). Throws bad_argument with report() unless the run has finished.
  void run(std::uint64_t limit = 10'000'000);

  // Returns the cycle that comes next, and in how many cycles a part had work.
  [[nodiscard]] std::uint64_t now() const noexcept;
  [[nodiscard]] std::uint64_t busy_cycles() const noexcept;
  // Returns PAMS's register of that name: its timer when the last message was counted.
  [[nodiscard]] std::uint32_t arrival_time(unsigned node) const;
  // Returns a node's memory, by words.
  [[nodiscard]] std::span<std::uint32_t> memory(unsigned node);
  // Returns what a node waits for, or that it has halted.
  [[nodiscard]] std::string where(unsigned node) const;
  // Says, a line each, what each node waits for and where messages stand; or which fault there was.
  [[nodiscard]] std::string report() const;

  // Returns how many words went over the link from a chip to the next one (direction 0) or to the one before (1).
  [[nodiscard]] std::uint64_t link_words(unsigned chip, unsigned direction) const noexcept;

  // A message that reached the loader: programs send it their results.
  struct call {
    std::uint64_t cycle = 0;
    std::uint8_t handler = 0;
    std::vector<std::uint32_t> arguments;
  };
  // Returns those that came so far, in their order.
  [[nodiscard]] std::vector<call> calls() const;

  // An act of a node's unit in a cycle: the unit was in `state`, and took, wrote or moved `word`. The texts are constant.
  struct action {
    std::uint64_t cycle = 0;
    unsigned node = 0;
    std::string_view unit;
    std::string_view state;
    std::uint32_t word = 0;
  };
  // Calls `sees` with each action of a part in C++ from now on.
  void observe(std::function<void(const action&)> sees);

  // The network behind it (src/model/message_units).
  [[nodiscard]] message_network& network() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace situ::model
