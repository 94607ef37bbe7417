// For the rivals of `situ bench graph`, which recurse as deep as a list is long.
#pragma once

#include "forms.h"

#include <pthread.h>
#include <sys/mman.h>

namespace graph_bench {

using take_form_function = void (*)(const sampler&, const std::string& form, const std::string& case_name,
                                    std::size_t n);

// Takes all wanted cases, on a thread whose stack is 16 GiB of addresses.
inline int run_rival(const char* subject, take_form_function take) {
  struct job {
    const char* subject;
    take_form_function take;
  } work{subject, take};
  constexpr std::size_t stack_bytes = std::size_t{16} << 30;
  void* const stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;
  if (stack == MAP_FAILED || pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstack(&attributes, stack, stack_bytes) != 0)
    return 2;
  const auto body = [](void* argument) -> void* {
    const job& mine = *static_cast<job*>(argument);
    struct wanted {
      std::string form;
      std::string name;
      std::size_t n;
    };
    std::vector<wanted> cases;
    for (const char* form : {"dlist", "dlist_shuffled", "ptr_array", "tree", "random4", "flat", "primitives"})
      for (std::size_t i = 0; i < std::size(sizes); ++i)
        if (const std::string name = std::string{"clone_"} + form + "_" + sizes[i]; is_wanted(name))
          cases.push_back({form, name, size_of(i)});
    const sampler samples{mine.subject, cases.size()};
    for (const wanted& each : cases) mine.take(samples, each.form, each.name, each.n);
    samples.end();
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, body, &work) != 0) return 2;
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  munmap(stack, stack_bytes);
  return 0;
}

}  // namespace graph_bench
