// expect: char\* cannot travel, since nobody knows how long the text is: make this field a std::string
// one error
#include <situ/graph/at.h>

#include <string>

struct job {
#ifdef SITU_COMPILE_FAIL_CONTROL
  std::string name;
#else
  const char* name;
#endif
  int number;
};

int number_of(job of) { return of.number; }

int ask(job about) { return situ::at(situ::place{0}, number_of, about); }
