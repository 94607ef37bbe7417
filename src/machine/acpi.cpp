#include "machine/acpi.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace situ::machine {
namespace {

constexpr std::size_t header_bytes = 36;  // of every table: signature, length, revision, checksum, ids
constexpr std::size_t revision_at = 8;
constexpr std::size_t hmat_begin = header_bytes + 4;
constexpr std::size_t srat_begin = header_bytes + 12;
constexpr std::uint16_t unreachable = 0xffff;
constexpr std::size_t most_domains = 1024;  // Linux's own limit

// Reads little-endian numbers at offsets of a table. A number outside the table reads as 0.
class table_bytes {
 public:
  explicit table_bytes(std::string_view bytes) : bytes_{bytes} {}
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  template <class Number>
  [[nodiscard]] Number at(std::size_t offset) const {
    Number value = 0;
    if (offset > size() || size() - offset < sizeof value) return 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
      value = static_cast<Number>(value | std::uint64_t{static_cast<unsigned char>(bytes_[offset + i])} << (8 * i));
    return value;
  }
  [[nodiscard]] table_bytes part(std::size_t offset, std::size_t bytes) const {
    return table_bytes{bytes_.substr(offset, bytes)};
  }

 private:
  std::string_view bytes_;
};

// Cuts the table to the length in its header. Returns nullopt if it is another table, or shorter.
std::optional<table_bytes> checked(std::string_view bytes, std::string_view signature, std::size_t begin) {
  const table_bytes whole{bytes};
  const auto length = whole.at<std::uint32_t>(4);
  if (!bytes.starts_with(signature) || length < begin || length > bytes.size()) return std::nullopt;
  return whole.part(0, length);
}

// The proximity domains in the order of Linux's node numbers.
std::optional<std::vector<std::uint32_t>> nodes_of(const table_bytes& srat) {
  enum : std::uint8_t { processor, memory, x2apic, gicc, its, generic_initiator };
  const bool has_wide_domains = srat.at<std::uint8_t>(revision_at) >= 2;
  std::vector<std::uint32_t> domains;
  const auto pass = [&](bool memories) {
    for (std::size_t at = srat_begin; at < srat.size();) {
      const auto type = srat.at<std::uint8_t>(at);
      const auto length = srat.at<std::uint8_t>(at + 1);
      if (length < 2 || at + length > srat.size()) return false;
      const table_bytes entry = srat.part(at, length);
      at += length;
      if ((type == memory) != memories) continue;
      std::uint32_t domain = 0;
      std::uint32_t flags = 0;
      switch (type) {
        case processor:  // the domain is in two pieces: the table's first revision had one byte for it
          domain = entry.at<std::uint8_t>(2);
          if (has_wide_domains) domain |= entry.at<std::uint32_t>(8) >> 8 << 8;
          flags = entry.at<std::uint32_t>(4);
          break;
        case memory: domain = entry.at<std::uint32_t>(2), flags = entry.at<std::uint32_t>(28); break;
        case x2apic: domain = entry.at<std::uint32_t>(4), flags = entry.at<std::uint32_t>(12); break;
        case gicc: domain = entry.at<std::uint32_t>(2), flags = entry.at<std::uint32_t>(10); break;
        case generic_initiator: domain = entry.at<std::uint32_t>(4), flags = entry.at<std::uint32_t>(24); break;
        default: continue;
      }
      const bool is_enabled = (flags & 1) != 0;
      if (!is_enabled || std::find(domains.begin(), domains.end(), domain) != domains.end()) continue;
      if (domains.size() == most_domains) return false;
      domains.push_back(domain);
    }
    return true;
  };
  if (!pass(false) || !pass(true)) return std::nullopt;
  return domains;
}

// Returns ns or bytes per second; 0 if the entry has no figure, or an impossible one.
double value_of(std::uint16_t entry, std::uint64_t unit, firmware_figure::kind what, unsigned revision) {
  if (entry == 0 || entry == unreachable) return 0;
  const double product = static_cast<double>(entry) * static_cast<double>(unit);
  const bool is_latency = what <= firmware_figure::kind::write_latency;
  // Revision 1 counts in tenths of ns and of MB/s, revision 2 in ps and MB/s.
  if (revision == 1) return is_latency ? product / 10 : product / 10 * 1e6;
  return is_latency ? product / 1000 : product * 1e6;
}

// Reads one matrix: a structure of type 1.
bool read_matrix(const table_bytes& part, unsigned revision, const std::vector<std::uint32_t>& domains,
                 std::vector<firmware_figure>& figures) {
  constexpr std::uint8_t of_memory = 0;  // the others are caches before it
  const auto hierarchy = static_cast<std::uint8_t>(part.at<std::uint8_t>(8) & 0xf);
  const auto type = part.at<std::uint8_t>(9);
  const auto initiators = part.at<std::uint32_t>(12);
  const auto targets = part.at<std::uint32_t>(16);
  const auto unit = part.at<std::uint64_t>(24);
  if (initiators > most_domains || targets > most_domains) return false;
  const std::size_t from_list = 32;
  const std::size_t to_list = from_list + 4 * std::size_t{initiators};
  const std::size_t matrix = to_list + 4 * std::size_t{targets};
  if (part.size() < matrix + 2 * std::size_t{initiators} * targets) return false;
  if (hierarchy != of_memory || type > static_cast<std::uint8_t>(firmware_figure::kind::write_bandwidth)) return true;
  const auto what = static_cast<firmware_figure::kind>(type);
  const auto node = [&](std::uint32_t domain) {
    return static_cast<std::uint32_t>(std::find(domains.begin(), domains.end(), domain) - domains.begin());
  };
  for (std::size_t i = 0; i < initiators; ++i) {
    for (std::size_t j = 0; j < targets; ++j) {
      const std::uint32_t from = node(part.at<std::uint32_t>(from_list + 4 * i));
      const std::uint32_t to = node(part.at<std::uint32_t>(to_list + 4 * j));
      const double value = value_of(part.at<std::uint16_t>(matrix + 2 * (i * targets + j)), unit, what, revision);
      if (from < domains.size() && to < domains.size() && value > 0) figures.push_back({from, to, what, value});
    }
  }
  return true;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  if (std::ifstream file{path, std::ios::binary}; file) text << file.rdbuf();
  return text.str();
}

}  // namespace

