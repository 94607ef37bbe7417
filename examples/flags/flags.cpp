// flags: Jacobi's iteration on a square plate, its rows spread over the places. Neighbours tell each other by signals
// that an edge has come; with "barriers" everybody waits for everybody instead, with "progress" the edge's signal is
// looked at in a loop. The sums are the same bits.
//
//   situ run -n 4 flags [signals|barriers|progress] [iterations] [width]
//
//   place p:   | edge from p-1 | own rows ... | edge from p+1 |      each edge twice: those of even and of odd
//   iterations
//
// A place puts its edge of iteration i + 2 over that of i only once it has seen the neighbour's of i + 1, which the
// neighbour has sent after it used that of i. So two of each are enough, and nobody answers.
#include <situ/situ.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct edge {
  situ::ptr<double> values;  // of an even iteration, then of an odd one
  situ::ptr<situ::signal> iteration;
};
struct edges {
  edge above, below;
};

edge make_edge(std::size_t width) {
  const edge made{situ::allocate<double>(2 * width), situ::allocate_signals()};
  for (std::size_t i = 0; i < 2 * width; ++i) made.values.local()[i] = 0;
  return made;
}

enum class by { signals, barriers, progress };

class plate {
 public:
  plate(std::size_t width, by how)
      : width_{width}, rows_{width / situ::place_count()}, how_{how}, all_{situ::all_gather(make_edges(width))} {
    const std::uint32_t me = situ::here().index();
    mine_ = all_[me];
    if (me > 0) above_ = &all_[me - 1].below;
    if (me + 1 < situ::place_count()) below_ = &all_[me + 1].above;
    now_.assign((rows_ + 2) * width, 0);
    next_ = now_;
    if (me == 0)
      for (std::size_t i = 0; i < width; ++i) now_[i] = next_[i] = 1;  // the hot side
  }

  void iterate(std::uint64_t iteration) {
    const auto parity = static_cast<std::ptrdiff_t>(iteration % 2 * width_);
    if (above_ != nullptr) send(*above_, parity, row(1), iteration);
    if (below_ != nullptr) send(*below_, parity, row(rows_), iteration);
    if (how_ == by::barriers) situ::barrier();
    if (above_ != nullptr) take(mine_.above, parity, row(0), iteration);
    if (below_ != nullptr) take(mine_.below, parity, row(rows_ + 1), iteration);
    for (std::size_t r = 1; r <= rows_; ++r) relax(row(r), &next_[r * width_]);
    std::swap(now_, next_);
  }

  [[nodiscard]] double sum() const {
    double total = 0;
    for (std::size_t i = width_; i < (rows_ + 1) * width_; ++i) total += now_[i];
    return total;
  }

  void give_back() {
    situ::barrier();
    for (const edge& each : {mine_.above, mine_.below}) {
      situ::deallocate(each.values);
      situ::deallocate(each.iteration);
    }
  }

 private:
  static edges make_edges(std::size_t width) { return {make_edge(width), make_edge(width)}; }
  [[nodiscard]] double* row(std::size_t r) { return &now_[r * width_]; }

  void send(const edge& there, std::ptrdiff_t parity, const double* values, std::uint64_t iteration) const {
    if (how_ == by::barriers) return situ::put(there.values + parity, values, width_);
    situ::put_signal(there.values + parity, values, width_, there.iteration, iteration);
  }
  void take(const edge& from, std::ptrdiff_t parity, double* values, std::uint64_t iteration) const {
    const auto has_come = [iteration](std::uint64_t n) { return n >= iteration; };
    if (how_ == by::signals) situ::wait_until(from.iteration, has_come);
    if (how_ == by::progress)
      while (!has_come(situ::atomic_load(situ::word(from.iteration)))) situ::progress();
    situ::get(values, from.values + parity, width_);
  }
  void relax(const double* from, double* to) const {
    for (std::size_t i = 1; i + 1 < width_; ++i)
      to[i] = 0.25 * (from[i - 1] + from[i + 1] + from[i - width_] + from[i + width_]);
  }

  std::size_t width_;
  std::size_t rows_;
  by how_;
  std::vector<edges> all_;
  edges mine_;
  const edge* above_ = nullptr;  // where the neighbours take their edges
  const edge* below_ = nullptr;
  std::vector<double> now_, next_;
};

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::string_view way = argc > 1 ? argv[1] : "signals";
  const std::uint64_t iterations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000;
  const std::size_t width = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 64;
  const by how = way == "barriers" ? by::barriers : way == "progress" ? by::progress : by::signals;

  plate heated{width, how};
  situ::barrier();
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; i <= iterations; ++i) heated.iterate(i);
  situ::barrier();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;

  const std::vector<double> sums = situ::gather(heated.sum());
  double total = 0;
  for (const double each : sums) total += each;  // by place, so the same bits each time
  if (situ::here().index() == 0) {
    std::printf("%.17g\n", total);
    std::fprintf(stderr, "%s: %.3f s\n", std::string{way}.c_str(), time.count());
  }
  heated.give_back();
}
