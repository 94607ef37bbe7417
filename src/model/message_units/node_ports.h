// A node without its units: its FIFOs, memory and control signals, and the faults and acts that the units report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/message_units/word_fifo.h"

namespace situ::model {

// Between the computing element and GAScore. The element writes FSLs 2 and 3.
struct fsl_links {
  word_fifo calls;     // FSL 1
  word_fifo tokens;    // FSL 2
  two_lanes requests;  // FSL 3
  two_lanes sent;      // FSL 4: a word for each message that has left
};

struct node_fault {
  unit_fault what = unit_fault::none;
  std::uint32_t word = 0;  // the address, token, handler or instruction
};

// Sees what units do, cycle by cycle.
class unit_observer {
 public:
  virtual ~unit_observer() = default;
  // A unit of a node was in `state`, and took, wrote or moved `word`.
  virtual void acted(cycle now, unsigned node, std::string_view unit, std::string_view state, std::uint32_t word) = 0;
};

struct node_ports {
  // fifo_words: places in a lane of each of its FIFOs.
  explicit node_ports(unsigned node, std::uint32_t memory_bytes, unsigned fifo_words = word_fifo::usual_depth)
      : number{node},
        out{lanes_of(fifo_words)},
        in{lanes_of(fifo_words)},
        fsls{word_fifo{fifo_words}, word_fifo{fifo_words}, lanes_of(fifo_words), lanes_of(fifo_words)},
        memory(memory_bytes / 4) {}

  unsigned number;
  two_lanes out;  // to the network
  two_lanes in;
  fsl_links fsls;
  std::vector<std::uint32_t> memory;  // words
  cycle written_at = ~cycle{0};       // the last cycle in which GAScore wrote into it
  std::uint32_t written_word = 0;     // which word
  std::uint8_t control_in = 0;
  std::uint8_t control_out = 0;
  node_fault fault;
  unit_observer* observer = nullptr;

  void act(cycle now, std::string_view unit, std::string_view state, std::uint32_t word) const {
    if (observer != nullptr) [[unlikely]]
      observer->acted(now, number, unit, state, word);
  }
  // The first fault of a cycle counts.
  void fail(unit_fault what, std::uint32_t word) noexcept {
    if (fault.what == unit_fault::none) fault = {what, word};
  }
};

// The computing element of a node: PAMS, or a core behind the FSLs.
class computing_element {
 public:
  static constexpr cycle never = ~cycle{0};

  virtual ~computing_element() = default;
  // Carries out a cycle. Returns whether anything changed; if not, the element sleeps until a word or a place appears
  // at its FSLs, a control input changes, or wakes_at().
  virtual bool step(cycle now, node_ports& node) = 0;
  [[nodiscard]] virtual cycle wakes_at() const noexcept { return never; }
  // Returns whether the element has nothing more to do by itself.
  [[nodiscard]] virtual bool is_done() const noexcept = 0;
  // Returns what the element waits for, for the report of a standstill.
  [[nodiscard]] virtual std::string where() const = 0;
  // Returns PAMS's register of that name; 0 of other elements.
  [[nodiscard]] virtual std::uint32_t arrival_time() const noexcept { return 0; }
};

}  // namespace situ::model
