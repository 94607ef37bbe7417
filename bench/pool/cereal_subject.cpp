// cereal: a graph by smart pointers to a file (binary archive) and back, on a stack that is as deep as it recurses.
#include "subject.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/memory.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <fstream>
#include <functional>
#include <memory>
#include <vector>

namespace {
using namespace pool_bench;

struct node {
  std::uint64_t value = 0;
  std::shared_ptr<node> left, right, other;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, left, right, other);
  }
};

std::shared_ptr<node> make_graph(std::size_t count) {
  std::vector<std::shared_ptr<node>> nodes(count);
  for (auto& each : nodes) each = std::make_shared<node>();
  for (std::size_t i = 0; i < count; ++i) {
    nodes[i]->value = mix(i);
    if (2 * i + 1 < count) nodes[i]->left = nodes[2 * i + 1];
    if (2 * i + 2 < count) nodes[i]->right = nodes[2 * i + 2];
    nodes[i]->other = nodes[other_of(i, count)];
  }
  return nodes[0];
}

outcome store(const order& what) {
  const std::shared_ptr<node>* const root = new std::shared_ptr<node>{make_graph(what.size)};  // not taken apart
  const double begin = now_ns();
  {
    std::ofstream file{what.file("graph"), std::ios::binary};
    cereal::BinaryOutputArchive archive{file};
    archive(*root);
  }
  return {(now_ns() - begin) / static_cast<double>(what.size), sum_of_graph(root->get())};
}

outcome open(const order& what) {
  auto* const root = new std::shared_ptr<node>;
  const double begin = now_ns();
  std::ifstream file{what.file("graph"), std::ios::binary};
  cereal::BinaryInputArchive archive{file};
  archive(*root);
  const std::uint64_t sum = sum_of_graph(root->get());
  return {(now_ns() - begin) / static_cast<double>(what.size), sum};
}

// On a thread whose stack is 16 GiB of addresses: each edge that is followed is a frame.
outcome run_deep(const std::function<outcome()>& body) {
  struct job {
    const std::function<outcome()>& body;
    outcome result;
    std::exception_ptr failed;
  } work{body, {}, {}};
  constexpr std::size_t stack_bytes = std::size_t{16} << 30;
  void* const stack = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    job& mine = *static_cast<job*>(argument);
    try {
      mine.result = mine.body();
    } catch (...) {
      mine.failed = std::current_exception();
    }
    return nullptr;
  };
  if (stack == MAP_FAILED || pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstack(&attributes, stack, stack_bytes) != 0 ||
      pthread_create(&thread, &attributes, start, &work) != 0)
    fail("no stack for cereal");
  pthread_join(thread, nullptr);
  if (work.failed) std::rethrow_exception(work.failed);
  return work.result;
}

outcome run(const order& what) {
  if (what.what == "graph_store") return run_deep([&] { return store(what); });
  if (what.what == "graph_open") return run_deep([&] { return open(what); });
  fail("no case " + what.what);
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
