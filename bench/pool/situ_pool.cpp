// Persistent pools beside those of others, for `situ bench pool`; by hand: SITU_BENCH_FOLDER=FOLDER situ run -n 1
// situ_bench_pool (bench/support/job_samples.h). Each subject is a program of its own beside this one: subject.h says
// what they run. Those that are not built, since their library was not installed, are left out.
#include "os/child.h"
#include "support/job_samples.h"

#include <situ/pool/pool.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace job_bench;
namespace fs = std::filesystem;

struct subject {
  const char* name;
  const char* program;
  const char* form = "";  // of a library that has several ways
};
constexpr subject raw{"fdatasync", "situ_bench_pool_raw"};
constexpr subject pmemobj{"pmemobj", "situ_bench_pool_pmemobj"};
constexpr subject pmemobj_actions{"pmemobj_actions", "situ_bench_pool_pmemobj", "actions"};
constexpr subject lmdb{"lmdb", "situ_bench_pool_lmdb"};
constexpr subject sqlite{"sqlite", "situ_bench_pool_sqlite"};
constexpr subject boost_rbtree{"boost_rbtree", "situ_bench_pool_boost", "rbtree"};
constexpr subject boost_node{"boost_node", "situ_bench_pool_boost", "node"};
constexpr subject boost_cached{"boost_cached", "situ_bench_pool_boost", "cached"};
constexpr subject cereal_file{"cereal_file", "situ_bench_pool_cereal"};
constexpr subject own{"situ", "situ_bench_pool_situ"};

struct outcome {
  double ns = 0;
  std::uint64_t check = 0;
};

fs::path folder;  // of all files of this run

fs::path program_of(const subject& which) { return fs::read_symlink("/proc/self/exe").parent_path() / which.program; }
bool is_built(const subject& which) { return fs::exists(program_of(which)); }

// Ends this program where the other fails.
outcome run(const subject& which, const std::string& what, std::size_t size) {
  const fs::path files = folder / which.name;
  fs::create_directory(files);
  const std::string program = program_of(which).string(), form = std::string{"SITU_BENCH_FORM="} + which.form;
  constexpr std::string_view set_here[] = {"SITU_BENCH_FORM"};
  std::vector<std::string> variables = situ::os::own_environment(set_here);
  variables.push_back(form);
  const situ::os::exec_texts arguments{{program, what, files.string(), std::to_string(size)}};
  const situ::os::exec_texts environment{std::move(variables)};
  const auto ended =
      situ::os::run_and_capture({.file = program.c_str(), .arguments = arguments, .environment = &environment});
  double ns = 0;
  unsigned long long check = 0;
  if (!ended || !ended->end.is_success() || std::sscanf(ended->output.c_str(), "%lf %llu", &ns, &check) != 2) {
    std::fprintf(stderr, "situ_bench_pool: %s '%s' %s '%s' %zu fails\n", form.c_str(), program.c_str(), what.c_str(),
                 files.c_str(), size);
    std::exit(1);
  }
  return {ns, check};
}

// Of several cases that go over the same files, one after the other: each subject's samples of each.
struct turns {
  std::vector<std::string> cases;
  std::vector<subject> subjects;
  std::vector<std::vector<samples>> results;  // by case, by subject
};

turns take_turns(std::vector<std::string> cases, std::initializer_list<subject> subjects, std::size_t size, int times) {
  turns all{std::move(cases), {}, {}};
  for (const subject& each : subjects)
    if (is_built(each)) all.subjects.push_back(each);
  all.results.resize(all.cases.size());
  for (auto& of_case : all.results)
    for (const subject& each : all.subjects) of_case.push_back({each.name});
  for (int i = 0; i < times; ++i) {
    std::vector<std::optional<std::uint64_t>> right(all.cases.size());
    for (std::size_t s = 0; s < all.subjects.size(); ++s) {
      for (std::size_t c = 0; c < all.cases.size(); ++c) {
        const outcome got = run(all.subjects[s], all.cases[c], size);
        if (right[c].value_or(got.check) != got.check) {
          std::fprintf(stderr, "situ_bench_pool: %s of %s is wrong\n", all.cases[c].c_str(), all.subjects[s].name);
          std::exit(1);
        }
        right[c] = got.check;
        all.results[c][s].ns.push_back(got.ns);
      }
      fs::remove_all(folder / all.subjects[s].name);
    }
  }
  return all;
}

