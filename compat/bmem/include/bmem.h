/* The calls of the bmem library (Leidel, Wang and Chen: Bit Contiguous Memory Allocation for Processing in Memory,
 * MCHPC 2017, section 4.3) over situ::pim::bmem, for C and C++. The process has one device.
 *
 *   bmem_init(1024, 65536, 16, 8);        // 1024 rows x 65536 columns, 16 subarrays a bank, 8 banks
 *   _horizontal void *a = bmem_malloc(4096, HORI);
 *   _vertical void *b = bmem_malloc(128, VERT);
 *   void *c = bmem_malloc_raw(2, 17);     // 2 subarrays x 17 rows
 *   bmem_free(a);
 *   bmem_dtor();
 *
 * A pointer is a handle: to dereference it is a fault.
 *
 * Calls return 0, or -1 (NULL) with errno; bmem_error() has the sentence. ENOMEM: there is no room (the sentence names
 * the largest free rectangle and has a map), or no memory. EFAULT: no live block begins at the pointer; it was freed
 * before, lies within a block, or is another device's. EINVAL: an argument, also more rows or subarrays than there are.
 * ENODEV: there is no device, so bmem_init() comes first. EBUSY: there is one, so bmem_dtor() comes first.
 *
 * Thread-safe, but for bmem_dtor(), beside which no other call may run; any thread may free a block. cost: that of
 * situ::pim::bmem (situ/pim/bmem.h); a call that fails for want of room looks at the whole device, a millisecond. */
#ifndef SITU_COMPAT_BMEM_H
#define SITU_COMPAT_BMEM_H

#include <stddef.h>

/* The paper's keywords are its compiler's; others take them for nothing. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
#ifndef _horizontal
#define _horizontal
#endif
#ifndef _vertical
#define _vertical
#endif
/* NOLINTEND(bugprone-reserved-identifier) */

#ifdef __cplusplus
extern "C" {
#endif

/* The direction of a vector's elements: in a row, or down a column. */
#ifdef __cplusplus
enum BMEM_DIM : int { HORI, VERT }; /* a caller in C may pass any number, which is refused */
#else
typedef enum BMEM_DIM { HORI, VERT } BMEM_DIM;
#endif

/* Makes the process's device: rows and columns (bits, a multiple of 64) of a subarray, subarrays of a bank, banks. */
int bmem_init(unsigned rows, unsigned columns, unsigned subarrays, unsigned banks);
/* Ends the device, with all of its blocks. */
int bmem_dtor(void);

/* HORI: rows for so many bytes, across the subarrays of a bank and then down. VERT: so many bytes of depth of the
 * columns of one subarray, 8 rows each. */
void* bmem_malloc(size_t bytes, BMEM_DIM along);
/* So many neighbouring rows of so many neighbouring subarrays. */
void* bmem_malloc_raw(unsigned subarrays, unsigned rows);
/* NULL: nothing happens. */
int bmem_free(void* block);

/* Why the last call of this thread that failed has failed; valid until its next call. */
const char* bmem_error(void);

#ifdef __cplusplus
}
#endif

#endif
