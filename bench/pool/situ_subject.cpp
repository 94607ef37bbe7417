// situ::pool as a subject of `situ bench pool`, and what only it does: pools that are opened again (reopen.h).
#include "reopen.h"
#include "subject.h"

#include <situ/pool/pool.h>
#include <situ/pool/pool_map.h>

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

using map = situ::pool_map<std::uint64_t, std::uint64_t>;
struct table {
  map entries;
};

situ::pool_promise promise_of(const order& what) {
  if (what.what == "small_machine") return situ::pool_promise::machine;
  if (what.what == "small_batched") return situ::pool_promise::batched;
  return situ::pool_promise::process;
}

situ::pool make(const order& what, const char* name) {
  return situ::pool::create(what.file(name), {.promise = promise_of(what)});
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
    pool.persist("graph", nodes.front());
  }
  return {(now_ns() - begin) / static_cast<double>(what.size), sum_of_graph(nodes.data())};
}

outcome open(const order& what) {
  const double begin = now_ns();
  const situ::pool pool = situ::pool::open(what.file("graph"), situ::pool_access::read);
  const std::uint64_t sum = sum_of_graph(pool.root<graph_node>("graph"));
  return {(now_ns() - begin) / static_cast<double>(what.size), sum};
}

// --- a map ---

outcome hash_insert(const order& what) {
  situ::pool pool = make(what, "map");
  table* all = nullptr;
  pool.transact([&](situ::transaction& t) { t.set_root("map", all = t.make<table>()); });
  return time_publishing(
      what.size, 1000,
      [&](std::size_t first, std::size_t last) {
        situ::transaction t{pool};
        for (std::size_t i = first; i < last; ++i) all->entries.set(t, key_of(i), value_of(i));
        t.commit();
      },
      [&] {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < what.size; ++i) sum += *all->entries.find(key_of(i));
        return sum;
      });
}

outcome hash_mixed(const order& what) {
  situ::pool pool = situ::pool::open(what.file("map"));
  table* const all = pool.root<table>("map");
  return time_mixed(
      all->entries.size(),
      [&](std::uint64_t key) {
        const situ::read_section within{pool};
        return *all->entries.find(key);
      },
      [&](std::uint64_t key, std::uint64_t value) {
        situ::transaction t{pool};
        all->entries.set(t, key, value);
        t.commit();
      });
}

outcome run(const order& what) {
  if (what.what.starts_with("small_")) return small(what);
  if (what.what.starts_with("publish_")) return publish(what);
  if (what.what == "graph_store") return store(what);
  if (what.what == "graph_open") return open(what);
  if (what.what == "hash_insert") return hash_insert(what);
  if (what.what == "hash_mixed") return hash_mixed(what);
  if (what.what == "reopen_make") return make_large_pool(what);
  if (what.what == "reopen_free") return reopen_free(what);
  if (what.what == "reopen_to_write") return reopen_to_write(what);
  if (what.what == "reopen_taken") return reopen_taken(what);
  if (what.what == "reopen_pages") return make_pages(what);
  if (what.what == "reopen_cold") return reopen_cold(what);
  if (what.what == "reopen_by_faults") return reopen_by_faults(what);
  if (what.what == "read_disk") return read_disk(what);
  fail("no case " + what.what);
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
