// package_rank: which Debian packages matter most, and why is this one installed?
//
//   situ run -n 4 package_rank                       this machine's packages, from `apt-cache dumpavail`
//   situ run -n 4 package_rank --why libpng16-16     ... and the shortest chain of dependencies that explains one
//   situ run -n 4 package_rank --input Packages      a list (`apt-cache dumpavail > Packages`); - for standard input
//
// Place 0 reads the list; the graph is then partitioned over the places, each holding a range of the names in its
// segment. Every facility is used where it fits: puts hand the graph out and renew the ghosts of PageRank, active
// messages carry the frontier of the breadth-first search, `at` looks up names where they lie, gets read results back,
// collectives add up. docs/results/package_rank.md explains how; placed_graph.h, placed_ranks.h and placed_search.h are
// the parts worth reading.
#include "input.h"
#include "package_source.h"
#include "placed_graph.h"
#include "placed_ranks.h"
#include "placed_search.h"
#include "report.h"

#include <situ/situ.h>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace package_rank {
namespace {

struct options {
  input_options input;
  rank_options ranking;
  std::vector<std::string> why;
  std::size_t top = 10;
  bool json = false;
  bool check = true;
};

void declare(CLI::App& app, options& o) {
  app.add_option("--input", o.input.list, "Package list to read, - for standard input [`apt-cache dumpavail`]")
      ->type_name("FILE");
  app.add_flag("--recommends,!--no-recommends", o.input.with_recommends,
               "Whether a recommendation counts as a dependency, as it does for apt [yes]");
  app.add_option("--why", o.why,
                 "Explain why this package is installed; may be repeated [the highest ranked that nobody asked for]")
      ->type_name("PACKAGE")
      ->allow_extra_args(false);
  app.add_option("--top", o.top, "How many packages to list")->capture_default_str();
  app.add_option("--status", o.input.status, "dpkg's record of what is installed [this machine's]")->type_name("FILE");
  app.add_option("--auto", o.input.automatic, "apt's record of what was installed automatically [this machine's]")
      ->type_name("FILE");
  app.add_option("--root", o.input.roots, "Search from this package instead of what is installed; may be repeated")
      ->type_name("PACKAGE")
      ->allow_extra_args(false);
  app.add_option("--damping", o.ranking.damping, "Chance to follow a dependency")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  app.add_option("--tolerance", o.ranking.tolerance, "Stop when the ranks change by less than this in all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--iterations", o.ranking.max_iterations, "Stop after this many iterations")->capture_default_str();
  app.add_flag("--json", o.json, "Print JSON");
  app.add_flag("--check,!--no-check", o.check, "Whether to compare with a sequential computation at place 0 [yes]");
}

bool is_first() { return situ::here() == situ::place{0}; }

void complain(const char* what) { std::fprintf(stderr, "package_rank: %s\n", what); }

// Seconds since the last call, or since it was made.
class stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// What place 0 alone holds: all that was read, as the source of the partition and the standard to check against.
struct source {
  package_graph packages;
  graph dependents;
  installation installed;
};

// The steps of the program, as they are timed and their traffic counted.
enum phase : std::size_t { read_phase, distribute_phase, rank_phase, look_up_phase, why_phase };
static_assert(why_phase + 1 == traffic::phase_count);
constexpr const char* phase_names[] = {"read", "distribute", "rank", "look up", "why"};
constexpr const char* phase_means[] = {
    "place 0 parses while the list is still being written", "puts, all_to_all, exchange",
    "a put to each neighbour, barrier and all_reduce per iteration", "at, where the names are",
    "active messages, all_to_all and all_reduce per level; gets and at"};

// The program at one place. All places call the same steps in the same order; place 0 also fills in the report.
class job {
 public:
  explicit job(const options& o) : options_{o} {}

  // The exit code, the same at every place.
  int run() {
    if (!read()) return 1;
    distribute();
    const bool known = resolve_targets();
    if (known) {
      rank();
      look_up_best();
      search();
      print_report();
    }
    situ::barrier();  // place 0 is done with the others' memory
    values_.reset();
    graph_.reset();
    situ::deallocate(ranks_);
    return situ::broadcast(known && (!report_.checked || report_.checked->passed) ? 0 : 1, 0);
  }

 private:
  // False, everywhere, where place 0 could not read what it was asked to; it has said why.
  bool read() {
    bool good = true;
    enter(read_phase);
    if (is_first()) {
      try {
        source_ = std::make_unique<source>();
        source_->packages = read_packages(options_.input);
        source_->installed = read_installation(options_.input, source_->packages);
        source_->dependents = transpose(source_->packages.dependencies);
        describe_input();
      } catch (const situ::error& e) {
        complain(std::string{e.message()}.c_str());
        good = false;
      }
    }
    return situ::broadcast(good, 0);
  }

  void describe_input() {
    const source& s = *source_;
    report_.source = describe_source(options_.input.list);
    report_.packages = s.packages.names.size();
    report_.edges = s.packages.dependencies.edge_count();
    report_.virtual_names = s.packages.virtual_names;
    report_.unknown_names = s.packages.unknown_names;
    report_.from_status = s.installed.from_status;
    report_.installed = s.installed.installed;
    report_.not_listed = s.installed.not_listed;
    report_.roots = s.installed.roots;
    report_.options = options_.ranking;
  }

