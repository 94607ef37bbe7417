/* The example of section 4.3, as it is printed but for the declarations: compiled as C. */
#include "pim/paper_example.h"

#include <bmem.h>

/* As it is printed. */
#define _horiztonal _horizontal

int run_paper_example(void** pointers) {
  /* variable definitions */
  _horiztonal void* ptr1;
  _vertical void* ptr2;
  _horizontal void* ptr3;

  /* init a device with 1024 rows x 65536 columns per subarray and 16 subarrays per bank and 8 banks */
  if (bmem_init(1024, 65536, 16, 8) != 0) return 1;

  /* allocate a horizontal block of 4096 bytes */
  ptr1 = bmem_malloc(4096, HORI);

  /* allocate a vertical block of 128 bytes */
  ptr2 = bmem_malloc(128, VERT);

  /* allocate 2 subbarrays with 17 rows */
  ptr3 = bmem_malloc_raw(2, 17);

  pointers[0] = ptr1;
  pointers[1] = ptr2;
  pointers[2] = ptr3;

  /* free the pointers */
  if (bmem_free(ptr1) != 0 || bmem_free(ptr2) != 0 || bmem_free(ptr3) != 0) return 2;

  /* destructor */
  return bmem_dtor() == 0 ? 0 : 3;
}
