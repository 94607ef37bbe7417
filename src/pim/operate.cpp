#include <situ/pim/detail/operate.h>

#include <situ/base/error_code.h>
#include <situ/pim/bmem.h>
#include <situ/pim/memory.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "pim/cell_storage.h"
#include "pim/device.h"
#include "pim/execute.h"
#include "pim/programs.h"

namespace situ::pim::detail {
namespace {

// Rows beside a block for one operation, given back afterwards.
class beside {
 public:
  beside(device& in, const void* other, std::uint32_t rows, const std::string& program) : room_{in.room} {
    if (rows > in.figures.rows)
      throw_error(errc::bad_argument, fmt::format("pim: {} needs {} rows for itself, and a subarray of {} has {}",
                                                  program, rows, in.name, in.figures.rows));
    handle_ = room_.try_allocate_beside(other, rows);
    if (handle_ == nullptr)
      throw_error(errc::out_of_memory,
                  fmt::format("pim: {} needs {} free rows beside its result in {}, for scratch or for operands that "
                              "lie elsewhere; free some, or make the vectors in another order\n{}",
                              program, rows, in.name, room_.draw()));
    where_ = room_.find(handle_);
  }
  ~beside() { room_.free(handle_); }
  beside(const beside&) = delete;
  beside& operator=(const beside&) = delete;

  [[nodiscard]] const block& where() const noexcept { return where_; }

 private:
  bmem& room_;
  void* handle_ = nullptr;
  block where_;
};

// The rows that one piece of an operation takes for itself. It does not move elements.
using rows_beside = std::vector<std::unique_ptr<beside>>;

bool covers(const piece& its, const piece& part) {
  return its.device == part.device && its.first == part.first && its.count == part.count &&
         its.where.subarray == part.where.subarray && its.where.subarrays == part.where.subarrays;
}

element_form form_of(const element_type& type) { return {type.direction, type.bits, 8, type.is_signed}; }

// Reads the elements of a part, past the host's interface to vectors: the caller prices it.
std::vector<std::uint64_t> elements_of(const vector_core& from, const piece& part) {
  std::vector<std::uint64_t> values(part.count);
  const element_form form = form_of(from.type());
  for (const piece& each : from.pieces()) {
    const std::uint64_t begin = std::max(each.first, part.first);
    const std::uint64_t end = std::min(each.first + each.count, part.first + part.count);
    if (begin >= end) continue;
    from.home()
        .device_at(each.device)
        .cells.read(each.where, form, begin - each.first,
                    std::as_writable_bytes(std::span{values}.subspan(begin - part.first, end - begin)));
  }
  return values;
}

// The commands of an operation on each device: its pieces work at the same time, so they are priced together.
class tally {
 public:
  explicit tally(memory& in) : memory_{in}, devices_(in.devices()) {}
  // Counts and prices it.
  ~tally() {
    for (std::size_t device = 0; device < devices_.size(); ++device)
      if (!devices_[device].loads.empty())
        memory_access::count_program(memory_, memory_.device_at(device), devices_[device].counts,
                                     devices_[device].loads);
  }
  tally(const tally&) = delete;
  tally& operator=(const tally&) = delete;

  void add(std::size_t device, const pim::detail::device& in, const command_counts& counts, const block& where) {
    of_device& of = devices_[device];
    if (of.loads.empty()) of.loads.resize(in.cells.shape().all_subarrays());
    of.counts += counts;
    for (std::uint32_t s = where.subarray; s < where.subarray + where.subarrays; ++s) ++of.loads[s];
  }

 private:
  struct of_device {
    command_counts counts;
    subarray_loads loads;
  };
  memory& memory_;
  std::vector<of_device> devices_;
};

class piece_run {
 public:
  piece_run(const operation_spec& what, const piece& part, const vector_core& of, const operands& with, tally& done)
      : tally_{done},
        memory_{of.home()},
        in_{memory_.device_at(part.device)},
        what_{what},
        part_{part},
        with_{with},
        type_{of.type()} {}

