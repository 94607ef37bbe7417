/* The calls of the RMem service, in C: without a server they say what is missing. */
#include <rmem.h>
#include <stdio.h>

int main(void) {
  if (memalloc(8) != NULL) return 1;
  puts(rmem_error());
  return 0;
}
