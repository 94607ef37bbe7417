#!/bin/sh
# Programs that know nothing of Situ on a Linux with memories of four kinds: runs in the guest of guest.py, with `situ`, libsitu_intent.so
# and preload_subject of tests/preload beside it. The first memories fill up to 90%, the last one takes the rest, and nobody is ended.
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
used() { awk '/MemTotal/ { total = $4 } /MemFree/ { unused = $4 } END { printf "%d", 1000 - 1000 * unused / total }' "/sys/devices/system/node/node$1/meminfo"; }
kills() { awk '$1 == "oom_kill" { print $2 }' /proc/vmstat; }
expect_filled() { # WHAT PERMILLE NODES...: within 3 percent, some 10 MiB; the guest is slow, and looks are late
  what=$1 wanted=$2
  shift 2
  for node in "$@"; do
    found=$(used "$node")
    echo "$what: node $node is used to $found of 1000"
    [ "$found" -ge $((wanted - 30)) ] && [ "$found" -le $((wanted + 30)) ] || fail "$what: node $node"
  done
}
order() {
  printf '[[ordering]]\nintent = "bandwidth"\n%s\n' "$1" >/tmp/any_program.toml
  export SITU_ORDERINGS=/tmp/any_program.toml
}
start() { # NAME ARGUMENTS OF THE SUBJECT...; it says so once it has touched all
  name=$1
  shift
  situ run --intent bandwidth --stats -- preload_subject "$@" >"/tmp/$name.out" 2>"/tmp/$name.err" &
}
touched() { # NAMES...: waits until they all have, and a moment for what went too far to be moved
  for name in "$@"; do
    for _ in $(seq 600); do
      grep -q touched "/tmp/$name.out" && break
      sleep 0.1
    done
  done
  sleep 0.5
}
ended() { # NAME PROCESS
  wait "$2" || fail "$1 ended with $?"
  cat "/tmp/$1.err"
}
kills_before=$(kills)
order 'memories = "2, 0, 1, 3"'

start one hold 900 3000; one=$!
touched one
expect_filled 'one block' 900 2 0 1
ended one $one

start small hold_small 8 3000; small=$!
touched small
expect_filled 'small blocks' 900 2 0 1
ended small $small

start first hold 470 6000; first=$!
start second hold 470 6000; second=$!
touched first second
expect_filled 'two at once' 900 2 0 1
ended first $first
ended second $second

half_full='memories = "2, 3"
fill = 50'
order "$half_full"
start half hold 200 3000; half=$!
touched half
expect_filled 'half' 500 2
ended half $half

# A control group that allows nodes 0 and 1 only: the orderings know no others, and none is used.
mkdir -p /tmp/groups && mount -t cgroup2 none /tmp/groups && echo +cpuset >/tmp/groups/cgroup.subtree_control && mkdir /tmp/groups/two
echo 0-1 >/tmp/groups/two/cpuset.mems
order 'memories = "2, 0"'
(
  echo 0 >/tmp/groups/two/cgroup.procs
  situ order show bandwidth >/tmp/shown.out
  exec situ run --intent bandwidth --report /tmp/group.json -- preload_subject hold 100 500 >/tmp/group.out 2>/tmp/group.err
) || fail "within the control group: $(cat /tmp/group.err)"
grep -q 'there is no memory "2" here' /tmp/shown.out || fail "the orderings of the control group: $(cat /tmp/shown.out)"
awk '/"node"/ { node = $2 + 0 } /"most_bytes"/ && node > 1 && $2 + 0 > 0 { bad = 1 } END { exit bad }' /tmp/group.json || fail "$(cat /tmp/group.json)"

# Past all thresholds a program is refused memory, which it hears.
order "$half_full"
start greedy greedy 900; wait $!
grep -q refused /tmp/greedy.out || fail "past all thresholds: $(cat /tmp/greedy.out)"
grep -q 'no memory of the ordering for bandwidth had room' /tmp/greedy.err || fail 'nothing said why'
cat /tmp/greedy.err

[ "$(kills)" = "$kills_before" ] || fail 'the system ended a process'
[ $failures = 0 ] && echo 'all well'
exit $failures
