"""Devito as a rival in `situ bench stencil`: devito_stencil.py heat|wave POINTS STEPS FLAG...

Started by situ_bench_stencil with the python of Devito's environment, language openmp. Adds the flags to those that
Devito gives its compiler by itself. Prints

    flags FLAG...                     what its operator is compiled with
    line VALUE...                     the field's middle line after a first chain of STEPS steps

and then, for each line that it reads, runs a chain of STEPS steps more and prints its seconds.
The schemes are those of bench/stencil/devito.cpp: the same fields, coefficients and start.
"""

import sys
import time

import numpy
from devito import Eq, Function, Grid, Operator, TimeFunction, configuration

# Second derivatives of order 8: the coefficients of the middle and of its neighbours at distance 1 to 4.
MIDDLE, NEIGHBOURS = -205 / 72, (8 / 5, -1 / 5, 8 / 315, -1 / 560)


def start_values(n):
    x, y, z = numpy.ogrid[0:n, 0:n, 0:n]
    return ((x * 7 + y * 13 + z * 3) % 101).astype(numpy.float32) * numpy.float32(0.01)


def heat(grid, start):
    u = TimeFunction(name="u", grid=grid, space_order=2, time_order=1)
    u.data[0] = start
    dims = grid.dimensions
    neighbours = sum(u.subs(d, d + d.spacing * i) for d in dims for i in (-1, 1))
    return u, 1, Operator([Eq(u.forward, u + numpy.float32(0.1) * (neighbours - 6 * u))])


def wave(grid, start):
    u = TimeFunction(name="u", grid=grid, space_order=8, time_order=2)
    c = Function(name="c", grid=grid, space_order=0)
    u.data[0] = u.data[1] = start
    c.data[:] = numpy.float32(0.05)
    around = 3 * MIDDLE * u
    for distance, weight in enumerate(NEIGHBOURS, 1):
        around += weight * sum(u.subs(d, d + d.spacing * i) for d in grid.dimensions for i in (-distance, distance))
    return u, 2, Operator([Eq(u.forward, 2 * u - u.backward + c * around)])


def main():
    kind, points, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    configuration["log-level"] = "ERROR"
    compiler = configuration["compiler"]
    compiler.cflags = compiler.cflags + [flag for flag in sys.argv[4:] if flag not in compiler.cflags]
    grid = Grid(shape=(points,) * 3, extent=(points - 1,) * 3, dtype=numpy.float32)
    u, first, operator = {"heat": heat, "wave": wave}[kind](grid, start_values(points))
    at = first - 1  # the time step whose values are the newest

    def chain():
        nonlocal at
        begin = time.perf_counter()
        operator.apply(time_m=at, time_M=at + steps - 1)
        at += steps
        return time.perf_counter() - begin

    chain()
    print("flags", " ".join(compiler.cflags), *compiler.ldflags, flush=True)
    middle = points // 2
    print("line", *(f"{value:.9g}" for value in u.data[at % u.data.shape[0], :, middle, middle]), flush=True)
    for _ in sys.stdin:
        print(f"{chain():.9f}", flush=True)


main()
