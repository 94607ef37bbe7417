#!/bin/bash
# gdb_values.sh PROGRAM SCRIPT: what gdb prints for the values of gdb_values.cpp.
program=$1
script=$2
source "$(dirname "$0")/look.sh"

look 'print text' 'print nothing' 'print numbers' 'print ready' 'print waiting' 'print promise' 'print failed' 'print none' \
  'print graph' 'situ-graph head' 'situ-graph graph 1'
expect '\$1 = "some text"'
expect '\$2 = ""'
expect '\$3 = 3 elements = \{3, 1, 4\}'
expect '\$4 = ready = \{value = .*42.*'
expect '\$5 = not ready'
expect '\$6 = not ready'
expect '\$7 = failed'
expect '\$8 = no future.*'
expect '\$9 = .*graph of 3 objects = \{root = \{value = 1.*'
expect '#0 .*node 0x[0-9a-f]+: value = 1, next = #1, others = \[#1, #0\]'
expect '#1 .*node 0x[0-9a-f]+: value = 2, next = #0, others = \[\]'
expect 'and more; situ-graph graph 2 shows them'
exit $failed