// In each sample the fastest of those whose names begin so.
std::vector<double> fastest(const std::vector<samples>& all, std::initializer_list<std::string_view> beginnings) {
  std::vector<double> best;
  for (const samples& each : all) {
    if (std::none_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view begin) { return std::string_view{each.name}.starts_with(begin); }))
      continue;
    best.resize(each.ns.size(), 0);
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = best[i] == 0 ? each.ns[i] : std::min(best[i], each.ns[i]);
  }
  return best;
}

// Each beside the counterpart, itself where there is none.
void print_beside(const std::string& name, const std::vector<samples>& all, const std::vector<double>& counterpart) {
  const double calibrated = calibration();
  for (const samples& each : all)
    print_subject(name.c_str(), each, counterpart.empty() ? each.ns : counterpart, calibrated);
}

bool any_is_wanted(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& each) { return is_wanted(each.c_str()); });
}

// --- the cases ---

// small_batched: each beside the only other that makes this promise.
void measure_small(std::size_t process_size, std::size_t machine_size, int times) {
  if (is_wanted("small_process")) {
    const turns all = take_turns({"small_process"}, {pmemobj, lmdb, sqlite, own}, process_size, times);
    print_beside("small_process", all.results[0], fastest(all.results[0], {"pmemobj", "lmdb", "sqlite"}));
  }
  if (is_wanted("small_machine")) {
    const turns all = take_turns({"small_machine"}, {raw, pmemobj, lmdb, sqlite, own}, machine_size, times);
    print_beside("small_machine", all.results[0], fastest(all.results[0], {raw.name}));
  }
  if (is_wanted("small_batched")) {
    const turns all = take_turns({"small_batched"}, {sqlite, own}, process_size, times);
    print_beside("small_batched", all.results[0], fastest(all.results[0], {sqlite.name}));
  }
}

// Ours twice: beside who has transactions, and beside who has none.
void measure_publish(const char* name, std::size_t size, int times) {
  if (!is_wanted(name)) return;
  const turns all =
      take_turns({name}, {pmemobj, pmemobj_actions, boost_rbtree, boost_node, boost_cached, own}, size, times);
  const std::vector<samples>& got = all.results[0];
  print_beside(name, got, fastest(got, {"pmemobj"}));
  print_beside(name, {{"situ_beside_boost", got.back().ns}}, fastest(got, {"boost"}));
}

// Cases of which the second goes on with the files of the first, beside the fastest of the rivals.
void measure_chain(const std::vector<std::string>& names, std::initializer_list<subject> subjects,
                   std::initializer_list<std::string_view> rivals, std::size_t size, int times) {
  if (!any_is_wanted(names)) return;
  const turns all = take_turns(names, subjects, size, times);
  for (std::size_t c = 0; c < names.size(); ++c)
    if (is_wanted(names[c].c_str())) print_beside(names[c], all.results[c], fastest(all.results[c], rivals));
}

// One object after the other in an order that no prefetcher knows.
struct object {
  std::uint64_t value;
  object* next;
  std::uint64_t rest[6];
};

object* link_shuffled(object* objects, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64{1});
  for (std::size_t i = 0; i < count; ++i) objects[order[i]] = {i, i + 1 < count ? &objects[order[i + 1]] : nullptr, {}};
  return &objects[order[0]];
}

double time_walk(const object* first, std::size_t count) {
  const double begin = now_ns();
  std::uint64_t sum = 0;
  for (const object* each = first; each != nullptr; each = each->next) sum += each->value;
  const double ns = (now_ns() - begin) / static_cast<double>(count);
  if (sum != count * (count - 1) / 2) std::exit(1);
  return ns;
}

