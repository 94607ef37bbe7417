# In the guest of tests/numa: two programs, one on the processor of node 0, the other on that of node 1, take memory for
# three intents until none is left. Prints the lines that tools/plot_spill.py draws.
situ order kernel --write >/tmp/lists 2>&1 || true # a kernel without ordered policies: Situ places all
for program in 0 1; do
  sleep $((3 * program))
  taskset $((1 << program)) spill_over_time node_$program 480 5 3 >/tmp/lines_$program 2>/tmp/end_$program &
done
wait
cat /tmp/lines_0 /tmp/lines_1
# Both end when no memory has room for more, and nobody is ended by the system.
grep -q 'no memory of its ordering has room' /tmp/end_0 && grep -q 'no memory of its ordering has room' /tmp/end_1 &&
  grep -q '^oom_kill 0$' /proc/vmstat || { cat /tmp/end_*; exit 1; }
