#!/usr/bin/env python3
"""Runs a command in a small Linux with memories of four kinds, emulated by QEMU; ends with its exit code.

    tests/numa/guest.py --add build/release/bin/situ -- situ order show

The kernel is Debian's for clouds: downloaded and unpacked once, not installed; or, with --kernel ordered, the one with
the ordered memory policies, if kernel/build_kernel.py has built it. It starts from an archive made here: BusyBox,
what --add brings with the shared libraries that it needs, and nothing else. So nothing of this machine can be changed, and
a run takes some seconds. Exit codes besides the command's: 77 where something is missing (which ctest calls skipped), 124
past the time, 125 where the guest ended without saying one.

    node  processor  memory    from 0: latency  bandwidth   from 1: latency  bandwidth
      0       0      384 MiB           90 ns   100 GB/s            140 ns    50 GB/s
      1       1      384 MiB          140 ns    50 GB/s             90 ns   100 GB/s
      2       -      256 MiB          110 ns   400 GB/s            160 ns   200 GB/s     as HBM
      3       -      512 MiB          400 ns    20 GB/s            350 ns    25 GB/s     as CXL, behind a cache

--pmem MIB adds persistent memory, which may become node 4 (tests/numa/pmem_node.sh); all of it is lost at the end, unless
--pmem-file names the file that holds it. --modules brings loop devices and dm-log-writes without it.
--count-instructions emulates one processor that takes 4 ns for each instruction, so that times are counts.
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "kernel"))
import build_kernel  # noqa: E402

MEMORY_MIB = [384, 384, 256, 512]
INITIATOR = [0, 1, 0, 1]
LATENCY = [[90, 140, 110, 400], [140, 90, 160, 350]]  # ns, from a processor's node to a memory's
BANDWIDTH = [[100, 50, 400, 20], [50, 100, 200, 25]]  # GB/s
DISTANCE = {(0, 1): 20, (0, 2): 12, (0, 3): 40, (1, 2): 22, (1, 3): 30, (2, 3): 40}

KERNEL_PACKAGE = "linux-image-cloud-amd64"
MODULES = ["nfit", "nd_pmem", "dax_pmem", "device_dax", "kmem", "loop", "dm-log-writes"]
LABELS_MIB = 2  # at the end of persistent memory; the rest must be a multiple of 16 MiB

# The first process of the guest. What the command prints goes to the second serial line, what happened to the first.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp LANG=C
mount -t devtmpfs none /dev; mount -t proc none /proc; mount -t sysfs none /sys; mount -t tmpfs none /tmp
mkdir -p /dev/shm; mount -t tmpfs none /dev/shm
ip link set lo up
stty -F /dev/ttyS1 raw -echo
for module in $(cat /modules/order 2>/dev/null); do insmod /modules/$module; done
sh /command </dev/null >/dev/ttyS1 2>&1
echo "GUEST-EXIT $?" >/dev/console
reboot -f
"""


def skip(why):
    print(f"guest.py: {why}", file=sys.stderr)
    sys.exit(77)


def find_program(name):
    """Its file; None where there is none. A name with a slash is a file, which need not be executable."""
    return shutil.which(name) or (name if "/" in name and os.path.exists(name) else None)


def require(programs):
    missing = [program for program in programs if find_program(program) is None]
    if files := [name for name in missing if "/" in name]:
        sys.exit(f"guest.py: no such file: {', '.join(files)} (build it first)")
    if missing:
        skip(f"missing: {', '.join(missing)} (make test-numa installs what its tests need)")


cache_folder = build_kernel.cache_folder


def modules_in_order(folder):
    """The files of MODULES and of what they need, in the order of loading."""
    version = next((folder / "lib/modules").iterdir()).name
    subprocess.run(["depmod", "-b", folder, version], check=True)
    (folder / "no-rules").mkdir()  # ndctl installs one that hides a module from modprobe
    files = []
    for name in MODULES:
        command = ["modprobe", "-C", folder / "no-rules", "-d", folder, "-S", version, "--show-depends", name]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        files += [file for file in re.findall(r"^insmod (\S+)", shown, re.MULTILINE) if file not in files]
    return files


def modules_folder():
    """Where MODULES are kept; named by them, so that another list is another folder."""
    return cache_folder() / "-".join(["modules", *MODULES])


def keep_modules(folder):
    """The files, and `order`, into the cache."""
    kept = modules_folder()
    part = cache_folder() / f"modules.{os.getpid()}"
    part.mkdir()
    files = modules_in_order(folder)
    for file in files:
        shutil.copy(file, part)
    (part / "order").write_text("".join(os.path.basename(file) + "\n" for file in files))
    shutil.rmtree(kept, ignore_errors=True)
    part.rename(kept)


def debian_kernel():
    """The kernel image, unpacked once into the cache, with the modules that may be wanted."""
    kept = cache_folder() / "vmlinuz"
    if kept.exists() and modules_folder().exists():
        return kept
    require(["apt-get", "dpkg-deb", "depmod", "modprobe"])
    depends = subprocess.run(["apt-cache", "depends", KERNEL_PACKAGE], capture_output=True, text=True).stdout
    named = re.search(r"Depends: (linux-image-\S+)", depends)
    if not named:
        skip(f"apt knows no {KERNEL_PACKAGE}; run apt-get update")
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", named.group(1)], cwd=scratch, check=True)
        package = next(pathlib.Path(scratch).glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, scratch], check=True)
        keep_modules(pathlib.Path(scratch))
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


def ordered_kernel(unpatched=False, checked=False):
    image = build_kernel.find_image(unpatched, checked)
    if image is None:
        skip("this kernel has not been built: kernel/build_kernel.py does, in some minutes")
    return image