void measure_read(std::size_t size, int times) {
  if (!is_wanted("read")) return;
  const situ::ptr<object> plain = situ::allocate<object>(size);
  const object* const in_segment = link_shuffled(plain.local(), size);
  {
    situ::pool pool = situ::pool::create((folder / "read").string());
    const object* const in_pool =
        pool.transact([&](situ::transaction& t) { return link_shuffled(t.make_array<object>(size), size); });
    samples segment{"segment"}, persistent{own.name};
    (void)time_walk(in_segment, size);
    (void)time_walk(in_pool, size);
    for (int i = 0; i < times; ++i) {
      segment.ns.push_back(time_walk(in_segment, size));
      persistent.ns.push_back(time_walk(in_pool, size));
    }
    print("read", {segment, persistent});
  }
  situ::deallocate(plain);
  fs::remove(folder / "read");
}

// Times for so many bytes, turned into those for a GiB.
void measure_reopen(std::size_t bytes, int times) {
  const std::vector<std::string> names{"reopen_free", "reopen"};
  if (!any_is_wanted(names)) return;
  const double gib = static_cast<double>(bytes) / static_cast<double>(std::size_t{1} << 30);
  (void)run(own, "reopen_make", bytes);
  std::optional<std::uint64_t> right;
  const auto sample = [&](samples& into, const char* what, double of) {
    const outcome got = run(own, what, bytes);
    into.ns.push_back(got.ns / of);
    if (right.value_or(got.check) != got.check) {
      std::fprintf(stderr, "situ_bench_pool: a pool that was opened again holds something else\n");
      std::exit(1);
    }
    right = got.check;
  };
  samples to_read{own.name}, to_write{"to_write"};
  samples disk{"disk"}, cold{"cold"}, by_faults{"cold_by_faults"}, pages{"pages"}, taken{"addresses_taken"};
  for (int i = 0; i < times; ++i) {
    if (is_wanted("reopen_free")) {
      sample(to_read, "reopen_free", 1);
      sample(to_write, "reopen_to_write", 1);
    }
    if (is_wanted("reopen")) {
      pages.ns.push_back(run(own, "reopen_pages", bytes).ns / gib);
      sample(taken, "reopen_taken", gib);
      disk.ns.push_back(run(own, "read_disk", bytes).ns / gib);
      sample(cold, "reopen_cold", gib);
      sample(by_faults, "reopen_by_faults", gib);
    }
  }
  fs::remove_all(folder / own.name);
  if (is_wanted("reopen_free")) print("reopen_free", {to_read, to_write});
  if (is_wanted("reopen")) print("reopen", {disk, cold, by_faults});
  if (is_wanted("reopen")) print("reopen", {pages, taken});
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const char* const where = std::getenv("SITU_BENCH_FOLDER");
  if (where == nullptr) {
    std::fprintf(stderr, "situ_bench_pool: SITU_BENCH_FOLDER names the folder of its files\n");
    return 1;
  }
  folder = where;
  job_bench::unbind();
  const bool quick = is_quick();
  const int times = quick ? 1 : 5;
  measure_small(quick ? 10'000 : 1'000'000, quick ? 20 : 1'000, times);
  for (const char* name : {"publish_1", "publish_1000"}) measure_publish(name, quick ? 10'000 : 1'000'000, times);
  measure_chain({"graph_store", "graph_open"}, {cereal_file, own}, {"cereal"}, quick ? 10'000 : 1'000'000, times);
  measure_chain({"hash_insert", "hash_mixed"}, {pmemobj, lmdb, own}, {"pmemobj", "lmdb"}, quick ? 10'000 : 1'000'000,
                times);
  measure_read(quick ? 10'000 : 1'000'000, times);
  measure_reopen((quick ? std::size_t{16} << 20 : std::size_t{4} << 30), times);
  print_end();
}
