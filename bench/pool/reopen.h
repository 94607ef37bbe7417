// A large pool, opened again: SIZE is its bytes. Times are for all of it.
#pragma once

#include "subject.h"

namespace pool_bench {

// Lists of records of 256 B, in a new pool; what lies in the page cache of it is on the disk afterwards.
outcome make_large_pool(const order& what);
// Opens it at its own addresses, and finds its root: for reading, for writing.
outcome reopen_free(const order& what);
outcome reopen_to_write(const order& what);
// The same where its addresses are taken: all its pointers are made right.
outcome reopen_taken(const order& what);
// The limit of that: as many pages of a process's own, made by the kernel and filled with what the file holds there.
outcome make_pages(const order& what);
// Opens it and reads all records, where nothing of the file is in memory: with pages that are asked for ahead, and with
// those that are touched.
outcome reopen_cold(const order& what);
outcome reopen_by_faults(const order& what);
// Reads the file by hand, past the page cache, two requests at a time.
outcome read_disk(const order& what);

}  // namespace pool_bench
