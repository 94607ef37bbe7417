#include <situ/base/detail/abi.h>

namespace situ::detail {

const char SITU_ABI = 0;

}  // namespace situ::detail
