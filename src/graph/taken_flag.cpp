#include "graph/taken_flag.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

namespace situ::detail {

void give_back(taken_flag* flag) noexcept {
  try {
    deallocate(ptr<taken_flag>{flag});
  } catch (const error& e) {  // thrown only if the heap is damaged
    log(log_level::error, e.message());
  }
}

}  // namespace situ::detail
