// A test runs once by each executor, in a session of OPS's C API. Define OPS_2D and include OPS's header first.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

struct ops_session : testing::TestWithParam<const char*> {
  struct session {  // before the members that are declared with it
    session() {
      setenv("SITU_STENCIL_RESIDENT", "0", 1);  // out of core even the smallest dataset lies in the file
      const char* const arguments[] = {"program", GetParam(), "OPS_TILESIZE_X=3", "OPS_TILESIZE_Y=2"};
      ops_init(4, arguments, 1);
    }
    ~session() { ops_exit(); }
  };
  session started;

  static ops_dat dat(ops_block b, std::array<int, 2> size, const char* name, int dim = 1, double* data = nullptr) {
    int base[] = {0, 0}, m[] = {-1, -1}, p[] = {1, 1};
    return ops_decl_dat(b, dim, size.data(), base, m, p, data, "double", name);
  }
  template <class T = double>
  static std::vector<T> fetch(ops_dat d) {
    int disp[2], size[2];
    ops_dat_get_extents(d, 0, disp, size);
    std::vector<T> all(static_cast<std::size_t>(size[0] * size[1] * d->dim));
    ops_dat_fetch_data(d, 0, reinterpret_cast<char*>(all.data()));
    return all;
  }

  ops_block grid = ops_decl_block(2, "grid");
  int zero[2] = {0, 0}, five[10] = {0, 0, 1, 0, -1, 0, 0, 1, 0, -1};
  ops_stencil point = ops_decl_stencil(2, 1, zero, "00");
  ops_stencil star = ops_decl_stencil(2, 5, five, "five");
};

// The path of a file that is gone at the end of its scope.
struct temporary_file {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("situ-ops-test-" + std::to_string(getpid()));
  temporary_file() { std::filesystem::remove(path); }
  ~temporary_file() { std::filesystem::remove(path); }
  [[nodiscard]] const char* name() const { return path.c_str(); }
};

inline auto all_executors() { return testing::Values("OPS_NO_TILING", "OPS_TILING", "SITU_OUT_OF_CORE"); }
