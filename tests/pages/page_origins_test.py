"""Holds page_origins.txt against the sources: no file beside those that it lists asks the system for pages."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
asks = re.compile(r"\b(mmap|mremap|memfd_create|SYS_mbind|mbind|set_mempolicy)\s*\(|SYS_(mbind|set_mempolicy)|MAP_HUGETLB")
comment = re.compile(r"//.*")

listed = set()
for line in (root / "tests/pages/page_origins.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        listed.add(line.split()[0])

found = set()
for folder in ("src", "include"):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in {".h", ".cpp", ".inl", ".c"}:
            code = comment.sub("", path.read_text())
            if asks.search(code):
                found.add(str(path.relative_to(root)))

failed = False
for name in sorted(found - listed):
    print(f"{name} asks the system for pages: take them from a source that tests/pages/page_origins.txt lists")
    failed = True
for name in sorted(listed - found):
    print(f"{name} is in tests/pages/page_origins.txt, and asks for no pages")
    failed = True
sys.exit(1 if failed or not found else 0)