  // Takes all room that the program needs, and copies what lies elsewhere: run() takes none, so that an operation that
  // is refused has changed nothing. result: null for a reduction.
  void prepare(const vector_core* result) {
    program_ = memory_access::program_of(memory_, in_.figures.design, what_);
    for (const operand_need& need : operands_of(what_)) blocks_.push_back(block_of(need, result));
    if (program_->scratch_rows > 0) scratch_ = take(program_->scratch_rows);
  }
  // As prepare() of a reduction, for a piece that has room for more elements than it has: only those count that are
  // there and that the mask selects, by flags that the host writes.
  void prepare_existing() {
    const bool is_vertical = what_.direction == dimension::vertical;
    const element_type flag{what_.direction, static_cast<std::uint8_t>(is_vertical ? 1 : what_.bits), false, 8};
    const block here = take(is_vertical ? 1 : part_.where.rows);
    std::vector<std::uint64_t> flags(in_.cells.capacity(here, form_of(flag)));
    std::fill_n(flags.begin(), part_.count, ~std::uint64_t{0});
    if (with_.mask != nullptr) {
      const std::vector<std::uint64_t> its = elements_of(*with_.mask, part_);
      memory_access::count_transfer(memory_, in_, (its.size() * flag.bits + 7) / 8, is_vertical);
      const bool wanted = what_.mask == mask_use::when_true;
      for (std::uint64_t i = 0; i < part_.count; ++i) flags[i] = (its[i] != 0) == wanted ? ~std::uint64_t{0} : 0;
    }
    in_.cells.write(here, form_of(flag), 0, std::as_bytes(std::span{flags}));
    memory_access::count_transfer(memory_, in_, here.granules() * in_.figures.columns / 8, false);
    flags_ = here;
    what_.mask = mask_use::when_true;
    prepare(nullptr);
  }
  // As prepare(), to copy elements to another width.
  void prepare_conversion(const vector_core& to, const vector_core& from) {
    program_ = memory_access::conversion_of(memory_, in_.figures.design, from.type(), to.type().bits);
    blocks_ = {block_of(from), block_of(to)};
  }
  // Adds what is prepared to the jobs: one, or one for each row of horizontal elements.
  void add_jobs(std::vector<program_job>& jobs) {
    const bool is_vertical = what_.direction == dimension::vertical;
    jobs_ = is_vertical ? 1 : part_.where.rows;
    for (std::uint32_t row = 0; row < jobs_; ++row)
      jobs.push_back({&in_.cells, program_.get(), is_vertical ? blocks_ : row_of(row), scratch_});
  }
  // Takes the results of these jobs from the front of `done`, counts them, and adds the ones of each row that the
  // program has counted.
  void take_results(std::span<const execution>& done, std::vector<std::uint64_t>& ones) {
    for (const execution& each : done.first(jobs_)) {
      tally_.add(part_.device, in_, each.counts, part_.where);
      ones.resize(std::max(ones.size(), each.ones.size()));
      for (std::size_t bit = 0; bit < each.ones.size(); ++bit) ones[bit] += each.ones[bit];
    }
    done = done.subspan(jobs_);
  }

 private:
  // A horizontal program works on one row; patterns are the same for all.
  [[nodiscard]] std::vector<block> row_of(std::uint32_t row) const {
    std::vector<block> blocks = blocks_;
    const std::vector<operand_need> needs = operands_of(what_);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (needs[i].role != operand_role::pattern)
        blocks[i] = {blocks[i].subarray, blocks[i].row + row, blocks[i].subarrays, 1};
    return blocks;
  }
  block take(std::uint32_t rows) {
    taken_.push_back(std::make_unique<beside>(in_, part_.handle, rows, text(what_)));
    return taken_.back()->where();
  }

  block block_of(const operand_need& need, const vector_core* result) {
    switch (need.role) {
      case operand_role::a: return block_of(*with_.a);
      case operand_role::b: return block_of(*with_.b);
      case operand_role::c: return block_of(*with_.c);
      case operand_role::condition: return block_of(*with_.condition);
      case operand_role::result: return block_of(*result);
      case operand_role::mask: return flags_ ? *flags_ : block_of(*with_.mask);
      case operand_role::pattern: return pattern(need.rows);
    }
    __builtin_unreachable();
  }
  block block_of(const vector_core& of) {
    for (const piece& each : of.pieces())
      if (covers(each, part_)) return each.where;
    const std::uint32_t rows = of.type().direction == dimension::vertical ? of.type().bits : part_.where.rows;
    const block here = take(rows);
    const std::vector<std::uint64_t> values = elements_of(of, part_);
    in_.cells.write(here, form_of(of.type()), 0, std::as_bytes(std::span{values}));
    memory_access::count_copy(memory_, in_, here);
    return here;
  }
  // The lowest and the highest column of each element, which the host writes.
  block pattern(std::uint32_t rows) {
    const block here = take(rows);
    write_patterns(in_.cells, here, type_.bits);
    memory_access::count_transfer(memory_, in_, here.granules() * in_.figures.columns / 8, false);
    return here;
  }

