// A context owns blocks, datasets and the queue of loops. Loops are queued, and executed when something needs their
// results: a reduction's value, a fetch, raw access, execute(). In between the whole chain of loops is analysed and
// executed in tiles, or out of core (docs/design/stencil.md).
//
// A context is used by one thread at a time; it runs loops on threads of its own. Handles (block, dataset, reduction)
// are small values and valid as long as their context. Kernels must not throw and must not call into the context; their
// order over the points is open, so a kernel must not depend on it.
//
// Errors: bad_argument for what a program has declared wrongly; executing a chain throws besides what the store throws,
// and out_of_memory where the slots cannot hold a loop's windows. cost: what executes the queue takes the chain's time;
// making a dataset writes its memory at most once; the rest touches no data.
#pragma once

#include <situ/memory/memory_kind.h>
#include <situ/stencil/backing_store.h>
#include <situ/stencil/detail/loop.h>

#include <functional>
#include <iosfwd>
#include <memory>
#include <span>

namespace situ::stencil {

// How chains of loops are run.
enum class executor : std::uint8_t {
  plain,        // each loop over its whole range, one after the other
  tiled,        // chains in skewed tiles that fit into the cache
  out_of_core,  // data in a file or another store, tiles in slots of the fast memory
};
// An executor as SITU_STENCIL_EXECUTOR has it: "out_of_core".
[[nodiscard]] std::string_view name(executor e) noexcept;

// How a context works. What is 0, null or empty is chosen for the machine.
struct options {
  executor run_by = executor::tiled;
  int threads = 0;           // 0: one for each processor the process may use
  bool bind_threads = true;  // to processors, in the order of the place tree
  int small_points = 2048;   // parts of loops below that are run by one thread: handing them out costs more, about 1 us
  std::uint64_t cache_bytes = 0;  // what a tile may fill; 0: a model of this machine chooses tiles
  coordinates tile{};             // points of a tile in each dimension; 0: chosen
  bool tune = true;               // compare the best tiles, and one thread with all, over the first repeats of a chain
  // What datasets in memory, and slots, lie in: intent::bandwidth, memory_kind::parse("huge"). By intent their pages
  // exist, along its ordering, from the start. By default each is where a thread first touches it.
  memory_kind memory;
  // By an intent: whether pages exist from the start. false: each comes when a thread first touches it, in the memory
  // that the ordering has for it.
  bool memory_populate = true;
  std::uint64_t fast_bytes = 0;          // out of core: memory for all slots; 0: half of the memory of the place tree
  std::shared_ptr<backing_store> store;  // out of core: where datasets lie; null: a file
  std::string directory;                 // out of core: where that file goes; "": TMPDIR or /tmp. It has no name there
  std::uint64_t resident_bytes = 1 << 20;  // out of core: smaller datasets stay in memory
  int max_chain_loops = 1000;  // so many are executed without being asked for; whole time steps of them, if they repeat
  bool check_bounds = true;    // that each loop with its stencils stays inside its datasets
  bool find_nan = false;       // after each chain; throws with dataset and point
  bool report = false;         // collect what report() prints
  std::string report_file;     // with `report`: gets it as JSON when the context ends; "": none

