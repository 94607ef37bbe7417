#include <situ/pim/geometry.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

namespace situ::pim {

void check(const geometry& shape) {
  const auto refuse = [&](const char* what) {
    throw_error(errc::bad_argument, fmt::format("pim: {} rows x {} columns x {} subarrays x {} banks: {}", shape.rows,
                                                shape.columns, shape.subarrays, shape.banks, what));
  };
  if (shape.rows == 0 || shape.columns == 0 || shape.subarrays == 0 || shape.banks == 0) refuse("all are at least 1");
  if (shape.columns % 64 != 0) refuse("the columns are a multiple of 64");
  if (std::uint64_t{shape.subarrays} * shape.banks > 32767 || shape.rows > 65535)
    refuse("at most 32767 subarrays of 65535 rows");
}

}  // namespace situ::pim
