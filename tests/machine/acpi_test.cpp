// The firmware's tables, made here byte by byte: those of a machine with two packages and two memories without
// processors, and those that are damaged.
#include "machine/acpi.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

using situ::machine::firmware_figure;
using situ::machine::read_firmware_figures;
using kind = firmware_figure::kind;

void put(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

std::string table(const char* signature, unsigned revision, std::string body, std::size_t reserved) {
  std::string whole = signature;
  put(whole, 36 + reserved + body.size(), 4);
  put(whole, revision, 1);
  whole.resize(36 + reserved);
  return whole + body;
}

std::string processor(std::uint32_t domain, std::uint8_t apic, bool enabled = true) {
  std::string entry;
  put(entry, 0, 1), put(entry, 16, 1), put(entry, domain & 0xff, 1), put(entry, apic, 1),
      put(entry, enabled ? 1 : 0, 4);
  put(entry, 0, 1), put(entry, domain >> 8, 3), put(entry, 0, 4);
  return entry;
}
std::string x2apic(std::uint32_t domain) {
  std::string entry;
  put(entry, 2, 1), put(entry, 24, 1), put(entry, 0, 2), put(entry, domain, 4), put(entry, 7, 4), put(entry, 1, 4);
  entry.resize(24);
  return entry;
}
std::string memory(std::uint32_t domain, bool enabled = true) {
  std::string entry;
  put(entry, 1, 1), put(entry, 40, 1), put(entry, domain, 4);
  entry.resize(28);
  put(entry, enabled ? 1 : 0, 4);
  entry.resize(40);
  return entry;
}

std::string matrix(kind what, std::uint64_t unit, const std::vector<std::uint32_t>& from,
                   const std::vector<std::uint32_t>& to, const std::vector<std::uint16_t>& entries,
                   unsigned hierarchy = 0) {
  std::string part;
  put(part, 1, 2), put(part, 0, 2), put(part, 32 + 4 * (from.size() + to.size()) + 2 * entries.size(), 4);
  put(part, hierarchy, 1), put(part, static_cast<unsigned>(what), 1), put(part, 0, 2);
  put(part, from.size(), 4), put(part, to.size(), 4), put(part, 0, 4), put(part, unit, 8);
  for (const std::uint32_t domain : from) put(part, domain, 4);
  for (const std::uint32_t domain : to) put(part, domain, 4);
  for (const std::uint16_t entry : entries) put(part, entry, 2);
  return part;
}

// Domains 10 and 4711 have processors, 3 and 8 only memory: they are nodes 0, 1, 2, 3 in this order.
const std::string srat = table("SRAT", 3,
                               memory(10) + processor(10, 0) + processor(10, 1) + processor(99, 2, false) +
                                   x2apic(4711) + memory(4711) + memory(77, false) + memory(3) + memory(8),
                               12);

double figure(const std::vector<firmware_figure>& figures, std::uint32_t from, std::uint32_t to, kind what) {
  for (const firmware_figure& one : figures)
    if (one.from == from && one.to == to && one.what == what) return one.value;
  return 0;
}

TEST(acpi, gives_the_whole_matrix_by_linux_s_numbers) {
  const std::string hmat =
      table("HMAT", 2,
            matrix(kind::latency, 1000, {10, 4711}, {10, 4711, 3, 8}, {90, 140, 110, 400, 140, 90, 160, 0xffff}) +
                matrix(kind::write_bandwidth, 100, {4711}, {3, 8}, {2000, 0}),
            4);
  const auto figures = read_firmware_figures(hmat, srat);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->size(), 8u);
  EXPECT_EQ(figure(*figures, 0, 3, kind::latency), 400);
  EXPECT_EQ(figure(*figures, 1, 2, kind::latency), 160);
  EXPECT_EQ(figure(*figures, 1, 3, kind::latency), 0) << "out of reach";
  EXPECT_EQ(figure(*figures, 1, 2, kind::write_bandwidth), 200e9);
  EXPECT_EQ(figure(*figures, 1, 3, kind::write_bandwidth), 0) << "not said";
}

