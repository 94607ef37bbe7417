// expect: an object of an object heap holds no pointers
#include <situ/heap/object_heap.h>

struct city {
  int people;
#ifdef SITU_COMPILE_FAIL_CONTROL
  situ::ref<city> next;
#else
  city* next;
#endif
};

void build(situ::heap_thread& mine) { (void)mine.make<city>(1); }