def root_file_system(programs, command, modules=None):
    root = Archive()
    for folder in ("dev", "proc", "sys", "tmp"):
        root.add(folder, stat.S_IFDIR | 0o755)
    root.add_file("bin/busybox", shutil.which("busybox"))
    root.add("init", stat.S_IFREG | 0o755, INIT.encode())
    root.add("command", stat.S_IFREG | 0o644, command.encode() + b"\n")
    for program in programs:
        root.add_program(find_program(program))
    for file in sorted(modules.iterdir()) if modules else []:
        root.add_file("modules/" + file.name, file)
    return root.finish()


def pmem_options(mib, file):
    options = ["-object", f"memory-backend-file,id=pmem,share=on,mem-path={file},size={mib + LABELS_MIB}M,align=2M"]
    options += ["-numa", "node,nodeid=4,initiator=1", "-device", "nvdimm,id=nvdimm,memdev=pmem,node=4,label-size=128K"]
    for node in range(len(MEMORY_MIB)):
        options += ["-numa", f"dist,src={node},dst=4,val=50", "-numa", f"dist,src=4,dst={node},val=50"]
    return options


def machine_options(with_pmem=False):
    options = ["-machine", "q35,hmat=on" + (",nvdimm=on" if with_pmem else "")]
    options += ["-m", f"{sum(MEMORY_MIB)}M,slots=2,maxmem=8G", "-smp", "2,sockets=2,cores=1,threads=1"]
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


def processor_options(accelerator, counts_instructions):
    if counts_instructions:  # a plain processor: a `rep stosb` of a newer one is counted byte by byte
        return ["-accel", "tcg", "-icount", "shift=2"]
    return ["-accel", accelerator, "-cpu", "host" if accelerator == "kvm" else "max"]


def command_line(kernel, archive, accelerator, log, pmem_mib=0, pmem_file=None, counts_instructions=False):
    """That of QEMU. The guest's command prints to its standard output, what happened goes to the file `log`."""
    # A busy host may give a guest its timer too late for the check of it at boot. A kernel that lies where it likes takes
    # 32 MiB of any node, and of none another time.
    line = "console=ttyS0 quiet panic=-1 numa_balancing=disable random.trust_cpu=on no_timer_check nokaslr"
    if counts_instructions:
        line += " maxcpus=1 tsc=reliable lpj=4000000"
    command = ["qemu-system-x86_64", *processor_options(accelerator, counts_instructions)]
    command += [*machine_options(pmem_mib != 0), "-display", "none", "-monitor", "none"]
    command += ["-nodefaults", "-no-reboot", "-kernel", str(kernel)]
    if pmem_mib != 0:
        command += pmem_options(pmem_mib, pmem_file)
    return [*command, "-initrd", archive, "-append", line, "-serial", f"file:{log}", "-serial", "stdio"]


def make_pmem(file, mib):
    """Room for persistent memory and its labels; what the file holds stays."""
    os.truncate(file, (mib + LABELS_MIB) << 20)


def start(kernel, archive, accelerator, time_limit, log, errors=None, pmem_mib=0, pmem_file=None, counts_instructions=False):
    """The exit code of the command in the guest, or None where the guest ended without one; TimeoutExpired past the time."""
    with tempfile.NamedTemporaryFile(suffix=".cpio.gz") as root, tempfile.NamedTemporaryFile(suffix=".pmem") as pmem:
        root.write(archive)
        root.flush()
        if pmem_mib != 0 and pmem_file is None:
            pmem_file = pmem.name
        if pmem_mib != 0:
            make_pmem(pmem_file, pmem_mib)
        command = command_line(kernel, root.name, accelerator, log, pmem_mib, pmem_file, counts_instructions)
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
    parser.add_argument("--kernel", metavar="FILE", help="another one than Debian's; `ordered`, `unpatched` or "
                        "`checked`: of kernel/build_kernel.py")
    parser.add_argument("--pmem", type=int, default=0, metavar="MIB", help="of persistent memory")
    parser.add_argument("--pmem-file", metavar="FILE", help="that holds it, made where it is not there, and kept")
    parser.add_argument("--modules", action="store_true", help="loop devices and dm-log-writes")
    parser.add_argument("--count-instructions", action="store_true")
    parser.add_argument("--accelerator", choices=["kvm", "tcg"], help="what is found to work unless given")
    parser.add_argument("--time", type=float, default=240, metavar="SECONDS", help="the limit (240)")
    parser.add_argument("command", nargs="+", help="for the guest's shell")
    options = parser.parse_args()
    require(["qemu-system-x86_64", "busybox", *options.add])
    built = {"ordered": {}, "unpatched": {"unpatched": True}, "checked": {"checked": True}}
    kernel = ordered_kernel(**built[options.kernel]) if options.kernel in built else options.kernel or debian_kernel()
    modules = modules_folder() if (options.pmem or options.modules) and not options.kernel else None
    if options.pmem_file:
        pathlib.Path(options.pmem_file).touch()
    archive = root_file_system(options.add, " ".join(options.command), modules)
    with tempfile.NamedTemporaryFile() as log:
        try:
            accelerator = options.accelerator or usable_accelerator(kernel)
            code = start(kernel, archive, accelerator, options.time, log.name, None, options.pmem,
                         options.pmem_file, options.count_instructions)
        except subprocess.TimeoutExpired:
            print(f"guest.py: past {options.time:g} s", file=sys.stderr)
            code = 124
        if code is None or code == 124:
            print("the guest's console:\n" + pathlib.Path(log.name).read_text(errors="replace"), file=sys.stderr)
    sys.exit(125 if code is None else code)


if __name__ == "__main__":
    main()