TEST(acpi, counts_in_the_units_of_its_revision) {
  const auto body = matrix(kind::read_latency, 10, {10}, {10}, {900}) + matrix(kind::bandwidth, 10, {10}, {10}, {1000});
  const auto first = read_firmware_figures(table("HMAT", 1, body, 4), srat);
  ASSERT_TRUE(first);
  EXPECT_EQ(figure(*first, 0, 0, kind::read_latency), 900);
  EXPECT_EQ(figure(*first, 0, 0, kind::bandwidth), 1e9);
  const auto second = read_firmware_figures(table("HMAT", 2, body, 4), srat);
  ASSERT_TRUE(second);
  EXPECT_EQ(figure(*second, 0, 0, kind::read_latency), 9);
  EXPECT_EQ(figure(*second, 0, 0, kind::bandwidth), 1e10);
  EXPECT_FALSE(read_firmware_figures(table("HMAT", 3, body, 4), srat)) << "units that nobody knows yet";
}

TEST(acpi, leaves_out_caches_and_domains_that_are_not_there) {
  const auto figures = read_firmware_figures(table("HMAT", 2,
                                                   matrix(kind::latency, 1000, {10}, {3}, {5}, 1) +
                                                       matrix(kind::latency, 1000, {10, 99}, {3, 77}, {9, 9, 9, 9}),
                                                   4),
                                             srat);
  ASSERT_TRUE(figures);
  EXPECT_EQ(*figures, (std::vector<firmware_figure>{{0, 2, kind::latency, 9}}));
}

TEST(acpi, domains_of_the_first_srat_have_one_byte) {
  const std::string old = table("SRAT", 1, processor(0x10a, 0), 12);  // what stands above the byte means nothing there
  const auto figures = read_firmware_figures(table("HMAT", 2, matrix(kind::latency, 1000, {10}, {10}, {7}), 4), old);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->size(), 1u);
}

TEST(acpi, damaged_tables_say_nothing) {
  const std::string body = matrix(kind::latency, 1000, {10, 4711}, {10, 3}, {1, 2, 3, 4});
  const std::string hmat = table("HMAT", 2, body, 4);
  ASSERT_TRUE(read_firmware_figures(hmat, srat));
  EXPECT_FALSE(read_firmware_figures("", srat));
  EXPECT_FALSE(read_firmware_figures(hmat, ""));
  EXPECT_FALSE(read_firmware_figures(srat, hmat)) << "exchanged";
  EXPECT_FALSE(read_firmware_figures(hmat.substr(0, hmat.size() - 1), srat)) << "shorter than it says";
  std::string many = hmat;
  for (int i = 0; i < 4; ++i) many[40 + 12 + i] = '\xff';  // the number of initiators
  EXPECT_FALSE(read_firmware_figures(many, srat));
  std::string endless = hmat;
  endless[40 + 4] = 0;  // the structure's length
  EXPECT_FALSE(read_firmware_figures(endless, srat));
  std::string endless_srat = srat;
  endless_srat[48 + 1] = 0;
  EXPECT_FALSE(read_firmware_figures(hmat, endless_srat));
}

TEST(acpi, random_damage_does_no_harm) {
  const std::string body = matrix(kind::latency, 1000, {10, 4711}, {10, 3}, {1, 2, 3, 4});
  const std::string hmat = table("HMAT", 2, body + body, 4);
  std::mt19937 random{1};
  for (int round = 0; round < 20000; ++round) {
    std::string a = hmat;
    std::string b = srat;
    for (unsigned i = random() % 6; i-- > 0;) a[random() % a.size()] = static_cast<char>(random());
    for (unsigned i = random() % 6; i-- > 0;) b[random() % b.size()] = static_cast<char>(random());
    const auto figures = read_firmware_figures(a, b);
    if (!figures) continue;
    for (const firmware_figure& one : *figures) ASSERT_TRUE(one.from < 1024 && one.to < 1024 && one.value > 0);
  }
}

TEST(acpi, reads_the_files_where_they_are) {
  const std::string folder = testing::TempDir() + "situ_acpi_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  EXPECT_FALSE(read_firmware_figures(folder));
  const std::string hmat = table("HMAT", 2, matrix(kind::latency, 1000, {10}, {3}, {5}), 4);
  std::ofstream{folder + "/HMAT", std::ios::binary} << hmat;
  EXPECT_FALSE(read_firmware_figures(folder)) << "without SRAT no domain has a node";
  std::ofstream{folder + "/SRAT", std::ios::binary} << srat;
  const auto figures = read_firmware_figures(folder);
  ASSERT_TRUE(figures);
  EXPECT_EQ(*figures, (std::vector<firmware_figure>{{0, 2, kind::latency, 5}}));
  std::filesystem::remove_all(folder);
}

}  // namespace
