#!/bin/sh
# Programs that know nothing of Situ on a Linux with memories of four kinds: runs in the guest of guest.py, with `situ`, libsitu_intent.so
# and preload_subject of tests/preload beside it. The first memories fill up to 90%, the last one takes the rest, and nobody is ended.
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
used() { awk '/MemTotal/ { total = $4 } /MemFree/ { unused = $4 } END { printf "%d", 1000 - 1000 * unused / total }' "/sys/devices/system/node/node$1/meminfo"; }
kills() { awk '$1 == "oom_kill" { print $2 }' /proc/vmstat; }
tolerance=15
is_filled() { # PERMILLE NODES...: within 1.5 percent, or 0.5 where the kernel places
  wanted=$1
  shift
  for node in "$@"; do
    found=$(used "$node")
    echo "  node $node is used to $found of 1000"
    [ "$found" -ge $((wanted - tolerance)) ] && [ "$found" -le $((wanted + tolerance)) ] || return 1
  done
}
has_policies() { [ -e /sys/devices/system/node/node0/bandwidth_order ]; }
lists() { # LIST FILL: what the kernel goes along, if it has ordered policies
  has_policies || return 0
  for node in 0 1; do
    echo "$1" >"/sys/devices/system/node/node$node/bandwidth_order"
    echo "$2" >"/sys/devices/system/node/node$node/bandwidth_order_fill"
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
# Pages of programs that have ended lie in the processors' lists for some seconds, where they count as used: a memory looks fuller than
# it soon is. Those of other nodes than the processor's go back at the third of these.
drain() { for _ in 1 2 3 4; do echo 1 >/proc/sys/vm/stat_refresh; done; }
# Programs fill memory, hold it and end. What they look at is as late as the host of an emulated machine lets it be: where it was
# too late, they have another try, up to three.
expect_filled() { # PERMILLE NODES ARGUMENTS COUNT: of the subject, so many at once
  wanted=$1 nodes=$2 arguments=$3 count=$4
  for attempt in 1 2 3; do
    echo "$count of: $arguments"
    names= processes=
    drain
    for i in $(seq "$count"); do
      start "p$i" $arguments
      names="$names p$i" processes="$processes $!"
    done
    touched $names
    is_filled "$wanted" $nodes && filled=yes || filled=no
    i=0
    for process in $processes; do
      i=$((i + 1))
      ended "p$i" "$process"
    done
    [ $filled = yes ] && return
  done
  fail "$arguments: nodes $nodes"
}
half_full='memories = "2, 3"
fill = 50'

in_user_space() {
  order 'memories = "2, 0, 1, 3"'
  expect_filled 900 '2 0 1' 'hold 900 3000' 1
  expect_filled 900 '2 0 1' 'hold_small 8 3000' 1
  expect_filled 900 '2 0 1' 'hold 470 6000' 2
  order "$half_full"
  expect_filled 500 2 'hold 200 3000' 1

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
}

# A kernel that has the ordering as a policy of its own goes along it itself: nothing passes a threshold, so nothing is moved on.
by_kernel() { # NAME: ended; whether it was so
  grep -q "by the kernel's own ordered policy" "/tmp/$1.err" || fail "$1: not by the kernel's policy"
  ! grep -q 'moved on' "/tmp/$1.err" || fail "$1: something was moved"
}
in_the_kernel() {
  tolerance=5
  order 'memories = "2, 0, 1, 3"'
  lists '2 0 1 3' 90
  expect_filled 900 '2 0 1' 'hold 900 3000' 1; by_kernel p1
  expect_filled 900 '2 0 1' 'hold_small 9 3000' 1; by_kernel p1
  expect_filled 900 '2 0 1' 'hold 470 6000' 2; by_kernel p1; by_kernel p2
  lists '0 2 1 3' 90
  start other hold 10 500; wait $!
  ! grep -q "by the kernel's own" /tmp/other.err || fail 'the kernel has another list'
  order "$half_full"
  lists '2 3' 50
  expect_filled 500 2 'hold 200 3000' 1; by_kernel p1
  start greedy greedy 900; wait $!
  grep -q refused /tmp/greedy.out || fail "past all of the kernel's thresholds: $(cat /tmp/greedy.out)"
  grep -q 'no memory of the ordering for bandwidth had room' /tmp/greedy.err || fail 'nothing said why'
  by_kernel greedy
  order "$half_full
no_room = \"last\""
  start last hold 400 3000; last=$!
  touched last
  [ "$(used 2)" -le 515 ] || fail "node 2 is used to $(used 2) of 1000, beyond its threshold, since the last memory takes the rest"
  [ "$(used 3)" -ge 515 ] || fail "the last memory is used to $(used 3) of 1000"
  ended last $last
}

kills_before=$(kills)
if has_policies; then in_the_kernel; else in_user_space; fi
[ "$(kills)" = "$kills_before" ] || fail 'the system ended a process'
[ $failures = 0 ] && echo 'all well'
exit $failures
