// Each case: the raw loop, and the same kernel through par_loop on one thread. Seconds for one sweep over an n^3 grid.
#pragma once

#include <functional>
#include <string>
#include <vector>

struct kernel_case {
  std::string name;
  double bytes;                      // by the paper's count
  std::function<void()> raw;
  std::function<void()> situ;
  std::function<bool()> agrees;      // after both have run
};

// Cases own their data.
std::vector<kernel_case> make_kernel_cases(int n);

// Ten sweeps of a 5-point Jacobi iteration over two fields of `bytes` together, as one chain.
struct chain_case {
  std::function<void()> plain;
  std::function<void()> tiled;
  std::function<bool()> agrees;
  std::function<std::string()> tiles;
};
chain_case make_jacobi_chain(double bytes, int threads);
