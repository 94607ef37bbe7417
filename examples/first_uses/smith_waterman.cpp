// smith_waterman: the best local alignment of two sequences of letters (Smith and Waterman, 1981). The table of scores
// is computed in tiles. Each tile is a unit that declares the edges that it reads and the tile that it writes, so
// tiles run as soon as those above and to the left are done, in a wavefront. A plain loop checks the result.
//
//   smith_waterman [letters, 3000] [rows of a tile, 128] [checked]
#include <situ/task/task_graph.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int match = 2, mismatch = -3, gap = -4;

int score_of(char a, char b) { return a == b ? match : mismatch; }

struct larger {  // combines what the tiles add to the best score
  int operator()(int a, int b) const { return std::max(a, b); }
};

// Row r is for the r-th letter of `a`, column c for the c-th of `b`; row and column 0 are zero.
class score_table {
 public:
  score_table(const std::string& a, const std::string& b)
      : a_{a}, b_{b}, pitch_{b.size() + 1}, storage_((a.size() + 1) * pitch_), scores_{"scores", storage_} {}

  void fill(std::size_t tile, situ::task_graph& graph) {
    for (std::size_t r = 1; r <= a_.size(); r += tile)
      for (std::size_t c = 1; c <= b_.size(); c += tile) {
        const std::size_t rows = std::min(tile, a_.size() + 1 - r), columns = std::min(tile, b_.size() + 1 - c);
        const auto mine = situ::tile(pointer(r, c), rows, columns, pitch_);
        graph.add(
            {situ::reads(situ::tile(pointer(r - 1, c - 1), 1, columns + 1, pitch_)),  // the row above, the corner
             situ::reads(situ::tile(pointer(r, c - 1), rows, 1, pitch_)),             // the column to the left
             situ::writes(mine)},
            [=, this] { fill_tile(r, c, rows, columns); }, "tile");
        graph.reduce(
            best_, {situ::reads(mine)},
            [=, this](int& part) { part = std::max(part, best_of_tile(r, c, rows, columns)); }, 0, larger{});
      }
    graph.wait();
  }
  [[nodiscard]] int best() const { return best_; }
  [[nodiscard]] int at(std::size_t r, std::size_t c) const { return storage_[r * pitch_ + c]; }
  [[nodiscard]] std::size_t index_of_best() const {  // of the first, if several cells have that score
    return static_cast<std::size_t>(std::find(storage_.begin(), storage_.end(), best_) - storage_.begin());
  }
  [[nodiscard]] std::size_t pitch() const { return pitch_; }

 private:
  int* pointer(std::size_t r, std::size_t c) { return storage_.data() + r * pitch_ + c; }
  void fill_tile(std::size_t first_row, std::size_t first_column, std::size_t rows, std::size_t columns) {
    for (std::size_t r = first_row; r < first_row + rows; ++r)
      for (std::size_t c = first_column; c < first_column + columns; ++c) {
        const std::size_t i = r * pitch_ + c;
        const int diagonal = scores_[i - pitch_ - 1] + score_of(a_[r - 1], b_[c - 1]);
        const int above = scores_[i - pitch_] + gap, left = scores_[i - 1] + gap;
        scores_[i] = std::max({0, diagonal, above, left});
      }
  }
  [[nodiscard]] int best_of_tile(std::size_t first_row, std::size_t first_column, std::size_t rows,
                                 std::size_t columns) const {
    int best = 0;
    for (std::size_t r = first_row; r < first_row + rows; ++r)
      for (std::size_t c = first_column; c < first_column + columns; ++c)
        best = std::max<int>(best, scores_[r * pitch_ + c]);
    return best;
  }

  std::string a_, b_;
  std::size_t pitch_;
  std::vector<int> storage_;
  situ::declared_span<int> scores_;  // a checked graph sees each access by []
  int best_ = 0;
};

// The largest score, by one row after the other: two rows are enough for that.
int plain_score(const std::string& a, const std::string& b) {
  std::vector<int> previous(b.size() + 1), current(b.size() + 1);
  int best = 0;
  for (const char letter : a) {
    for (std::size_t c = 1; c <= b.size(); ++c) {
      current[c] = std::max({0, previous[c - 1] + score_of(letter, b[c - 1]), previous[c] + gap, current[c - 1] + gap});
      best = std::max(best, current[c]);
    }
    std::swap(previous, current);
  }
  return best;
}

struct alignment {
  int score = 0;  // of the letters and gaps on the way
  std::size_t letters = 0, alike = 0;
};

// The way back from the best score to a score of zero, with its own count of the score.
alignment way_back(const score_table& table, const std::string& a, const std::string& b) {
  std::size_t r = table.index_of_best() / table.pitch(), c = table.index_of_best() % table.pitch();
  alignment found;
  while (table.at(r, c) != 0) {
    const bool is_pair = table.at(r, c) == table.at(r - 1, c - 1) + score_of(a[r - 1], b[c - 1]);
    const bool is_gap_in_b = !is_pair && table.at(r, c) == table.at(r - 1, c) + gap;
    if (is_pair) found.alike += a[r - 1] == b[c - 1];
    found.score += is_pair ? score_of(a[r - 1], b[c - 1]) : gap;
    ++found.letters;
    if (is_pair || is_gap_in_b) --r;
    if (!is_gap_in_b) --c;
  }
  return found;
}

std::string letters(std::size_t count, std::mt19937& draw) {
  std::string text(count, ' ');
  for (char& each : text) each = "ACGT"[draw() % 4];
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 3000;
  const std::size_t tile = argc > 2 ? std::max(1ul, std::strtoul(argv[2], nullptr, 10)) : 128;
  const bool is_checked = argc > 3 && std::strcmp(argv[3], "checked") == 0;

  // The second sequence has the middle third of the first one, with every 20th letter changed.
  std::mt19937 draw{1981};
  const std::string a = letters(count, draw);
  std::string b = letters(count / 3, draw) + a.substr(count / 3, count / 3) + letters(count / 4, draw);
  for (std::size_t i = 0; i < b.size(); i += 20) b[i] = "ACGT"[draw() % 4];

  score_table table{a, b};
  situ::task_graph graph{{.checked = is_checked}};
  table.fill(tile, graph);
  const alignment found = way_back(table, a, b);
  const bool is_right = found.score == table.best() && found.score == plain_score(a, b);
  std::printf("%zu letters beside %zu, %llu units: score %d, %zu of %zu alike: %s\n", a.size(), b.size(),
              static_cast<unsigned long long>(graph.statistics().units), found.score, found.alike, found.letters,
              is_right ? "as a plain loop finds" : "but a plain loop finds another score");
  return is_right ? 0 : 1;
}
