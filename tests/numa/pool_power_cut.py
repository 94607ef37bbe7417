#!/usr/bin/env python3
"""Cuts a machine off while it writes a pool on persistent memory, and starts it again on what is left.

    tests/numa/pool_power_cut.py build/release/bin/tests/pool_subject [--cuts 3] [--seed 1]

The memory is a file that outlives the guest, an NVDIMM there, with ext4 on it in DAX mode: stores reach it without a
call. A cut is SIGKILL for QEMU between two instructions of the guest, at a moment by the seed. The next guest mounts
what is there; the pool must hold what was there after a transaction, none older than the last one that had been said to
be complete. What this does not show: a processor's caches, which are the guest's memory here (tests/pool/crash_test.cpp
has those).
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading

import guest

PMEM_MIB = 64
MAKE = ("mkdir -p /etc /mnt; ndctl create-namespace -f -e namespace0.0 -m fsdax >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }; "
        "mkfs.ext4 -q -F -b 4096 /dev/pmem0 && mount -t ext4 -o dax /dev/pmem0 /mnt && ")
MOUNT = "mkdir -p /etc /mnt; mount -t ext4 -o dax /dev/pmem0 /mnt && pool_subject check /mnt/pool {done} && "
WRITE = "pool_subject write /mnt/pool 1000000"


class Cut:
    """One run of the guest: its lines, until the one that says `done N` for N = `until`, then nothing more."""

    def __init__(self, kernel, accelerator, pmem_file, subject, script, time_limit):
        programs = [subject, "ndctl", "mkfs.ext4"]
        self.root = tempfile.NamedTemporaryFile(suffix=".cpio.gz")
        self.root.write(guest.root_file_system(programs, script, guest.modules_folder()))
        self.root.flush()
        self.log = tempfile.NamedTemporaryFile()
        command = guest.command_line(kernel, self.root.name, accelerator, self.log.name, PMEM_MIB, pmem_file)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
        self.timer = threading.Timer(time_limit, self.process.kill)
        self.timer.start()

    def run(self, transactions):
        """(the number of the last transaction that was said to be complete, the lines before those)"""
        said, done, first = [], None, None
        for line in self.process.stdout:
            number = re.match(r"done (\d+)\r?\n", line)  # a line that was cut off says nothing
            if number is None:
                said.append(line.rstrip())
                continue
            done = int(number.group(1))
            first = done if first is None else first
            if done >= first + transactions:
                self.process.kill()
        self.process.wait()
        self.timer.cancel()
        if done is None:
            print("\n".join(said), pathlib.Path(self.log.name).read_text(errors="replace"), sep="\n", file=sys.stderr)
        return done, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", help="the program pool_subject")
    parser.add_argument("--cuts", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time", type=float, default=120, metavar="SECONDS", help="the limit for each guest (120)")
    options = parser.parse_args()
    guest.require(["qemu-system-x86_64", "busybox", "ndctl", "mkfs.ext4", options.subject])
    kernel = guest.debian_kernel()
    accelerator = guest.usable_accelerator(kernel)
    moments = random.Random(options.seed)
    with tempfile.NamedTemporaryFile(suffix=".pmem") as pmem:
        guest.make_pmem(pmem.name, PMEM_MIB)
        done, script = 0, MAKE + WRITE
        for cut in range(options.cuts + 1):
            last, said = Cut(kernel, accelerator, pmem.name, options.subject, script, options.time).run(moments.randrange(50, 400))
            if last is None:
                sys.exit(f"guest {cut}: no transaction was complete")
            held = next((line for line in said if line.startswith("holds ")), None)
            if cut > 0:
                if held is None or "DAX" not in held:
                    sys.exit(f"guest {cut}: not on DAX, or nothing was held: {said}")
                print(f"cut {cut} after {done} transactions: the next guest {held}")
            done, script = last, MOUNT.format(done=last) + WRITE


if __name__ == "__main__":
    main()