std::optional<std::vector<firmware_figure>> read_firmware_figures(std::string_view hmat_bytes,
                                                                  std::string_view srat_bytes) {
  const auto hmat = checked(hmat_bytes, "HMAT", hmat_begin);
  const auto srat = checked(srat_bytes, "SRAT", srat_begin);
  if (!hmat || !srat) return std::nullopt;
  const auto revision = hmat->at<std::uint8_t>(revision_at);
  const auto domains = nodes_of(*srat);
  if (!domains || (revision != 1 && revision != 2)) return std::nullopt;
  std::vector<firmware_figure> figures;
  for (std::size_t at = hmat_begin; at < hmat->size();) {
    constexpr std::uint16_t latencies_and_bandwidths = 1;
    const auto type = hmat->at<std::uint16_t>(at);
    const std::size_t length = hmat->at<std::uint32_t>(at + 4);
    if (length < 8 || length > hmat->size() - at) return std::nullopt;
    if (type == latencies_and_bandwidths && !read_matrix(hmat->part(at, length), revision, *domains, figures))
      return std::nullopt;
    at += length;
  }
  return figures;
}

std::optional<std::vector<firmware_figure>> read_firmware_figures(const std::string& directory) {
  const std::string hmat = text_of(directory + "/HMAT");
  if (hmat.empty()) return std::nullopt;
  return read_firmware_figures(hmat, text_of(directory + "/SRAT"));
}

}  // namespace situ::machine
