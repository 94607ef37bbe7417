// expect: promise<T>::set_value takes one value, promise<void>::set_value none
#include <situ/runtime/future.h>

void fulfil(situ::promise<int>& answer) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  answer.set_value(42);
#else
  answer.set_value();
#endif
}
