// Samples of `situ bench heap`: an object heap's references beside pointers, its allocation beside malloc and a pointer
// that is moved on, its moves, and its pauses. Two places, each bound to a processor; place 0 measures.
#include "heap/cases.h"

int main(int argc, char** argv) {
  const situ::runtime job{argc, argv};
  heap_bench::reads();
  heap_bench::barriers();
  heap_bench::allocations();
  heap_bench::moves();
  heap_bench::pauses();
  job_bench::print_end();
}
