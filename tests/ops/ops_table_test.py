#!/usr/bin/env python3
"""ops_table_test.py ROOT BUILD CMAKE: tools/ops_table on a made-up folder of programs, with an install of what they need."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

ROOT, BUILD, CMAKE = sys.argv[1:4]
COMPONENTS = ("core", "stencil", "stencil_kernels", "stencil_hdf5", "ops")

# A plate of 40 x 40 points that is smoothed three times. `twist` is added to one of them at the end, where the environment says so.
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
  ops_partition("");
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
inline void smooth(const double* u, double* v) {
  v[OPS_ACC1(0, 0)] = 0.2 * (u[OPS_ACC0(0, 0)] + u[OPS_ACC0(1, 0)] + u[OPS_ACC0(-1, 0)] + u[OPS_ACC0(0, 1)] + u[OPS_ACC0(0, -1)]);
}
inline void copy(const double* v, double* u) { u[OPS_ACC1(0, 0)] = v[OPS_ACC0(0, 0)]; }
inline void add(double* v, const double* twist) { v[OPS_ACC0(0, 0)] += *twist; }
"""
MAKEFILE = "HEADERS=kernels.h\nOPS_FILES=plate.cpp \\\n   \nOTHER_FILES= twist.cpp\n"


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


class OpsTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="situ-ops-table-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for component in COMPONENTS:
            subprocess.run([CMAKE, "--install", BUILD, "--prefix", self.folder / "install", "--component", component], check=True, capture_output=True)

    def run_table(self, *words):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.folder / "install/lib/pkgconfig")}
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
        self.assertEqual((right["own_check"], right["bytes"]), ("PASSED", 2 * 42 * 42 * 8), done.stdout)
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

    def test_says_what_it_needs(self):
        done = self.run_table(str(self.folder / "install"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no program of OPS below", done.stderr)
        environment = {**os.environ, "PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": "/nowhere"}
        done = subprocess.run([ROOT + "/tools/ops_table", "."], env=environment, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("name its lib/pkgconfig by PKG_CONFIG_PATH", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
