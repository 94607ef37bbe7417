#!/usr/bin/env python3
"""ops_table_test.py ROOT BUILD CMAKE: tools/ops_table on a made-up folder of programs, with an install of what they need, and beside a stand-in for
OPS."""

import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

ROOT, BUILD, CMAKE = sys.argv[1:4]
COMPONENTS = ("core", "stencil", "stencil_kernels", "stencil_hdf5", "ops")

# A plate of 40 x 40 points that is smoothed three times. `twist` is added to one of them at the end, where the environment says so. Beside it a
# dataset of two components, and one of a single row.
PLATE = r"""
#define OPS_2D
#include <ops_seq.h>
#include <cstdio>
#include <cstdlib>
#include "kernels.h"
int main(int argc, char** argv) {
  ops_init(argc, argv, 1);
  ops_block plate = ops_decl_block(2, "plate");
  int size[] = {40, 40}, base[] = {0, 0}, below[] = {-1, -1}, above[] = {1, 1};
  int here[] = {0, 0}, five[] = {0, 0, 1, 0, -1, 0, 0, 1, 0, -1}, inner[] = {0, 40, 0, 40}, corner[] = {0, 1, 0, 1};
  ops_stencil point = ops_decl_stencil(2, 1, here, "point"), star = ops_decl_stencil(2, 5, five, "star");
  double* none = nullptr;
  ops_dat u = ops_decl_dat(plate, 1, size, base, below, above, none, "double", "u");
  ops_dat v = ops_decl_dat(plate, 1, size, base, below, above, none, "double", "v");
  int row_size[] = {40, 1}, row_below[] = {-1, 0}, row_above[] = {1, 0};
  ops_dat pair = ops_decl_dat(plate, 2, size, base, below, above, none, "double", "pair");
  ops_dat row = ops_decl_dat(plate, 1, row_size, base, row_below, row_above, none, "double", "row");
  ops_partition("");
  ops_par_loop(both, "both", plate, 2, inner, ops_arg_dat(pair, 2, point, "double", OPS_WRITE), ops_arg_idx());
  ops_par_loop(begin, "begin", plate, 2, inner, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx());
  for (int step = 0; step < 3; ++step) {
    ops_par_loop(smooth, "smooth", plate, 2, inner, ops_arg_dat(u, 1, star, "double", OPS_READ), ops_arg_dat(v, 1, point, "double", OPS_WRITE));
    ops_par_loop(copy, "copy", plate, 2, inner, ops_arg_dat(v, 1, point, "double", OPS_READ), ops_arg_dat(u, 1, point, "double", OPS_WRITE));
  }
  const char* way = std::getenv("SITU_STENCIL_EXECUTOR");
  if (double twist = argc > 1 ? std::atof(argv[1]) : twist_of(way == nullptr ? "" : way))
    ops_par_loop(add, "add", plate, 2, corner, ops_arg_dat(v, 1, point, "double", OPS_RW), ops_arg_gbl(&twist, 1, "double", OPS_READ));
  std::FILE* told = std::fopen("plate.out", "w");
  std::fprintf(told, "%s\n", VERDICT);
  std::fclose(told);
  ops_exit();
}
"""
KERNELS = r"""
#include <string>
inline void begin(double* u, const int* i) { u[OPS_ACC0(0, 0)] = i[0] + 2 * i[1]; }
inline void both(double* pair, const int* i) { pair[OPS_ACC_MD0(0, 0, 0)] = i[0] - i[1]; pair[OPS_ACC_MD0(1, 0, 0)] = 40 * i[1] + i[0]; }
inline void smooth(const double* u, double* v) {
  v[OPS_ACC1(0, 0)] = 0.2 * (u[OPS_ACC0(0, 0)] + u[OPS_ACC0(1, 0)] + u[OPS_ACC0(-1, 0)] + u[OPS_ACC0(0, 1)] + u[OPS_ACC0(0, -1)]);
}
inline void copy(const double* v, double* u) { u[OPS_ACC1(0, 0)] = v[OPS_ACC0(0, 0)]; }
inline void add(double* v, const double* twist) { v[OPS_ACC0(0, 0)] += *twist; }
"""
MAKEFILE = "HEADERS=kernels.h\nOPS_FILES=plate.cpp \\\n   \nOTHER_FILES= twist.cpp\n"


