// For ThreadSanitizer: while one lives, this thread reads what others may write meanwhile, and takes what it finds.
// Counts that are looked at while they go on; pages from which the kernel keeps who writes away.
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