  tally& tally_;
  memory& memory_;
  device& in_;
  operation_spec what_;
  const piece& part_;
  const operands& with_;
  const element_type type_;
  std::shared_ptr<const micro_program> program_;
  std::vector<block> blocks_;
  block scratch_{};
  std::uint32_t jobs_ = 0;
  std::optional<block> flags_;  // instead of the mask
  rows_beside taken_;
};

// Runs all pieces that are prepared. Returns the ones of each row that their programs have counted.
std::vector<std::uint64_t> run(memory& in, std::list<piece_run>& pieces) {
  std::vector<program_job> jobs;
  for (piece_run& each : pieces) each.add_jobs(jobs);
  const std::vector<execution> done = memory_access::executor_of(in).run_all(jobs);
  std::span<const execution> left{done};
  std::vector<std::uint64_t> ones;
  for (piece_run& each : pieces) each.take_results(left, ones);
  return ones;
}

// A flag is a row of one bit for vertical elements, and as wide as the element for horizontal ones.
void check_flags(const operation_spec& what, const vector_core& flags, const char* part) {
  const unsigned bits = what.direction == dimension::vertical ? 1 : what.bits;
  const element_type& its = flags.type();
  if (its.direction == what.direction && its.bits == bits) return;
  throw_error(
      errc::bad_argument,
      fmt::format("pim: the {} of {} has {} elements of {} bits; it needs {} flags of {}: compare vectors of the "
                  "operation's kind",
                  part, text(what), its.direction == dimension::vertical ? "vertical" : "horizontal", its.bits,
                  what.direction == dimension::vertical ? "vertical" : "horizontal", bits));
}

void check_operands(const operation_spec& what, const vector_core& like, const operands& with) {
  for (const vector_core* each : {with.a, with.b, with.c, with.condition, with.mask}) {
    if (each == nullptr) continue;
    if (each->size() != like.size())
      throw_error(errc::bad_argument, fmt::format("pim: {} of vectors of {} and {} elements; all need as many",
                                                  text(what), like.size(), each->size()));
    if (&each->home() != &like.home())
      throw_error(
          errc::bad_argument,
          fmt::format("pim: {} of vectors in different memories; read one and write it to the other", text(what)));
  }
  if (with.mask != nullptr) check_flags(what, *with.mask, "mask");
  if (with.condition != nullptr) check_flags(what, *with.condition, "condition");
}

// Returns the operation with a scalar of its elements' bits. Throws bad_argument if the scalar has no such value: a
// comparison with its lowest bits would be another comparison.
operation_spec with_own_bits(operation_spec what) {
  if (!what.scalar || what.bits == 64 || what.what == operation::shift_left || what.what == operation::shift_right)
    return what;
  const std::uint64_t kept = *what.scalar & ((std::uint64_t{1} << what.bits) - 1);
  const bool is_negative = what.is_signed && (kept >> (what.bits - 1)) != 0;
  const std::uint64_t value = is_negative ? kept | ~std::uint64_t{0} << what.bits : kept;
  if (value != *what.scalar)
    throw_error(errc::bad_argument,
                fmt::format("pim: the scalar {} of {} does not fit into {} {} bits",
                            what.is_signed ? fmt::format("{}", static_cast<std::int64_t>(*what.scalar))
                                           : fmt::format("{}", *what.scalar),
                            name(what.what), what.bits, what.is_signed ? "signed" : "unsigned"));
  what.scalar = kept;
  return what;
}

// Programs that write their result while they still read these inputs.
bool may_not_be_result(const operation_spec& what, const vector_core& result, const operands& with) {
  if (what.what == operation::popcount) return with.a == &result;
  if (what.what == operation::multiply || what.what == operation::multiply_add)
    return with.a == &result || with.b == &result;
  return false;
}

}  // namespace

void operate(const operation_spec& asked, vector_core& result, const operands& with) {
  check_operands(asked, result, with);
  const operation_spec what = with_own_bits(asked);
  if (may_not_be_result(what, result, with)) {
    vector_core made{result, result.type()};
    const operation_spec copy{.what = operation::copy, .direction = what.direction, .bits = result.type().bits};
    if (what.mask != mask_use::none) operate(copy, made, {.a = &result});
    operate(what, made, with);
    operate(copy, result, {.a = &made});
    return;
  }
  tally done{result.home()};
  std::list<piece_run> runs;
  for (const piece& part : result.pieces()) runs.emplace_back(what, part, result, with, done).prepare(&result);
  run(result.home(), runs);
}

std::vector<std::uint64_t> reduce(const operation_spec& what, const operands& with) {
  const vector_core& a = *with.a;
  check_operands(what, a, with);
  tally done{a.home()};
  std::list<piece_run> runs;
  for (const piece& part : a.pieces()) {
    const cell_storage& cells = a.home().device_at(part.device).cells;
    piece_run& its = runs.emplace_back(what, part, a, with, done);
    part.count == cells.capacity(part.where, form_of(a.type())) ? its.prepare(nullptr) : its.prepare_existing();
  }
  return run(a.home(), runs);
}

void convert(vector_core& result, const vector_core& from) {
  const element_type& its = from.type();
  if (result.type().direction != dimension::vertical || its.direction != dimension::vertical)
    throw_error(errc::not_supported, "pim: convert() is for vertical vectors");
  check_operands({.what = operation::copy, .bits = its.bits}, result, {.a = &from});
  const operands none;
  const operation_spec what{.what = operation::copy, .bits = its.bits};
  tally done{result.home()};
  std::list<piece_run> runs;
  for (const piece& part : result.pieces())
    runs.emplace_back(what, part, result, none, done).prepare_conversion(result, from);
  run(result.home(), runs);
}

void check_count(std::size_t size, std::size_t values) {
  if (size != values)
    throw_error(errc::bad_argument, fmt::format("pim: {} values for a vector of {} elements", values, size));
}

}  // namespace situ::pim::detail