  // The defaults with what the environment says: SITU_STENCIL_EXECUTOR=plain|tiled|out_of_core, SITU_STENCIL_THREADS,
  // SITU_STENCIL_CACHE (bytes, "16 MiB"), SITU_STENCIL_TILE ("0,64"), SITU_STENCIL_FAST (bytes), SITU_STENCIL_RESIDENT
  // (bytes), SITU_STENCIL_MEMORY=huge (as memory_kind::parse reads it), SITU_STENCIL_POPULATE=0,
  // SITU_STENCIL_STORE=file|node:0|..., SITU_STENCIL_DIRECTORY, SITU_STENCIL_REPORT=1 or the name of a file that ends
  // in ".json". Throws bad_argument, and what making the store throws.
  [[nodiscard]] static options from_environment();
  [[nodiscard]] static options from_environment(options defaults);
};

// Where a dataset's values lie. Components are separate (each a field of its own), planar (whole fields one after the
// other) or interleaved (side by side at each point): component_order::separate, planar and interleaved.
struct dataset_layout {
  box inner;            // the points without the ghost points
  coordinates below{};  // ghost points before and after inner, in each dimension
  coordinates above{};
  int components = 1;  // values at each point
  component_order order = component_order::separate;
  bool rows_apart = true;  // rows padded such that each starts at a cache line
  void* memory = nullptr;  // the program's own, without padding
};

// What became of all chains so far, summed up, for reports and tests; what begins with `last_` is of the last chain.
struct chain_statistics {
  std::uint64_t chains = 0;        // executed without an error
  std::uint64_t loops = 0;         // in those
  std::uint64_t plans_made = 0;    // for chains that were new
  std::uint64_t plans_reused = 0;  // for chains that were met before
  double plan_seconds = 0;         // for making and finding plans
  double measure_seconds = 0;      // for what the model of tiles knows of the machine: once, if it can be kept
  double run_seconds = 0;          // for chains, planning included
  std::int64_t last_tiles = 0;
  coordinates last_tile{};           // its points in each dimension; 0: not cut
  double last_expected_seconds = 0;  // by the model of tiles; 0: it was not asked
  // out of core: those that the chain was cut into since it did not fit; last_tiles is of the last of them
  std::int64_t last_parts = 0;
  std::uint64_t last_footprint_bytes = 0;  // of one tile in the middle
  std::uint64_t bytes_read = 0;            // out of core: from the store
  std::uint64_t bytes_written = 0;         // out of core: to the store
  double compute_seconds = 0;              // in kernels, and waiting of threads for each other
  double wait_seconds = 0;                 // out of core: for the store
};

// The owner of blocks, datasets, reductions and the queue. Belongs to one thread at a time; not movable.
class context {
 public:
  // Starts its threads and, out of core, opens the store. Throws what making the store throws; with an intent bad_file,
  // bad_argument or not_supported where there is no ordering that can be used. cost: the first
  // context of a program discovers the machine, which takes tens of milliseconds.
  explicit context(options how = options::from_environment());
  ~context();  // drops what is still queued: nobody can see it
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // The options that it was made with.
  [[nodiscard]] const options& how() const noexcept;
  // How many threads run loops, the calling one among them.
  [[nodiscard]] int threads() const noexcept;

  // Executes the queue. Throws what a chain throws; the queue is empty afterwards in any case. If a read or write out
  // of core fails (the disk is full, say), the data is what it was before the chain. cost: the chain's time, and for a
  // new chain its analysis. The first large one on a machine has the caches measured, 100 to 800 ms; that is kept in a
  // file.
  void execute();
  // From here on the program repeats itself, and what `temporaries` hold is not carried from one chain to the next: the
  // out-of-core executor neither reads nor writes them. With every executor a chain that reads one before it writes it
  // throws, and so do fetch() and store() of one: bad_argument, with dataset and kernel.
  // Executes what is queued.
  void begin_cyclic(std::span<dataset_core* const> temporaries);
  // What became of the chains so far.
  [[nodiscard]] const chain_statistics& statistics() const noexcept;
  // Writes the statistics as text; with options::report also a line for each loop, with its time and bytes.
  void report(std::ostream& to) const;

  // From here on: the untyped core, which block, dataset, reduction, par_loop and compat are made of.
  // Programs do not call it.

  // Makes a block and returns its number. Throws bad_argument unless it has 1 to 5 dimensions.
  [[nodiscard]] int add_block(std::string name, int dims);
  // Makes a dataset, whose values are zero unless they lie in the program's own memory. `type_name` is typeid's.
  [[nodiscard]] dataset_core* add_dataset(int block, std::string name, int dims, const dataset_layout& layout,
                                          std::size_t element_bytes, std::string type_name);
  // Executes the queue, then gives the dataset's memory back.
  void remove_dataset(dataset_core* data);
  // Makes a reduction of `count` elements.
  [[nodiscard]] reduction_core* add_reduction(std::string name, std::size_t element_bytes, int count);
  // Takes the loop into the queue; executes whole steps of it where it gets longer than options::max_chain_loops.
  // Throws bad_argument if the loop leaves its datasets, has other dimensions, or uses another context's.
  void enqueue(std::unique_ptr<loop> l);
  // Called while a loop is made: sets a reduction's kind, and its value if it is fresh.
  void use(reduction_core* r, reduction_kind kind, const std::string& loop_name, const void* identities,
           std::size_t bytes);
  // Whether loops wait to be executed.
  [[nodiscard]] bool is_queued() const noexcept;
  // Executes the queue, then copies between the points of a box and a buffer: dimension 0 fastest, components slowest,
  // or fastest if interleaved.
  void fetch(const dataset_core& data, const box& what, component_order order, void* to);
  void store(dataset_core& data, const box& what, component_order order, const void* from);
  // Throws bad_argument unless so many values fill the box.
  static void check_count(const dataset_core& data, const box& what, std::size_t values);
  // Runs f for all threads at once, as loops are run.
  void on_all_threads(const std::function<void(int thread)>& f);

 private:
  void require_own(const dataset_core& data) const;
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace situ::stencil