# A stand-in for OPS's library, which runs loops as OPS does: datasets with ghost points and padded rows, the components of a point side by side, or,
# with BY_COMPONENTS, all points of a component.
STAND_IN = {
    "ops_instance.h": "",
    "ops_lib_core.h": r"""
#pragma once
#include <cstddef>
#define OPS_MAX_DIM 3
enum { OPS_READ, OPS_WRITE, OPS_RW };
typedef int ops_memspace;
enum { OPS_HOST = 1 };
struct ops_dat_core;
struct ops_entry { ops_dat_core* dat; struct { ops_entry* tqe_next; } entries; };
struct OPS_instance {
  struct { ops_entry* tqh_first = nullptr; ops_entry** tqh_last = &tqh_first; } OPS_dat_list;
#ifdef BY_COMPONENTS
  int OPS_soa = 1;
#else
  int OPS_soa = 0;
#endif
  static OPS_instance* getOPSInstance();
};
struct ops_block_core { int dims; };
struct ops_dat_core {
  ops_block_core* block;
  int dim, type_size, elem_size, size[OPS_MAX_DIM], d_m[OPS_MAX_DIM], d_p[OPS_MAX_DIM];
  char* data;
  char const *name, *type;
};
typedef ops_block_core* ops_block;
typedef ops_dat_core* ops_dat;
typedef int ops_stencil;
void ops_exit();
inline char* ops_dat_get_raw_pointer(ops_dat, int, ops_stencil*, ops_memspace*) { return nullptr; }
inline void ops_dat_release_raw_data(ops_dat, int, int) {}
""",
    "ops_seq.h": r"""
#pragma once
#include "ops_lib_core.h"
#include <cstdlib>
struct ops_arg { ops_dat dat; void* value; };
inline int rows[4], points[4], parts[4];
inline int element(int n, int c, int x, int y) {
  const int at = x + y * rows[n];
  return OPS_instance::getOPSInstance()->OPS_soa ? c * points[n] + at : at * parts[n] + c;
}
#define OPS_ACC0(x, y) element(0, 0, x, y)
#define OPS_ACC1(x, y) element(1, 0, x, y)
#define OPS_ACC_MD0(c, x, y) element(0, c, x, y)
inline void ops_init(int, char**, int) {}
inline void ops_partition(const char*) {}
inline ops_block ops_decl_block(int dims, const char*) { return new ops_block_core{dims}; }
inline ops_stencil ops_decl_stencil(int, int, int*, const char*) { return 0; }
inline ops_dat ops_decl_dat(ops_block block, int dim, int* size, int*, int* below, int* above, double*, const char* type, const char* name) {
  auto* made = new ops_dat_core{block, dim, 8, 8 * dim, {1, 1, 1}, {}, {}, nullptr, name, type};
  std::size_t whole = 8 * std::size_t(dim);
  for (int d = 0; d < 2; ++d) {
    const int padding = d == 0 ? 3 : 0;
    made->d_m[d] = below[d];
    made->d_p[d] = above[d] + padding;
    made->size[d] = size[d] == 1 ? 1 : size[d] - below[d] + above[d] + padding;
    whole *= std::size_t(made->size[d]);
  }
  made->data = static_cast<char*>(std::calloc(whole, 1));
  auto& all = OPS_instance::getOPSInstance()->OPS_dat_list;
  *all.tqh_last = new ops_entry{made, {nullptr}};
  all.tqh_last = &(*all.tqh_last)->entries.tqe_next;
  return made;
}
inline ops_arg ops_arg_dat(ops_dat dat, int, ops_stencil, const char*, int) { return {dat, nullptr}; }
inline ops_arg ops_arg_idx() { return {nullptr, nullptr}; }
inline ops_arg ops_arg_gbl(double* value, int, const char*, int) { return {nullptr, value}; }
template <class T>
T* place(const ops_arg& a, int* index) {
  if (a.value != nullptr) return static_cast<T*>(a.value);
  if (a.dat == nullptr) return reinterpret_cast<T*>(index);
  const ops_dat d = a.dat;
  const int at = index[0] - d->d_m[0] + (index[1] - d->d_m[1]) * d->size[0];
  return reinterpret_cast<T*>(d->data) + (OPS_instance::getOPSInstance()->OPS_soa ? at : at * d->dim);
}
template <class A, class B>
void ops_par_loop(void (*kernel)(A*, B*), const char*, ops_block, int, int* range, ops_arg a, ops_arg b) {
  int n = 0;
  for (const ops_arg& each : {a, b}) {
    if (each.dat != nullptr) rows[n] = each.dat->size[0], points[n] = each.dat->size[0] * each.dat->size[1], parts[n] = each.dat->dim;
    ++n;
  }
  for (int y = range[2]; y < range[3]; ++y)
    for (int x = range[0]; x < range[1]; ++x) {
      int index[] = {x, y};
      kernel(place<A>(a, index), place<B>(b, index));
    }
}
""",
    "ops_library.cpp": r"""
#include "ops_lib_core.h"
OPS_instance* OPS_instance::getOPSInstance() { static OPS_instance all; return &all; }
void ops_exit() {}
"""}


