#!/bin/bash
# gdb_printers.sh PROGRAM SCRIPT: what gdb prints for the pointers of gdb_subject.cpp, stopped without and with an address space.
set -euo pipefail
program=$1
script=$2
if ! command -v gdb >/dev/null; then
  echo "skipped: no gdb"
  exit 77
fi

output=$(gdb -nx -batch -ex 'set debuginfod enabled off' -ex "source $script" -ex 'break look_here' -ex run -ex up \
  -ex 'print unknown' -ex continue -ex up -ex 'print remote' -ex 'print mine' -ex 'print untyped' -ex 'print below_heap' \
  -ex 'print foreign' -ex 'print nothing' -ex 'print there' "$program" </dev/null 2>&1) || true
echo "$output"
if grep -qi 'ptrace: operation not permitted\|could not trace\|cannot create process' <<<"$output"; then
  echo "skipped: tracing is not allowed here"
  exit 77
fi

failed=0
expect() {
  if ! grep -qE "^$1\$" <<<"$output"; then
    echo "missing: $1"
    failed=1
  fi
}
address='0x[0-9a-f]+'
expect "\\\$1 = $address = \{\* = 5\}"
expect "\\\$2 = ${address}050 at place 2, offset 0x10 = \{\* = 42\}"
expect "\\\$3 = ${address}140 at place 1 \(here\), offset 0x100 = \{\* = \{first = 3, second = 4\}\}"
expect "\\\$4 = ${address}040 at place 3, offset 0x0"
expect "\\\$5 = ${address}000 at place 0, runtime's own memory = \{\* = 0\}"
expect "\\\$6 = $address at no place = \{\* = 7\}"
expect "\\\$7 = null"
expect "\\\$8 = place 3"
exit $failed
