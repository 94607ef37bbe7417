#include "instance.h"

namespace imsuite {

resident_instance::resident_instance(const problem& p, std::span<const vertex> first,
                                     std::span<const situ::ptr<part_base>> parts, bool with_links)
    : what_{make_in_segment<parameters>(p.size(), p.root, p.committee_size, p.seed)},
      where_{make_in_segment<placement>(situ::array<vertex>{first}, situ::array<situ::ptr<part_base>>{parts})} {
  if (with_links) {
    const auto nodes = static_cast<std::size_t>(p.size());
    links_ = make_in_segment<link_matrix>(p.size(), situ::array<std::int32_t>(nodes * nodes));
    for (std::size_t v = 0; v < nodes; ++v)
      for (const link& l : p.net.links[v])
        links_->weights[v * nodes + static_cast<std::size_t>(l.to)] = static_cast<std::int32_t>(l.weight);
  }
  instance_ = make_in_segment<instance>(what_.get(), where_.get(), links_.get());
}

std::vector<vertex> blocks(vertex nodes, std::uint32_t places) {
  std::vector<vertex> first;
  for (std::uint32_t p = 0; p <= places; ++p)
    first.push_back(static_cast<vertex>(static_cast<std::int64_t>(nodes) * p / places));
  return first;
}

}  // namespace imsuite
