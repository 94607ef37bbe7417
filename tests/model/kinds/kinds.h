// Ten small programs, each after a kind of the programs that people bring: cachegrind_test.cpp holds what the model counts of
// them to what cachegrind counts. Their data are static and aligned to all sets of the caches that are compared, so that
// they lie in the same sets natively and on a modelled machine.
#pragma once

#include <cstddef>

namespace kinds {

inline constexpr std::size_t set_bytes = std::size_t{1} << 16;  // aligned to this, data begin in the first set

// Each returns a sum of what it has computed.
double gemm();
double jacobi_2d();
double atax();
double floyd_warshall();
double doitgen();
double compressor();
double interpreter();
double sorted_table();
double thread_pool();
double exceptions();

}  // namespace kinds
