// For ThreadSanitizer: while an object lives, this thread's reads may race with writes of other threads, on purpose.
// Used for counters that are read while they change, and for pages to which the kernel blocks writers.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace situ::detail {

class racing_reads {
 public:
#if defined(__SANITIZE_THREAD__)
  racing_reads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~racing_reads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  racing_reads() {}
  ~racing_reads() {}
#endif
  racing_reads(const racing_reads&) = delete;
  racing_reads& operator=(const racing_reads&) = delete;
};

}  // namespace situ::detail