def write_program(folder, twist, verdict):
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "plate.cpp").write_text(PLATE.replace("VERDICT", f'"{verdict}"'))
    (folder / "kernels.h").write_text(KERNELS + "double twist_of(const std::string& way);\n")
    (folder / "twist.cpp").write_text(f"#include <cmath>\n#include <string>\ndouble twist_of(const std::string& way) {{ {twist} }}\n")


def largest_value():
    """Of the plate at the end, by loops over lists."""
    plate = {(i, j): i + 2.0 * j for i in range(40) for j in range(40)}
    for _ in range(3):
        plate = {(i, j): 0.2 * sum(plate.get((i + x, j + y), 0.0) for x, y in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))) for i, j in plate}
    return max(plate.values())


def ops_table():
    """The script, to call its functions."""
    loader = importlib.machinery.SourceFileLoader("ops_table", ROOT + "/tools/ops_table")
    found = importlib.util.module_from_spec(importlib.util.spec_from_loader("ops_table", loader))
    loader.exec_module(found)
    return found


class OpsTable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="situ-ops-table-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.shared = pathlib.Path(folder.name)
        for component in COMPONENTS:
            subprocess.run([CMAKE, "--install", BUILD, "--prefix", cls.shared / "install", "--component", component], check=True, capture_output=True)
        # The table is of what programs compute, which no optimisation changes: all but one program here are compiled in a third of the time.
        cls.quick_compiler = cls.shared / "quick_compiler"
        cls.quick_compiler.write_text(f"#!/bin/sh\nexec {os.environ.get('CXX', 'c++')} \"$@\" -O0\n")
        cls.quick_compiler.chmod(0o755)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self.shared)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_table(self, *words, optimised=False):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.shared / "install/lib/pkgconfig")}
        if not optimised:
            environment["CXX"] = str(self.quick_compiler)
        return subprocess.run([ROOT + "/tools/ops_table", *words], env=environment, capture_output=True, text=True)

    def test_says_of_each_program_what_it_did(self):
        apps = self.folder / "apps"
        apps.mkdir()
        write_program(apps / "right", "return 0;", "PASSED")
        write_program(apps / "twisted", 'return way == "tiled" ? 1e-3 : way == "plain" ? 0 : std::nan("");', "this run FAILED")
        write_program(apps / "broken", "return no_such_name;", "PASSED")
        write_program(apps / "with_words", 'return way == "plain" ? 0 : 1;', "PASSED")
        done = self.run_table("--json", str(self.folder / "table.json"), "--with", "with_words=0", str(apps))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        rows = {row["name"]: row for row in json.loads((self.folder / "table.json").read_text())}
        self.assertEqual(sorted(rows), ["broken", "right", "twisted", "with_words"])
        self.assertEqual(rows["with_words"]["ways"]["tiled"]["word"], "same", done.stdout)  # without its word it would differ

        right = rows["right"]
        self.assertEqual((right["own_check"], right["bytes"]), ("PASSED", 4 * 42 * 42 * 8 + 42 * 8), done.stdout)
        self.assertEqual({name: way["word"] for name, way in right["ways"].items()},
                         {"plain": "runs", "tiled": "same", "a third": right["ways"]["a third"]["word"], "smallest": "same"}, done.stdout)
        self.assertIn(right["ways"]["a third"]["word"], ("same", "needs more"))
        self.assertGreater(right["ways"]["smallest"]["budget"], 1)

        twisted = rows["twisted"]
        self.assertEqual(twisted["own_check"], "FAILED")
        self.assertEqual(twisted["ways"]["smallest"]["word"], "NaN", done.stdout)
        self.assertEqual(list(twisted["ways"]["tiled"]["differences"]), ["v"])
        self.assertAlmostEqual(float(twisted["ways"]["tiled"]["differences"]["v"]), 1e-3 / largest_value(), delta=1e-9)

        self.assertRegex(done.stdout, r"(?m)^\| broken \| - \| - \| not compiled \|")
        self.assertRegex(done.stdout, r"(?m)^- broken is not compiled: twist\.cpp:.*no_such_name")

    def test_compares_with_ops_itself(self):
        stand_in, apps = self.folder / "stand_in", self.folder / "apps"
        stand_in.mkdir()
        apps.mkdir()
        for name, text in STAND_IN.items():
            (stand_in / name).write_text(text)
        write_program(apps / "twisted", "return way.empty() ? 1e-3 : 0;", "PASSED")  # empty: only with OPS
        write_program(apps / "refused", '\n#if __has_include(<ops_instance.h>)\n#error "not with OPS"\n#endif\nreturn 0;', "PASSED")
        write_program(apps / "checks", "return 0;", "PASSED")
        source = apps / "checks" / "plate.cpp"
        source.write_text(source.read_text().replace('"PASSED"', 'way == nullptr ? "FAILED" : "PASSED"'))
        flags = f"-I{stand_in} {stand_in}/ops_library.cpp"
        done = self.run_table("--beside", flags, "--json", str(self.folder / "table.json"), str(apps))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("| program | bytes of data | own check | OPS runs it | plain | tiled | a third, bytes | smallest, bytes |", done.stdout)
        rows = {row["name"]: row for row in json.loads((self.folder / "table.json").read_text())}
        self.assertEqual({name: (row["beside"]["word"], row["ways"]["plain"]["word"]) for name, row in rows.items()},
                         {"twisted": ("yes", "9e-06"), "refused": ("no", "runs"), "checks": ("yes", "same")}, done.stdout)
        for way in ("plain", "tiled", "smallest"):
            self.assertEqual(rows["checks"]["ways"][way]["word"], "same", done.stdout)
            self.assertEqual(list(rows["twisted"]["ways"][way]["differences"]), ["v"])
            self.assertAlmostEqual(float(rows["twisted"]["ways"][way]["differences"]["v"]), 1e-3 / largest_value(), delta=1e-9)
        self.assertRegex(done.stdout, r"(?m)^- twisted, plain, tiled, .*smallest: 1 dataset, most `v`, 9\.\de-06$")
        self.assertRegex(done.stdout, r"(?m)^- refused, with OPS: is not compiled: twist\.cpp.*not with OPS")
        self.assertRegex(done.stdout, r"(?m)^\| checks \| [\d,]+ \| PASSED, with OPS FAILED \| yes \| same \|")
        is_right = ops_table().is_right
        self.assertEqual([is_right(rows[name], 0.0) for name in ("twisted", "refused", "checks")], [False, True, False])
        self.assertEqual([is_right(rows["twisted"], within) for within in (1e-6, 1e-5)], [False, True])

        done = self.run_table("--beside", flags + " -DBY_COMPONENTS", "--within", "1e-5", "--only", "twisted", str(apps), optimised=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_tells_differences(self):
        table = ops_table()

        def dataset(*values, kind="double", code="d"):
            return [("u", kind, struct.pack(f"={len(values)}{code}", *values), 64)]

        def word(a, b, noise=0.0):
            return table.in_a_word(table.compare(a, b, noise))

        self.assertEqual(word(dataset(1, 2), dataset(1, 2)), "same")
        self.assertEqual(word(dataset(1, 4), dataset(1, 5)), "2e-01")
        self.assertEqual(word(dataset(1, 4, kind="half", code="e"), dataset(1, 5, kind="half", code="e")), "2e-01")
        self.assertEqual(word(dataset(0.0, 1), dataset(-0.0, 1)), "equal")
        self.assertEqual(word(dataset(math.nan, 1), dataset(0, 1)), "NaN")
        self.assertEqual(word(dataset(math.inf, 1), dataset(0, 1)), "inf")
        self.assertEqual(word(dataset(1), dataset(1, 2)), "inf")
        self.assertEqual(word(dataset(1), []), "inf")
        self.assertEqual(word(dataset(1e-13), dataset(2e-13)), "1e+00")
        self.assertEqual(word(dataset(1e-13), dataset(2e-13), noise=1e-12), "same")
        self.assertEqual(word(dataset(1e-13), dataset(2e-12), noise=1e-12), "2e+01")
        self.assertEqual(word(dataset(1e-13, math.nan), dataset(1e-13, 0), noise=1e-12), "NaN")
        for each, within, is_right in (({"u": "1e-10"}, 1e-9, True), ({"u": "1e-8"}, 1e-9, False), ({"u": "nan"}, 1e-9, False), ({"u": "0.0"}, 0.0, True)):
            self.assertEqual(table.is_right_way({"word": "x", "differences": each}, within), is_right, each)

    def test_says_what_it_needs(self):
        done = self.run_table(str(self.shared / "install"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no program of OPS below", done.stderr)
        environment = {**os.environ, "PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": "/nowhere"}
        done = subprocess.run([ROOT + "/tools/ops_table", "."], env=environment, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("name its lib/pkgconfig by PKG_CONFIG_PATH", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
