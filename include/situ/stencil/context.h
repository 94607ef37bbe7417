// A context owns blocks, datasets and the queue of loops. Loops are queued, and executed when the program needs their
// results: a reduction's value, a fetch, raw access, execute(). The whole chain of queued loops is then analysed and
// executed in tiles, or out of core (docs/design/stencil.md).
//
// A context is used by one thread at a time; it runs loops on threads of its own. Handles (block, dataset, reduction)
// are small values and valid as long as their context. Kernels must not throw and must not call into the context; the
// order of the points is unspecified, so a kernel must not depend on it.
//
// Errors: bad_argument for invalid declarations; executing a chain also throws the exceptions of the store, and
// out_of_memory if the slots cannot hold a loop's windows. cost: a call that executes the queue takes the chain's time;
// making a dataset writes its memory at most once; other calls touch no data.
#pragma once

#include <situ/pages/memory_kind.h>
#include <situ/stencil/backing_store.h>
#include <situ/stencil/detail/loop.h>

#include <functional>
#include <iosfwd>
#include <memory>
#include <span>

namespace situ::stencil {

// The ways to run chains of loops.
enum class executor : std::uint8_t {
  plain,        // each loop over its whole range, one after the other
  tiled,        // chains in skewed tiles that fit into the cache
  out_of_core,  // data in a file or another store, tiles in slots of the fast memory
};
// Returns an executor in the spelling of SITU_STENCIL_EXECUTOR: "out_of_core".
[[nodiscard]] std::string_view name(executor e) noexcept;

// Options of a context. The machine determines the value of an option that is 0, null or empty.
struct options {
  executor run_by = executor::tiled;
  int threads = 0;           // 0: one for each processor the process may use
  bool bind_threads = true;  // to processors, in the order of the place tree
  int small_points = 2048;  // one thread runs parts of loops with fewer points: handing them out costs more, about 1 us
  std::uint64_t cache_bytes = 0;  // bytes that a tile may fill; 0: a model of this machine chooses tiles
  coordinates tile{};             // points of a tile in each dimension; 0: chosen
  bool tune = true;               // compare the best tiles, and one thread with all, over the first repeats of a chain
  // Memory for slots, and for datasets that are not in a store: intent::bandwidth, memory_kind::parse("huge"). With an
  // intent pages are populated at once, along its ordering. By default each page is allocated near the thread that
  // first touches it.
  memory_kind memory;
  // With an intent: whether pages are populated at once. false: each page is allocated when a thread first touches it,
  // in the memory that the ordering has for it.
  bool memory_populate = true;
  std::uint64_t fast_bytes = 0;            // out of core: memory for all slots; 0: half of the memory of the place tree
  std::shared_ptr<backing_store> store;    // out of core: keeps the datasets; null: a file
  std::string directory;                   // out of core: directory of that file, which has no name; "": TMPDIR or /tmp
  std::uint64_t resident_bytes = 1 << 20;  // out of core: smaller datasets stay in memory
  // a queue of so many loops is executed without being asked for; only its whole time steps, if loops repeat
  int max_chain_loops = 1000;
  bool check_bounds = true;  // check that each loop with its stencils stays inside its datasets
  bool find_nan = false;     // look for NaN after each chain; throws with dataset and point
  bool report = false;       // collect the figures that report() prints
  std::string report_file;   // with `report`: file that gets the report as JSON when the context ends; "": none

