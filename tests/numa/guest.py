#!/usr/bin/env python3
"""Runs a command in a small Linux with memories of four kinds, emulated by QEMU; ends with its exit code.

    tests/numa/guest.py --add build/release/bin/situ -- situ order show

The kernel is Debian's for clouds: downloaded and unpacked once, not installed. It starts from an archive made here: BusyBox,
what --add brings with the shared libraries that it needs, and nothing else. So nothing of this machine can be changed, and
a run takes some seconds. Exit codes besides the command's: 77 where something is missing (which ctest calls skipped), 124
past the time, 125 where the guest ended without saying one.

    node  processor  memory    from 0: latency  bandwidth   from 1: latency  bandwidth
      0       0      384 MiB           90 ns   100 GB/s            140 ns    50 GB/s
      1       1      384 MiB          140 ns    50 GB/s             90 ns   100 GB/s
      2       -      256 MiB          110 ns   400 GB/s            160 ns   200 GB/s     as HBM
      3       -      512 MiB          400 ns    20 GB/s            350 ns    25 GB/s     as CXL, behind a cache
"""

import argparse
import gzip
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

MEMORY_MIB = [384, 384, 256, 512]
INITIATOR = [0, 1, 0, 1]
LATENCY = [[90, 140, 110, 400], [140, 90, 160, 350]]  # ns, from a processor's node to a memory's
BANDWIDTH = [[100, 50, 400, 20], [50, 100, 200, 25]]  # GB/s
DISTANCE = {(0, 1): 20, (0, 2): 12, (0, 3): 40, (1, 2): 22, (1, 3): 30, (2, 3): 40}

KERNEL_PACKAGE = "linux-image-cloud-amd64"

# The first process of the guest. What the command prints goes to the second serial line, what happened to the first.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp LANG=C
mount -t devtmpfs none /dev; mount -t proc none /proc; mount -t sysfs none /sys; mount -t tmpfs none /tmp
mkdir -p /dev/shm; mount -t tmpfs none /dev/shm
ip link set lo up
stty -F /dev/ttyS1 raw -echo
sh /command </dev/null >/dev/ttyS1 2>&1
echo "GUEST-EXIT $?" >/dev/console
reboot -f
"""


def skip(why):
    print(f"guest.py: {why}", file=sys.stderr)
    sys.exit(77)


def cache_folder():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(root) / "situ" / "guest"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def debian_kernel():
    """The kernel image, unpacked once into the cache."""
    kept = cache_folder() / "vmlinuz"
    if kept.exists():
        return kept
    depends = subprocess.run(["apt-cache", "depends", KERNEL_PACKAGE], capture_output=True, text=True).stdout
    named = re.search(r"Depends: (linux-image-\S+)", depends)
    if not named:
        skip(f"apt knows no {KERNEL_PACKAGE}; run apt-get update")
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", named.group(1)], cwd=scratch, check=True)
        package = next(pathlib.Path(scratch).glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, scratch], check=True)
        image = next((pathlib.Path(scratch) / "boot").glob("vmlinuz-*"))
        shutil.copy(image, kept.with_suffix(".part"))
    kept.with_suffix(".part").rename(kept)
    return kept


def libraries_of(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", listed)


class Archive:
    """A root file system as the kernel unpacks it: cpio's newc format."""

    def __init__(self):
        self.bytes = bytearray()
        self.names = set()

    def add(self, name, mode, data=b""):
        if name in self.names:
            return
        self.names.add(name)
        if "/" in name:
            self.add(name.rpartition("/")[0], stat.S_IFDIR | 0o755)
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        self.bytes += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        self.bytes += b"\0" * (-len(self.bytes) % 4) + data
        self.bytes += b"\0" * (-len(self.bytes) % 4)

    def add_file(self, name, path):
        self.add(name, stat.S_IFREG | 0o755, pathlib.Path(path).read_bytes())

    def add_program(self, path):
        self.add_file("bin/" + os.path.basename(path), path)
        for library in libraries_of(path):
            self.add_file(library.lstrip("/"), library)

    def finish(self):
        self.add("TRAILER!!!", 0)
        return gzip.compress(bytes(self.bytes), compresslevel=1)


def root_file_system(programs, command):
    root = Archive()
    for folder in ("dev", "proc", "sys", "tmp"):
        root.add(folder, stat.S_IFDIR | 0o755)
    root.add_file("bin/busybox", shutil.which("busybox"))
    root.add("init", stat.S_IFREG | 0o755, INIT.encode())
    root.add("command", stat.S_IFREG | 0o644, command.encode() + b"\n")
    for program in programs:
        root.add_program(program)
    return root.finish()