  void distribute() {
    enter(distribute_phase);
    std::unique_ptr<whole_graph> whole;
    if (is_first())
      whole.reset(new whole_graph{source_->packages.names, source_->packages.dependencies, source_->dependents,
                                  source_->installed.marks});
    graph_ = std::make_unique<placed_graph>(whole.get(), traffic_);
    values_ = std::make_unique<ghost_values>(*graph_, traffic_);
    ranks_ = situ::allocate<double>(graph_->here().vertex_count());
    all_ranks_ = situ::gather(ranks_, 0);
    const std::vector<std::uint64_t> ghosts = situ::gather(std::uint64_t{values_->ghost_count()}, 0);
    if (!is_first()) return;
    for (const situ::place p : situ::places()) {
      const placed_graph::range r = graph_->range_of(p);
      report::part& part =
          report_.parts.emplace_back(report::part{r.end - r.first, r.edges, ghosts[p.index()], {}, {}});
      if (r.first == r.end) continue;
      part.first = source_->packages.names[r.first];
      part.last = source_->packages.names[r.end - 1];
    }
  }

  void rank() {
    enter(rank_phase);
    report_.ranking = placed_ranks(*graph_, *values_, options_.ranking, ranks_);
  }

  // Which packages --why means. False, everywhere, where place 0 does not know; it has said why.
  bool resolve_targets() {
    enter(look_up_phase);
    return situ::broadcast(!is_first() || find_targets(), 0);
  }

  // At place 0.
  bool find_targets() {
    if (!options_.why.empty() && !source_->installed.from_status && options_.input.roots.empty()) {
      complain("--why: what is installed is not known here: pass --status FILE, or --root PACKAGE to search from");
      return false;
    }
    for (const std::string& name : options_.why) {
      const std::optional<vertex> v = graph_->find(name);
      if (!v) {
        complain(("--why " + name + ": no package of this name in the list").c_str());
        return false;
      }
      targets_.push_back(*v);
    }
    return true;
  }

  // The names of the best, and what to explain where nothing was asked for.
  void look_up_best() {
    enter(look_up_phase);
    const std::vector<ranked> best = best_ranks(*graph_, ranks_, options_.top, 0, 0);
    const std::vector<ranked> unasked = best_ranks(*graph_, ranks_, 1, usable | root, usable);
    if (!is_first()) return;
    for (const ranked& r : best) report_.top.push_back({graph_->name(r.v), r.rank, graph_->look_up(r.v).dependents});
    if (options_.why.empty() && !unasked.empty()) targets_.push_back(unasked[0].v);
  }

  void search() {
    enter(why_phase);
    chain_search search{*graph_, traffic_};
    targets_.resize(situ::broadcast(targets_.size(), 0));
    for (vertex& target : targets_) {
      target = situ::broadcast(target, 0);
      const std::vector<vertex> chain = search.run(target);
      chains_.push_back(chain);
      if (!is_first()) continue;
      const std::uint8_t marks = graph_->look_up(target).marks;
      report::reason& reason = report_.reasons.emplace_back(
          report::reason{graph_->name(target), (marks & usable) != 0, (marks & root) != 0, {}});
      for (const vertex v : chain) reason.chain.push_back(graph_->name(v));
    }
  }

  void print_report() {
    leave_phase();
    report_.moved = traffic_.collect();
    if (!is_first()) return;
    for (std::size_t p = 0; p < traffic::phase_count; ++p)
      report_.phases.push_back({phase_names[p], phase_seconds_[p],
                                p == read_phase ? std::nullopt : std::optional{report_.moved.of_phase[p]},
                                phase_means[p]});
    if (options_.check) check();
    std::fputs((options_.json ? to_json(report_) : to_text(report_)).c_str(), stdout);
  }

  // From here on time and traffic are counted for this phase; one may be entered several times.
  void enter(phase next) {
    leave_phase();
    phase_ = next;
    traffic_.start_phase(next);
  }
  void leave_phase() { phase_seconds_[phase_] += watch_.lap(); }

  // Holds everything against the sequential reference. At place 0.
  void check() {
    stopwatch watch;
    const rank_result reference = reference_ranks(source_->packages.dependencies, options_.ranking);
    report::check result{0, 0, reference.iterations, watch.lap(), true, true};
    std::vector<double> ranks(graph_->vertex_count());
    for (const situ::place p : situ::places()) {
      const placed_graph::range r = graph_->range_of(p);
      situ::get(ranks.data() + r.first, all_ranks_[p.index()], r.end - r.first);
    }
    for (vertex v = 0; v < ranks.size(); ++v) {
      const double difference = std::abs(ranks[v] - reference.ranks[v]);
      result.largest_difference = std::max(result.largest_difference, difference);
      result.largest_relative_difference =
          std::max(result.largest_relative_difference, difference / reference.ranks[v]);
    }
    for (std::size_t i = 0; i < chains_.size(); ++i)
      result.chains_agree = result.chains_agree &&
                            chains_[i] == reference_chain(source_->dependents, source_->installed.marks, targets_[i]);
    result.passed = result.largest_difference <= 1e-12 && result.chains_agree;
    report_.checked = result;
  }

  const options& options_;
  stopwatch watch_;
  traffic traffic_;
  phase phase_ = read_phase;
  std::array<double, traffic::phase_count> phase_seconds_{};
  report report_;
  std::unique_ptr<source> source_;  // at place 0
  std::unique_ptr<placed_graph> graph_;
  std::unique_ptr<ghost_values> values_;
  situ::ptr<double> ranks_;                   // of this place's vertices
  std::vector<situ::ptr<double>> all_ranks_;  // at place 0
  std::vector<vertex> targets_;
  std::vector<std::vector<vertex>> chains_;
};

}  // namespace
}  // namespace package_rank

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  package_rank::options options;
  CLI::App app{"Ranks Debian packages by PageRank over their dependencies, and explains why a package is installed.",
               "package_rank"};
  package_rank::declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return package_rank::is_first() ? app.exit(e) : e.get_exit_code();  // every place knows, one says it
  }
  options.input.show_progress = package_rank::is_first() && isatty(STDERR_FILENO) == 1;
  return package_rank::job{options}.run();
}
