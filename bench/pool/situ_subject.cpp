// situ::pool as a subject of `situ bench pool`, and what only it does: pools that are opened again (reopen.h).
#include "reopen.h"
#include "subject.h"

#include <situ/pool/pool.h>

#include <unordered_map>

namespace {
using namespace pool_bench;

struct node {
  std::uint64_t key;
  node* next;
  std::uint64_t extra[2];
};
struct list {
  node* head;
};
struct records {
  record each[record_count];
};
struct graph_node {
  std::uint64_t value;
  graph_node *left, *right, *other;
};

situ::pool make(const order& what, const char* name) {
  const bool is_durable = what.what == "small_machine";
  return situ::pool::create(what.file(name),
                            {.promise = is_durable ? situ::pool_promise::machine : situ::pool_promise::process});
}

outcome small(const order& what) {
  situ::pool pool = make(what, "small");
  records* all = nullptr;
  pool.transact([&](situ::transaction& t) { t.set_root("records", all = t.make<records>()); });
  return time_updates(
      what.size,
      [&](std::size_t index, const record& value) {
        situ::transaction t{pool};
        t.change(&all->each[index]) = value;
        t.commit();
      },
      [&](std::size_t index) { return all->each[index]; });
}

outcome publish(const order& what) {
  situ::pool pool = make(what, "objects");
  list* all = nullptr;
  pool.transact([&](situ::transaction& t) { t.set_root("list", all = t.make<list>()); });
  return time_publishing(
      what.size, each_of(what.what),
      [&](std::size_t first, std::size_t last) {
        situ::transaction t{pool};
        t.change(all);
        for (std::size_t i = first; i < last; ++i) all->head = t.make<node>(i, all->head);
        t.commit();
      },
      [&] {
        std::uint64_t sum = 0;
        for (const node* each = all->head; each != nullptr; each = each->next) sum += each->key;
        return sum;
      });
}

// --- a graph ---

std::vector<graph_node> make_graph(std::size_t count) {
  std::vector<graph_node> nodes(count);
  for (std::size_t i = 0; i < count; ++i)
    nodes[i] = {mix(i), 2 * i + 1 < count ? &nodes[2 * i + 1] : nullptr,
                2 * i + 2 < count ? &nodes[2 * i + 2] : nullptr, &nodes[other_of(i, count)]};
  return nodes;
}

outcome store(const order& what) {
  const std::vector<graph_node> nodes = make_graph(what.size);
  const double begin = now_ns();
  {
    situ::pool pool = make(what, "graph");
    pool.transact([&](situ::transaction& t) {
      std::unordered_map<const graph_node*, graph_node*> copies;
      std::vector<graph_node*> left;
      const auto copy_of = [&](const graph_node* from) -> graph_node* {
        if (from == nullptr) return nullptr;
        const auto [there, is_new] = copies.emplace(from, nullptr);
        if (is_new) left.push_back(there->second = t.make<graph_node>(*from));
        return there->second;
      };
      t.set_root("graph", copy_of(nodes.data()));
      while (!left.empty()) {
        graph_node* const at = left.back();
        left.pop_back();
        at->left = copy_of(at->left);
        at->right = copy_of(at->right);
        at->other = copy_of(at->other);
      }
    });
  }
  return {(now_ns() - begin) / static_cast<double>(what.size), sum_of_graph(nodes.data())};
}

outcome open(const order& what) {
  const double begin = now_ns();
  const situ::pool pool = situ::pool::open(what.file("graph"), situ::pool_access::read);
  const std::uint64_t sum = sum_of_graph(pool.root<graph_node>("graph"));
  return {(now_ns() - begin) / static_cast<double>(what.size), sum};
}

outcome run(const order& what) {
  if (what.what.starts_with("small_")) return small(what);
  if (what.what.starts_with("publish_")) return publish(what);
  if (what.what == "graph_store") return store(what);
  if (what.what == "graph_open") return open(what);
  if (what.what == "reopen_make") return make_large_pool(what);
  if (what.what == "reopen_free") return reopen_free(what);
  if (what.what == "reopen_taken") return reopen_taken(what);
  if (what.what == "reopen_cold") return reopen_cold(what);
  if (what.what == "read_disk") return read_disk(what);
  fail("no case " + what.what);
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
