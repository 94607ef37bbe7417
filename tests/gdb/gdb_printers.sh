#!/bin/bash
# gdb_printers.sh PROGRAM SCRIPT: what gdb prints for the pointers of gdb_subject.cpp, stopped without and with an address space.
program=$1
script=$2
source "$(dirname "$0")/look.sh"

look 'print unknown' continue up 'print remote' 'print mine' 'print untyped' 'print below_heap' 'print foreign' \
  'print nothing' 'print there'
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
