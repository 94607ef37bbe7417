#!/usr/bin/env python3
"""Builds the small kernel with the ordered memory policies, for the guest of tests/numa; prints where its image is.

    kernel/build_kernel.py                 builds it unless it is in the cache; 5 to 7 minutes of a processor
    kernel/build_kernel.py --if-affordable the same, but in CI only where there are 4 processors; says so where it does not.
                                           SITU_GUEST_KERNEL decides otherwise: `build`, or `cached`, which never builds
    kernel/build_kernel.py --cached        never builds; exit code 77 where there is none
    kernel/build_kernel.py --unpatched     the same kernel without the patch, to compare with
    kernel/build_kernel.py --checked       with lockdep and the kernel's checks of lists, memory and sleeping

The sources are Debian's package linux-source-6.1, downloaded and unpacked, not installed. What is built is kept in
~/.cache/situ/guest (XDG_CACHE_HOME is respected) under a name that follows from the patch, the configuration and the
package's version. Packages that the build needs are those of packages-kernel.txt.
"""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "linux-source-6.1"
PATCH = HERE / "ordered-mempolicy.patch"
LEAST_PROCESSORS_IN_CI = 4


def cache_folder():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(root) / "situ" / "guest"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def inputs(options):
    """The files that decide what is built, besides the sources."""
    configurations = [HERE / "guest.config"] + ([HERE / "checked.config"] if options.checked else [])
    return configurations, [] if options.unpatched else [PATCH]


def source_version():
    shown = subprocess.run(["apt-cache", "policy", PACKAGE], capture_output=True, text=True).stdout
    found = re.search(r"Candidate: (\d\S*)", shown)
    return found.group(1) if found else None


def image_name(options):
    """What the image's name begins with; the version of the sources follows."""
    configurations, patches = inputs(options)
    text = b"".join(file.read_bytes() for file in configurations + patches)
    kind = "kernel" + ("-unpatched" if options.unpatched else "") + ("-checked" if options.checked else "")
    return f"{kind}-{hashlib.sha256(text).hexdigest()[:12]}-"


def kept_image(options, version):
    """Where the image is, or would be. Where apt knows no version, any that was built from these files."""
    name = image_name(options)
    if version:
        return cache_folder() / (name + re.sub(r"[^\w.-]", "_", version))
    return next(iter(sorted(cache_folder().glob(name + "*"))), None)


def find_image(unpatched=False, checked=False):
    """The image of a kernel that has been built, or None."""
    image = kept_image(argparse.Namespace(unpatched=unpatched, checked=checked), source_version())
    return image if image is not None and image.exists() else None


def run(command, log, **others):
    log.write(f"+ {' '.join(map(str, command))}\n")
    log.flush()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **others)
    if done.returncode != 0:
        log.flush()
        tail = pathlib.Path(log.name).read_text(errors="replace").splitlines()[-20:]
        sys.exit("\n".join([*tail, f"build_kernel.py: {command[0]} failed; all of it is in {log.name}"]))


def unpack(folder, log):
    run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", PACKAGE], log, cwd=folder)
    package = next(folder.glob("*.deb"))
    run(["dpkg-deb", "-x", package, folder / "package"], log)
    package.unlink()
    archive = next(folder.glob(f"package/usr/src/{PACKAGE}.tar.*"))
    run(["tar", "-xf", archive, "-C", folder], log)
    shutil.rmtree(folder / "package")
    return folder / PACKAGE


def configure(source, output, configurations, log):
    run(["make", "-C", source, f"O={output}", "tinyconfig"], log)
    with open(output / ".config", "a") as config:
        for file in configurations:
            config.write(file.read_text())
    run(["make", "-C", source, f"O={output}", "olddefconfig"], log)
    got = set((output / ".config").read_text().splitlines())
    for file in configurations:
        for line in file.read_text().splitlines():
            if line.startswith("CONFIG_") and line.endswith("=y") and line not in got:
                sys.exit(f"build_kernel.py: {line} of {file.name} is lost: it depends on something that is not set")


def build(options, image):
    configurations, patches = inputs(options)
    log_path = cache_folder() / "build_kernel.log"
    print(f"building the guest's kernel, {image.name}: some minutes, once ({log_path})", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="situ-kernel.") as name, open(log_path, "w") as log:
        folder = pathlib.Path(name)
        source = unpack(folder, log)
        for patch in patches:
            run(["patch", "-d", source, "-p1", "--fuzz=0", "-i", patch], log)
        output = folder / "output"
        output.mkdir()
        configure(source, output, configurations, log)
        run(["make", "-C", source, f"O={output}", f"-j{options.jobs}", "bzImage"], log)
        part = image.with_name(f"{image.name}.{os.getpid()}.part")
        shutil.copy(output / "arch/x86/boot/bzImage", part)
        part.rename(image)  # whoever finds it finds all of it


def why_not_affordable():
    wish = os.environ.get("SITU_GUEST_KERNEL")
    if wish == "build":
        return None
    if wish == "cached":
        return "SITU_GUEST_KERNEL says so"
    if os.environ.get("CI") and os.cpu_count() < LEAST_PROCESSORS_IN_CI:
        return f"CI is set, and there are fewer than {LEAST_PROCESSORS_IN_CI} processors for it"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--if-affordable", action="store_true")
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--unpatched", action="store_true")
    parser.add_argument("--checked", action="store_true")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count())), metavar="N")
    options = parser.parse_args()
    image = kept_image(options, source_version())
    if image is None or not image.exists():
        if options.cached:
            sys.exit(77)
        why = why_not_affordable() if options.if_affordable else None
        if why:
            name = "without the patch" if options.unpatched else "with the ordered policies"
            print(f"the kernel {name} is not built: {why}. Its tests are skipped. `make test-numa-all` builds it, runs them "
                  "and records that they passed.", file=sys.stderr)
            return
        if image is None:
            sys.exit(f"build_kernel.py: apt knows no {PACKAGE}; run apt-get update")
        subprocess.run([HERE.parent / ".ci/install_packages", "--list", "packages-kernel.txt"], check=True)
        build(options, image)
    print(image)


if __name__ == "__main__":
    main()
