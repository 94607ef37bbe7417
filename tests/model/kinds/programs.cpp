// A compressor, an interpreter, a sorted table, a pool of threads, and code that throws and prints.
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kinds.h"

namespace kinds {
namespace {

// --- compressor

constexpr std::uint32_t text_bytes = 150'000;
constexpr std::uint32_t hash_bits = 13;
alignas(set_bytes) unsigned char text[text_bytes];
alignas(set_bytes) unsigned char packed[text_bytes * 2];
alignas(set_bytes) unsigned char unpacked[text_bytes];
alignas(set_bytes) std::uint32_t last_seen[1 << hash_bits];

void write_text() {
  static const char words[] =
      "quick brown fox jumps over lazy dogs and runs away from here to find shelter beyond hills ";
  std::uint32_t random = 12345;
  for (std::uint32_t i = 0, at = 0; i < text_bytes; ++i) {
    text[i] = static_cast<unsigned char>(words[at]);
    at = (at + 1) % (sizeof words - 1);
    if (text[i] != ' ') continue;
    random = random * 1103515245 + 12345;
    at = (random >> 16) % (sizeof words - 1);
  }
}

std::uint32_t hash_at(std::uint32_t at) {
  const std::uint32_t four = text[at] | text[at + 1] << 8 | text[at + 2] << 16 | std::uint32_t{text[at + 3]} << 24;
  return four * 2654435761u >> (32 - hash_bits);
}

// Pairs of a distance and a length of 4 to 255 bytes, or 0 and a byte.
std::uint32_t pack() {
  std::uint32_t out = 0;
  for (std::uint32_t at = 0; at < text_bytes;) {
    std::uint32_t length = 0;
    std::uint32_t from = 0;
    if (at + 4 < text_bytes) {
      std::uint32_t& seen = last_seen[hash_at(at)];
      from = seen;
      seen = at;
      if (from < at && at - from < 65'536)
        while (length < 255 && at + length < text_bytes && text[from + length] == text[at + length]) ++length;
    }
    if (length < 4) {
      packed[out++] = 0;
      packed[out++] = text[at++];
      continue;
    }
    packed[out++] = static_cast<unsigned char>(length);
    packed[out++] = static_cast<unsigned char>(at - from);
    packed[out++] = static_cast<unsigned char>((at - from) >> 8);
    at += length;
  }
  return out;
}

std::uint32_t unpack(std::uint32_t bytes) {
  std::uint32_t out = 0;
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t length = packed[at];
    if (length == 0) {
      unpacked[out++] = packed[at + 1];
      at += 2;
      continue;
    }
    const std::uint32_t distance = packed[at + 1] | packed[at + 2] << 8;
    for (std::uint32_t i = 0; i < length; ++i, ++out) unpacked[out] = unpacked[out - distance];
    at += 3;
  }
  return out;
}

// --- interpreter

enum class op : std::uint8_t { push, load, store, add, multiply, less, jump_if, jump, load_at, store_at, stop };
struct instruction {
  op what;
  std::int32_t operand;
};
constexpr int cells = 12'000;
alignas(set_bytes) long memory[cells];
alignas(set_bytes) long stack[64];

// for (i = 0; i < n; ++i) { m[i % cells] += i * i; sum += m[i % cells]; }, by a machine with a stack
constexpr instruction program[] = {
    {op::push, 0},     {op::store, 0},    {op::push, 0},  {op::store, 1}, {op::load, 0},    {op::load, 2},
    {op::less, 0},     {op::jump_if, 9},  {op::stop, 0},  {op::load, 0},  {op::load_at, 0}, {op::load, 0},
    {op::load, 0},     {op::multiply, 0}, {op::add, 0},   {op::store, 3}, {op::load, 3},    {op::load, 0},
    {op::store_at, 0}, {op::load, 1},     {op::load, 3},  {op::add, 0},   {op::store, 1},   {op::load, 0},
    {op::push, 1},     {op::add, 0},      {op::store, 0}, {op::jump, 4},
};

long interpret(long n) {
  long variables[4] = {0, 0, n, 0};
  long* top = stack;
  for (const instruction* at = program;;) {
    const instruction now = *at++;
    switch (now.what) {
      case op::push: *top++ = now.operand; break;
      case op::load: *top++ = variables[now.operand]; break;
      case op::store: variables[now.operand] = *--top; break;
      case op::add: --top, top[-1] += *top; break;
      case op::multiply: --top, top[-1] = top[-1] * *top % 1'000'003; break;
      case op::less: --top, top[-1] = top[-1] < *top ? 1 : 0; break;
      case op::jump_if:
        if (*--top != 0) at = program + now.operand;
        break;
      case op::jump: at = program + now.operand; break;
      case op::load_at: top[-1] = memory[top[-1] * 7 % cells]; break;
      case op::store_at: top -= 2, memory[top[1] * 7 % cells] = *top; break;
      case op::stop: return variables[1];
    }
  }
}

// --- sorted table: a B-tree

constexpr int most_keys = 15;
struct tree_node {
  int count;
  bool is_leaf;
  std::uint32_t keys[most_keys];
  tree_node* children[most_keys + 1];
};
constexpr int most_nodes = 6000;
alignas(set_bytes) tree_node tree_nodes[most_nodes];
int used_nodes = 0;

tree_node* new_node(bool is_leaf) {
  tree_node* const made = &tree_nodes[used_nodes++];
  made->is_leaf = is_leaf;
  made->count = 0;
  return made;
}

void split_child(tree_node* parent, int at) {
  tree_node* const full = parent->children[at];
  tree_node* const right = new_node(full->is_leaf);
  constexpr int half = most_keys / 2;
  right->count = most_keys - half - 1;
  for (int i = 0; i < right->count; ++i) right->keys[i] = full->keys[half + 1 + i];
  if (!full->is_leaf)
    for (int i = 0; i <= right->count; ++i) right->children[i] = full->children[half + 1 + i];
  full->count = half;
  for (int i = parent->count; i > at; --i) {
    parent->keys[i] = parent->keys[i - 1];
    parent->children[i + 1] = parent->children[i];
  }
  parent->keys[at] = full->keys[half];
  parent->children[at + 1] = right;
  ++parent->count;
}

void insert_key(tree_node*& root, std::uint32_t key) {
  if (root->count == most_keys) {
    tree_node* const above = new_node(false);
    above->children[0] = root;
    root = above;
    split_child(root, 0);
  }
  tree_node* node = root;
  while (!node->is_leaf) {
    int i = 0;
    while (i < node->count && node->keys[i] < key) ++i;
    if (node->children[i]->count == most_keys) {
      split_child(node, i);
      if (node->keys[i] < key) ++i;
    }
    node = node->children[i];
  }
  int i = node->count++;
  for (; i > 0 && node->keys[i - 1] > key; --i) node->keys[i] = node->keys[i - 1];
  node->keys[i] = key;
}

bool has_key(const tree_node* node, std::uint32_t key) {
  for (;;) {
    int i = 0;
    while (i < node->count && node->keys[i] < key) ++i;
    if (i < node->count && node->keys[i] == key) return true;
    if (node->is_leaf) return false;
    node = node->children[i];
  }
}

// --- thread pool

class pool {
 public:
  explicit pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~pool() {
    {
      const std::scoped_lock lock{mutex_};
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) each.join();
  }
  void add(std::function<void()> what) {
    {
      const std::scoped_lock lock{mutex_};
      waiting_.push_back(std::move(what));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> next;
      {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      next();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

constexpr int pieces = 16;
constexpr int piece_size = 4096;
alignas(set_bytes) double piece_data[pieces][piece_size];
double piece_sums[pieces];

// --- exceptions

struct bad_record : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int parse_record(const std::string& record) {
  int value = 0;
  for (const char each : record) {
    if (each < '0' || each > '9') throw bad_record{"no digit in " + record};
    value = value * 10 + (each - '0');
  }
  return value;
}

}  // namespace

double compressor() {
  write_text();
  const std::uint32_t bytes = pack();
  const std::uint32_t back = unpack(bytes);
  return bytes + (back == text_bytes && std::memcmp(text, unpacked, text_bytes) == 0 ? 0.5 : 0);
}

double interpreter() { return static_cast<double>(interpret(25'000)); }

double sorted_table() {
  tree_node* root = new_node(true);
  std::uint32_t random = 1;
  for (int i = 0; i < 20'000; ++i) insert_key(root, random = random * 1664525 + 1013904223);
  int found = 0;
  random = 1;
  for (int i = 0; i < 40'000; ++i) found += has_key(root, (random = random * 1664525 + 1013904223)) ? 1 : 0;
  return found + used_nodes / 10'000.0;
}

double thread_pool() {
  {
    pool workers{2};
    for (int i = 0; i < pieces; ++i)
      workers.add([i] {
        double sum = 0;
        for (int round = 0; round < 3; ++round)
          for (int k = 0; k < piece_size; ++k) sum += piece_data[i][k] += i + k * 0.5;
        piece_sums[i] = sum;
      });
  }
  double sum = 0;
  for (const double each : piece_sums) sum += each;
  return sum;
}

double exceptions() {
  std::ostringstream out;
  int sum = 0;
  int bad = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string record = std::to_string(i * 37) + (i % 10 == 0 ? "x" : "");
    try {
      sum += parse_record(record);
    } catch (const bad_record& why) {
      ++bad;
      out << i << ": " << why.what() << '\n';
    }
  }
  return sum + bad / 1000.0 + static_cast<double>(out.str().size()) * 1e-6;
}

}  // namespace kinds
