#!/usr/bin/env python3
"""Unmodified programs with half of their memory here: remote memory beside a swap file, under the same budget.

    bench/rmem/unmodified.py build/release [--mib 256] [--rounds 9] [--swap-in FOLDER] [--zram]

The swap file's program has a memory cgroup of the budget and 2 MiB for the program itself; the other one has
`situ rmem run --local`, and a server on this host, over a Unix socket. The rounds take turns. Needs root: it makes a
swap file, a cgroup and, with --zram, a compressed device, and takes them away again. Prints medians and quartiles.
"""
import argparse, os, random, shutil, statistics, subprocess, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--mib", type=int, default=256)
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--swap-in", default="/var/tmp")
parser.add_argument("--zram", action="store_true")
options = parser.parse_args()

situ = os.path.abspath(options.build) + "/bin/situ"
pages = os.path.abspath(options.build) + "/bin/tests/rmem_bench_pages"
folder = tempfile.mkdtemp(prefix="situ-unmodified-")
budget = options.mib // 2


def call(*words, **more):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


class Cgroup:
    """Of version 1 or 2, wherever this kernel has memory."""

    def __init__(self):
        v1 = "/sys/fs/cgroup/memory"
        self.is_v1 = os.path.exists(v1 + "/memory.limit_in_bytes")
        self.path = (v1 if self.is_v1 else "/sys/fs/cgroup") + "/situ-unmodified"
        if not self.is_v1:
            with open("/sys/fs/cgroup/cgroup.subtree_control", "w") as file:
                file.write("+memory")
        os.makedirs(self.path, exist_ok=True)
        with open(self.path + ("/memory.limit_in_bytes" if self.is_v1 else "/memory.max"), "w") as file:
            file.write(str((budget + 2) << 20))

    def enter(self):
        with open(self.path + "/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))


class Swap:
    def __init__(self, where):
        self.where = where

    def __enter__(self):
        call("swapon", self.where)

    def __exit__(self, *_):
        call("swapoff", self.where)


cgroup = Cgroup()
swap_file = os.path.join(options.swap_in, f"situ-swap-{os.getpid()}")
call("fallocate", "-l", f"{2 * options.mib}M", swap_file)
os.chmod(swap_file, 0o600)
call("mkswap", swap_file)
devices = {"swap file": swap_file}
if options.zram:
    devices["zram"] = call("zramctl", "--find", "--size", f"{2 * options.mib}M").strip()
    call("mkswap", devices["zram"])

keys, socket, lines = (os.path.join(folder, name) for name in ("keys", "socket", "lines"))
old = os.umask(0o077)
with open(keys, "w") as file:
    file.write(call(situ, "rmem", "key", "bench"))
os.umask(old)
random.seed(1)
with open(lines, "w") as file:  # some 60 bytes of `sort`'s memory each
    for _ in range((options.mib << 20) // 60):
        file.write(f"{random.getrandbits(80):025d}\n")
server = subprocess.Popen(
    [situ, "rmem", "serve", "--memory", f"{4 * options.mib}MiB", "--keys", keys, "--listen", "unix:" + socket],
    stdout=subprocess.PIPE, text=True)
server.stdout.readline()
remote = [situ, "rmem", "run", "--local", f"{budget}MiB", "--server", "unix:" + socket, "--keys", keys, "--"]
sort = ["env", "LC_ALL=C", "sort", "--parallel=1", "-S", f"{options.mib}M", "-o", "/dev/null", lines]


def touches(how, before, **more):
    return float(call(*before, pages, str(options.mib), how, **more)) / 1000


def sorts(_, before, **more):
    begin = time.monotonic()
    call(*before, *sort, **more)
    return time.monotonic() - begin


rows = {"random touch, us": (touches, "random"), "touch in order, us": (touches, "order"), "sort, s": (sorts, None)}
try:
    got = {row: {} for row in rows}
    killed = {}
    for _ in range(options.rounds):
        for row, (measure, how) in rows.items():
            for name, device in devices.items():
                with Swap(device):
                    try:
                        got[row].setdefault(name, []).append(measure(how, [], preexec_fn=cgroup.enter))
                    except subprocess.CalledProcessError as failure:  # the kernel finds no page to swap out in time
                        if failure.returncode != -9:
                            raise
                        killed[row, name] = killed.get((row, name), 0) + 1
            got[row].setdefault("situ", []).append(measure(how, remote))
            got[row].setdefault("all here", []).append(measure(how, []))
    print(f"{options.mib} MiB, {budget} MiB of them here; medians (quartiles) of {options.rounds} rounds")
    for row, by in got.items():
        for name, all in by.items():
            if (row, name) in killed:
                print(f"{row:20} {name:10} killed by the kernel in {killed[row, name]} rounds: no memory in its cgroup")
            if len(all) < 2:
                continue
            low, middle, high = statistics.quantiles(all, n=4)
            ratio = statistics.median(all) / statistics.median(by["situ"])
            print(f"{row:20} {name:10} {statistics.median(all):9.2f} ({low:.2f} to {high:.2f})   {ratio:.2f} x situ")
finally:
    server.terminate()
    server.wait()
    os.remove(swap_file)
    if options.zram:
        call("zramctl", "--reset", devices["zram"])
    os.rmdir(cgroup.path)
    shutil.rmtree(folder)
