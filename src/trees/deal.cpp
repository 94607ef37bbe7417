#include <situ/trees/deal.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace situ {

std::string deal::to_text() const {
  static constexpr std::string_view names[] = {"block", "cyclic",    "blocks_of", "weighted",
                                               "model", "automatic", "dynamic"};
  std::string text{names[static_cast<std::size_t>(what)]};
  if (what == policy::blocks || (what == policy::dynamic && size > 0)) text += fmt::format("({})", size);
  if (what == policy::weighted) text += fmt::format("({})", fmt::join(weights, ", "));
  return text;
}

}  // namespace situ
