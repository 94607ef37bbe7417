#include "image_file.h"
#include "os/output_file.h"

#include <string_view>

namespace squeak {

void write_image_file(const image& of, const std::string& path) {
  situ::detail::replaced_file file{path};
  const std::vector<std::byte> bytes = image_bytes(of);
  file.publish_durably(std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace squeak
