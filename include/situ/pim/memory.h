// Memory that computes, as a program uses it: the devices of a machine file, room for vectors in them, and the record
// of what their programs have cost. situ/pim/vector.h has the vectors.
//
//   situ::pim::memory dram{situ::memory_kind::parse("pim:machines/pim-bitsimd.toml")};
//   situ::pim::vertical<std::int32_t> a{dram, values};
//
// Nobody sells such a memory today: the bits lie in pages of this host, and each command of each program is carried out
// on them and counted (src/pim/execute.h). Times and energies are those that the machine file's figures give for the
// counted commands; they are modelled, never measured. One thread at a time uses a memory and its vectors; a program's
// subarrays are dealt to the memory's threads, which a forked child does not have: it must not use a memory of its
// parent's.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pages/memory_kind.h>
#include <situ/pim/counts.h>
#include <situ/pim/geometry.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace situ::pim {

class bmem;

namespace detail {
class device;
}

// Options of a memory.
struct memory_options {
  std::uint32_t threads = 0;  // that carry out programs; 0: one for each processor that the calling thread may use
};

// A device that no machine file describes.
struct device_figures {
  std::string name;
  machine::pim_figures figures;
  std::uint64_t bus_bytes_per_second = 0;  // between it and the host; 0: unknown, and transfers have no price
};

// The devices of a program, in the order in which its vectors fill them. Destroyed after its vectors. cost: the
// functions without one are loads.
class memory {
 public:
  // Opens the memories of a kind `pim:FILE`, in the order of intent("pim"): vectors fill the first one, then the next.
  // Errors: bad_argument for another kind; bad_file for a file that cannot be read or has no such memory.
  // cost: reads the file; cells come when they are first written.
  explicit memory(const memory_kind& kind, memory_options how = {});
  // Opens devices with these figures, in this order, and for their cells pages of a kind. Errors: bad_argument for no
  // device, or for figures without a design or of a shape that no device has.
  explicit memory(const std::vector<device_figures>& devices, const memory_kind& cells = {}, memory_options how = {});
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  // Returns the number of devices.
  [[nodiscard]] std::size_t devices() const noexcept;
  // Returns a device's figures, or its allocator. pre: device < devices().
  [[nodiscard]] const machine::pim_figures& figures(std::size_t device) const noexcept;
  [[nodiscard]] bmem& room(std::size_t device) noexcept;

  // Returns what programs, copies and transfers have cost since the start or since reset_cost().
  [[nodiscard]] const memory_cost& cost() const noexcept;
  void reset_cost() noexcept;
  // Returns a table of the devices: rows taken and free, then the cost, in words. cost: that of bmem::largest_free.
  [[nodiscard]] std::string report() const;

  // For situ/pim/vector.h.
  [[nodiscard]] detail::device& device_at(std::size_t device) noexcept;

 private:
  friend class memory_access;
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace situ::pim