def machine_options():
    options = ["-machine", "q35,hmat=on", "-m", f"{sum(MEMORY_MIB)}M", "-smp", "2,sockets=2,cores=1,threads=1"]
    for node, mib in enumerate(MEMORY_MIB):
        options += ["-object", f"memory-backend-ram,id=m{node},size={mib}M"]
        options += ["-numa", f"node,nodeid={node},memdev=m{node},initiator={INITIATOR[node]}"]
    for node in (0, 1):
        options += ["-numa", f"cpu,node-id={node},socket-id={node}"]
    for node in (0, 1):
        for to in range(len(MEMORY_MIB)):
            pair = f"hmat-lb,initiator={node},target={to},hierarchy=memory"
            options += ["-numa", f"{pair},data-type=access-latency,latency={LATENCY[node][to]}"]
            options += ["-numa", f"{pair},data-type=access-bandwidth,bandwidth={BANDWIDTH[node][to]}G"]
    for (a, b), distance in DISTANCE.items():
        options += ["-numa", f"dist,src={a},dst={b},val={distance}", "-numa", f"dist,src={b},dst={a},val={distance}"]
    return options + ["-numa", "hmat-cache,node-id=3,size=16M,level=1,associativity=direct,policy=write-back,line=64"]


def start(kernel, archive, accelerator, time_limit, log, errors=None):
    """The exit code of the command in the guest, or None where the guest ended without one; TimeoutExpired past the time."""
    line = "console=ttyS0 quiet panic=-1 numa_balancing=disable random.trust_cpu=on"
    command = ["qemu-system-x86_64", "-accel", accelerator, *machine_options(), "-display", "none", "-monitor", "none"]
    command += ["-cpu", "host" if accelerator == "kvm" else "max", "-nodefaults", "-no-reboot", "-kernel", str(kernel)]
    with tempfile.NamedTemporaryFile(suffix=".cpio.gz") as root:
        root.write(archive)
        root.flush()
        command += ["-initrd", root.name, "-append", line, "-serial", f"file:{log}", "-serial", "stdio"]
        subprocess.run(command, stdin=subprocess.DEVNULL, stderr=errors, timeout=time_limit, check=False)
    said = re.findall(r"GUEST-EXIT (\d+)", pathlib.Path(log).read_text(errors="replace"))
    return int(said[-1]) if said else None


def usable_accelerator(kernel):
    """KVM may be there and hang in the guest's first instructions: it is tried once, with a time limit, and remembered."""
    kept = cache_folder() / "accelerator"
    if not kept.exists():
        found = "tcg"
        if os.access("/dev/kvm", os.W_OK):
            with tempfile.NamedTemporaryFile() as log:
                try:
                    if start(kernel, root_file_system([], "true"), "kvm", 10, log.name, subprocess.DEVNULL) == 0:
                        found = "kvm"
                except subprocess.TimeoutExpired:
                    pass
        kept.write_text(found)
    return kept.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", action="append", default=[], metavar="PROGRAM", help="bring it along, into the PATH")
    parser.add_argument("--kernel", metavar="FILE", help="another one than Debian's")
    parser.add_argument("--accelerator", choices=["kvm", "tcg"], help="what is found to work unless given")
    parser.add_argument("--time", type=float, default=240, metavar="SECONDS", help="the limit (240)")
    parser.add_argument("command", nargs="+", help="for the guest's shell")
    options = parser.parse_args()
    for program in ("qemu-system-x86_64", "busybox"):
        if shutil.which(program) is None:
            skip(f"{program} is missing: make test-numa installs it")
    kernel = options.kernel or debian_kernel()
    archive = root_file_system(options.add, " ".join(options.command))
    with tempfile.NamedTemporaryFile() as log:
        try:
            code = start(kernel, archive, options.accelerator or usable_accelerator(kernel), options.time, log.name)
        except subprocess.TimeoutExpired:
            print(f"guest.py: past {options.time:g} s", file=sys.stderr)
            code = 124
        if code is None or code == 124:
            print("the guest's console:\n" + pathlib.Path(log.name).read_text(errors="replace"), file=sys.stderr)
    sys.exit(125 if code is None else code)


if __name__ == "__main__":
    main()
