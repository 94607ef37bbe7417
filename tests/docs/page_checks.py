"""What the checks of pages have in common. Import it after `sys.dont_write_bytecode = True`: sources stay as they are."""

import sys


def run(check, self_test):
    """`SCRIPT SOURCE_DIR` prints what check(SOURCE_DIR) finds, `SCRIPT --self-test` what self_test() does; exit code 1 where that is something."""
    found = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])
    print("\n".join(found))
    sys.exit(1 if found else 0)
