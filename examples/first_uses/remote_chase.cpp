// remote_chase: pointers to pointers in the memory of a server. The nodes of a ring lie at the server, in random order;
// a walk along the ring touches them as ordinary memory, of which only a part is here at a time. The same ring in
// ordinary memory checks the walk, and so do some steps that read each node by a message.
//
//   remote_chase [nodes, 20000]                           with a server of its own
//   remote_chase nodes SERVER KEYS APPLICATION            with one that `situ rmem serve` has started
#include <situ/base/error.h>
#include <situ/rmem/client.h>
#include <situ/rmem/region.h>
#include <situ/rmem/server.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace rmem = situ::rmem;

struct node {
  node* next;
  std::uint64_t value;
};

// Links the nodes to one ring that visits them in random order (Sattolo's shuffle), the same for each seed.
void link(std::span<node> nodes) {
  std::vector<std::size_t> successor(nodes.size());
  std::iota(successor.begin(), successor.end(), std::size_t{0});
  std::mt19937_64 draw{7};
  for (std::size_t i = nodes.size() - 1; i > 0; --i) std::swap(successor[i], successor[draw() % i]);
  for (std::size_t i = 0; i < nodes.size(); ++i) new (&nodes[i]) node{&nodes[successor[i]], draw()};
}

// Depends on the values and on their order.
std::uint64_t walk(const node* at, std::size_t steps) {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < steps; ++i, at = at->next) seen = seen * 31 + at->value;
  return seen;
}

// The same walk without a mapping: each step is a message to the server. `base` is where the nodes were linked.
std::uint64_t walk_by_messages(rmem::client& client, const rmem::capability& there, const node* base,
                               std::size_t steps) {
  std::uint64_t seen = 0;
  node at{const_cast<node*>(base), 0};
  for (std::size_t i = 0; i < steps; ++i) {
    client.read(there, static_cast<std::size_t>(at.next - base) * sizeof(node),
                std::as_writable_bytes(std::span{&at, 1}));
    seen = seen * 31 + at.value;
  }
  return seen;
}

bool chase(const std::string& server, const rmem::application_key& key, std::size_t count) {
  std::vector<node> here(count);
  link(here);

  rmem::client client{server, key};
  const rmem::capability there = client.allocate(count * sizeof(node));
  bool is_right = false;
  {
    // An eighth of the nodes may be local at a time.
    rmem::region region{
        rmem::client{server, key}, there, {.local_bytes = std::max<std::size_t>(count * sizeof(node) / 8, 1 << 16)}};
    node* const nodes = reinterpret_cast<node*>(region.data());
    link({nodes, count});
    is_right = walk(nodes, count) == walk(here.data(), count);
    region.write_back();  // now others can read it
    const std::size_t some = std::min<std::size_t>(count, 1000);
    is_right = is_right && walk_by_messages(client, there, nodes, some) == walk(here.data(), some);
  }
  client.free(there);
  return is_right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::max(2ul, std::strtoul(argv[1], nullptr, 10)) : 20'000;
  bool is_right = false;
  try {
    if (argc == 5) {
      is_right = chase(argv[2], rmem::load_key(argv[3], argv[4]), count);
    } else {
      const auto key = rmem::application_key::generate("chase");
      rmem::server_options options;
      options.capacity_bytes = count * sizeof(node) + (1 << 20);
      options.keys = {key};
      rmem::server server{options};
      std::jthread serves{[&] { server.run(); }};
      is_right = chase(server.endpoints()[0], key, count);
      server.stop();
    }
  } catch (const situ::error& failure) {
    std::fprintf(stderr, "remote_chase: %s\n", failure.what());
    return 1;
  }
  std::printf("%zu nodes at the server: the walk is %s\n", count, is_right ? "that of the ring here" : "another one");
  return is_right ? 0 : 1;
}
