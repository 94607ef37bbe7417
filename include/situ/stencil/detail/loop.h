// A parallel loop in the queue, without its types, as the analysis and the executors use it.
//
// run() may be called from several threads at once for parts that do not overlap; each part at most once. The parts of
// one line are run in ascending order (reductions rely on it).
#pragma once

#include <situ/stencil/detail/dataset_core.h>
#include <situ/stencil/detail/reduction_core.h>
#include <situ/stencil/shape.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace situ::stencil {

struct argument {
  dataset_core* data = nullptr;  // null for reductions
  const shape* where = nullptr;
  access_mode mode = access_mode::read;
  reduction_core* into = nullptr;
};

// One thread's memory for the rows that run() spreads out (kernel_loop.h).
class scratch {
 public:
  [[nodiscard]] std::byte* reserve(std::size_t bytes) {
    if (bytes > size_) {
      memory_ = std::make_unique<std::byte[]>(bytes + 64);
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

// The memory traffic of a loop that finds nothing in a cache.
struct loop_traffic {
  std::size_t bytes_read = 0, bytes_written = 0;  // counting each point of each dataset once
  // number of datasets as large as the loop's range: only read, only written, and both
  int read = 0, written = 0, updated = 0;
};

class loop {
 public:
  loop(std::string name, int dims, const box& range) : name_{std::move(name)}, dims_{dims}, range_{range} {}
  virtual ~loop() = default;
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  virtual void run(const box& part, scratch& memory) = 0;
  // begin() is called before the first part and end() after the last one: they set up and combine reductions'
  // accumulators.
  virtual void begin() {}
  virtual void end() {}
  // Returns an identity of the kernel's type: loops with the same kernel, range and arguments make the same plan.
  [[nodiscard]] virtual const void* kernel_id() const noexcept = 0;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] int dims() const noexcept { return dims_; }
  [[nodiscard]] const box& range() const noexcept { return range_; }
  [[nodiscard]] const std::vector<argument>& arguments() const noexcept { return arguments_; }
  [[nodiscard]] bool has_reduction() const noexcept;
  // Returns whether parts that differ in dimension d only may run at the same time.
  [[nodiscard]] bool is_splittable(int d) const noexcept;
  [[nodiscard]] loop_traffic traffic() const noexcept;
  // Returns the floating-point settings of the thread that queued the loop (base/float_settings.h). Any thread that
  // runs the loop uses them.
  [[nodiscard]] std::uint32_t float_settings() const noexcept { return float_settings_; }
  void set_float_settings(std::uint32_t code) noexcept { float_settings_ = code; }

 protected:
  std::vector<argument> arguments_;

 private:
  std::string name_;
  int dims_;
  std::uint32_t float_settings_ = 0;
  box range_;
};

}  // namespace situ::stencil