  // Returns the defaults, changed by environment variables: SITU_STENCIL_EXECUTOR=plain|tiled|out_of_core,
  // SITU_STENCIL_THREADS, SITU_STENCIL_CACHE (bytes, "16 MiB"), SITU_STENCIL_TILE ("0,64"), SITU_STENCIL_FAST (bytes),
  // SITU_STENCIL_RESIDENT (bytes), SITU_STENCIL_MEMORY=huge (as memory_kind::parse reads it), SITU_STENCIL_POPULATE=0,
  // SITU_STENCIL_STORE=file|node:0|..., SITU_STENCIL_DIRECTORY, SITU_STENCIL_REPORT=1 or the name of a file that ends
  // in ".json". Throws bad_argument, and the exceptions of making the store.
  [[nodiscard]] static options from_environment();
  [[nodiscard]] static options from_environment(options defaults);
};

// The layout of a dataset's values. Components are separate (each a field of its own), planar (whole fields one after
// the other) or interleaved (side by side at each point): component_order::separate, planar and interleaved.
struct dataset_layout {
  box inner;            // the points without the ghost points
  coordinates below{};  // ghost points before and after inner, in each dimension
  coordinates above{};
  int components = 1;  // values at each point
  component_order order = component_order::separate;
  bool rows_apart = true;  // pad rows so that each starts at a cache line
  void* memory = nullptr;  // memory of the program that holds the values, without padding
};

// Figures of all chains so far, summed up, for reports and tests; names that begin with `last_` are of the last chain.
struct chain_statistics {
  std::uint64_t chains = 0;        // executed without an error
  std::uint64_t loops = 0;         // in those chains
  std::uint64_t plans_made = 0;    // for chains that were new
  std::uint64_t plans_reused = 0;  // for chains that had a plan already
  double plan_seconds = 0;         // for making and finding plans
  double measure_seconds = 0;  // for measuring the machine for the model of tiles: once, if the result can be stored
  double run_seconds = 0;      // for chains, planning included
  std::int64_t last_tiles = 0;
  coordinates last_tile{};           // points of a tile in each dimension; 0: not cut
  double last_expected_seconds = 0;  // predicted by the model of tiles; 0: the model was not used
  // out of core: parts that a chain was cut into because it did not fit; last_tiles is of the last part
  std::int64_t last_parts = 0;
  std::uint64_t last_footprint_bytes = 0;  // of one tile in the middle of the range
  std::uint64_t bytes_read = 0;            // out of core: from the store
  std::uint64_t bytes_written = 0;         // out of core: to the store
  double compute_seconds = 0;              // in kernels, and in threads that wait for each other
  double wait_seconds = 0;                 // out of core: waiting for the store
};

// The owner of blocks, datasets, reductions and the queue. Belongs to one thread at a time; not movable.
class context {
 public:
  // Starts the threads and, out of core, opens the store. Throws the exceptions of making the store; with an intent
  // also bad_file, bad_argument, or not_supported if no ordering is usable. cost: the first context of a program
  // discovers the machine, which takes tens of milliseconds.
  explicit context(options how = options::from_environment());
  ~context();  // discards loops that are still queued: no result of them can be observed
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // Returns the options of the constructor.
  [[nodiscard]] const options& how() const noexcept;
  // Returns the number of threads that run loops, including the calling one.
  [[nodiscard]] int threads() const noexcept;

  // Executes the queue. Throws the exceptions of a chain; the queue is empty afterwards in any case. If a read or write
  // out of core fails (the disk is full, say), the data is unchanged by the chain. cost: the chain's time, and for a
  // new chain its analysis. The first large chain on a machine measures the caches, 100 to 800 ms; the result is stored
  // in a file.
  void execute();
  // Declares that the program repeats itself from here on, and that no chain needs the values of `temporaries` from the
  // chain before: the out-of-core executor neither reads nor writes them. With every executor, a chain that reads one
  // before it writes it throws bad_argument, with dataset and kernel; so do fetch() and store() of a temporary.
  // Executes the queue.
  void begin_cyclic(std::span<dataset_core* const> temporaries);
  // Returns the figures of the chains so far.
  [[nodiscard]] const chain_statistics& statistics() const noexcept;
  // Writes the statistics as text; with options::report also a line for each loop, with its time and bytes.
  void report(std::ostream& to) const;

  // The functions below are the untyped core, for block, dataset, reduction, par_loop and compat. Programs do not call
  // them.

  // Makes a block and returns its number. Throws bad_argument unless it has 1 to 5 dimensions.
  [[nodiscard]] int add_block(std::string name, int dims);
  // Makes a dataset. Its values are zero unless it uses the program's own memory. `type_name` is typeid's.
  [[nodiscard]] dataset_core* add_dataset(int block, std::string name, int dims, const dataset_layout& layout,
                                          std::size_t element_bytes, std::string type_name);
  // Executes the queue, then frees the dataset's memory.
  void remove_dataset(dataset_core* data);
  // Makes a reduction of `count` elements.
  [[nodiscard]] reduction_core* add_reduction(std::string name, std::size_t element_bytes, int count);
  // Queues the loop; executes whole time steps of the queue if it reaches options::max_chain_loops. Throws bad_argument
  // if the loop leaves its datasets, has other dimensions, or uses another context's.
  void enqueue(std::unique_ptr<loop> l);
  // Called while a loop is made: sets a reduction's kind, and its value if it is fresh.
  void use(reduction_core* r, reduction_kind kind, const std::string& loop_name, const void* identities,
           std::size_t bytes);
  // Returns whether loops wait to be executed.
  [[nodiscard]] bool is_queued() const noexcept;
  // Executes the queue, then copies between the points of a box and a buffer: dimension 0 fastest, components slowest,
  // or fastest if interleaved.
  void fetch(const dataset_core& data, const box& what, component_order order, void* to);
  void store(dataset_core& data, const box& what, component_order order, const void* from);
  // Throws bad_argument unless `values` is the number of values in the box.
  static void check_count(const dataset_core& data, const box& what, std::size_t values);
  // Runs f on all threads at once, as loops are run.
  void on_all_threads(const std::function<void(int thread)>& f);

 private:
  void require_own(const dataset_core& data) const;
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace situ::stencil
