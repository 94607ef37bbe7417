"""Parts of hosts_test.py, which describes the environment: jobs over hosts that lose places and hosts, and jobs in which no place can go on."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import unittest.mock

from support import ENVIRONMENT, HOSTS, ID, LONG, LOSSES, ROOT, SCENARIOS, SKIPPED, HostsTest, hosts


@unittest.skipUnless(shutil.which("mpirun") and os.environ.get("SITU_HOSTS_LOSS_PROBE"), "there is no mpirun, or no SITU_HOSTS_LOSS_PROBE")
class Losses(HostsTest):
    """Places, servers, hosts and links that a job loses: SITU_HOSTS_SEEDS of them, 3 if that is not set, each way."""

    def lose(self, launcher, count, *what):
        seeds = int(os.environ.get("SITU_HOSTS_SEEDS", "3"))
        folder = f"/tmp/{ID}"
        os.mkdir(folder)
        words = ["--slurm"] if launcher == "srun" else []
        limit = LONG + 60 * seeds  # of which a job that hangs takes one
        try:
            with unittest.mock.patch.dict(ENVIRONMENT, SITU_HOSTS_FOLDER=folder):
                done = subprocess.run([*HOSTS, "--share", folder, *words, str(count + 1), SCENARIOS[0], "-B", str(LOSSES), launcher, str(count), "1", str(seeds), *what],
                                      env=ENVIRONMENT, cwd=ROOT, text=True, input="", timeout=limit, capture_output=True)
        finally:
            shutil.rmtree(folder)
        if done.returncode == SKIPPED:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout)

    def test_mpirun_at_two_hosts(self):
        self.lose("mpirun", 2)

    def test_mpirun_at_three_hosts(self):
        self.lose("mpirun", 3)

    def test_a_task_pool_under_mpirun_at_two_hosts(self):
        self.lose("mpirun", 2, "pool")

    def test_a_task_pool_under_mpirun_at_three_hosts(self):
        self.lose("mpirun", 3, "pool")

    def test_a_task_pool_under_srun_at_three_hosts(self):
        self.lose("srun", 3, "pool")

    def test_a_place_tree_under_mpirun_at_two_hosts(self):
        self.lose("mpirun", 2, "tree")

    def test_a_place_tree_under_mpirun_at_three_hosts(self):
        self.lose("mpirun", 3, "tree")

    def test_a_place_tree_under_srun_at_three_hosts(self):
        self.lose("srun", 3, "tree")

    def test_srun_at_two_hosts(self):
        self.lose("srun", 2)

    def test_srun_at_three_hosts(self):
        self.lose("srun", 3)


@unittest.skipUnless(os.environ.get("SITU_HOSTS_SITU") and os.environ.get("SITU_HOSTS_SURVIVORS_PROBE"), "there is no SITU_HOSTS_SITU, or no SITU_HOSTS_SURVIVORS_PROBE")
class Survivors(HostsTest):
    """Jobs that go on after a loss: the probe checks its results, and says which team each place has."""

    SITU = os.environ.get("SITU_HOSTS_SITU", "")
    PROBE = os.environ.get("SITU_HOSTS_SURVIVORS_PROBE", "")

    def start(self, sizes, first=1, grace=3):
        return [self.SITU, "run", "--grace", str(grace), "--hosts", ",".join(f"host{first + i}:{size}" for i, size in enumerate(sizes))]

    def assert_goes_on(self, done, team):
        lines = [line for line in done.stdout.splitlines() if line.startswith("place ")]
        self.assertEqual(sorted(lines), [f"place {place} goes on: {' '.join(map(str, team))}" for place in team], done.stderr)

    def lose_places(self, sizes, what, *victims):
        done = hosts(str(len(sizes)), *self.start(sizes), self.PROBE, what, *map(str, victims))
        self.assert_goes_on(done, [place for place in range(sum(sizes)) if place not in victims])
        self.assertEqual(done.returncode, 128 + signal.SIGKILL, done.stderr)
        first_host = next(i + 1 for i in range(len(sizes)) if victims[0] < sum(sizes[:i + 1]))
        self.assertIn(f"situ: place {victims[0]} is lost: killed by signal 9 (SIGKILL) (at host{first_host})\n", done.stderr)

    def test_a_place_at_two_hosts(self):
        self.lose_places([2, 2], "killed", 3)
        self.lose_places([2, 2], "killed", 0)

    def test_a_place_at_three_hosts(self):
        self.lose_places([2, 1, 2], "killed", 1)

    def test_one_after_another(self):
        self.lose_places([2, 2, 2], "killed", 5, 0, 2)

    def test_all_places_of_a_host(self):
        """Its server and its agent are there for a while longer."""
        self.lose_places([2, 2], "killed", 2, 3)
        self.lose_places([1, 2, 1], "killed", 0)

    def test_places_that_end_while_they_agree(self):
        self.lose_places([2, 2], "agreeing", 1, 2)
        self.lose_places([2, 1, 2], "agreeing", 4, 0, 2)

    def lose_host(self, sizes, lost, how="kill", mend=None, grace=3, works=0):
        """The launcher is at host1, the places at host2 and on."""
        mends = f"sleep 2; hosts {mend} host{lost + 2}\n" if mend else ""
        lines = f"{' '.join(self.start(sizes, 2, grace))} {self.PROBE} outside {works} >/tmp/said 2>&1 & job=$!\n" \
                f"until grep -q ready /tmp/said; do sleep 0.02; done; sleep 0.3\nhosts {how} host{lost + 2}\n{mends}" \
                "wait $job || echo ended with $?; cat /tmp/said"
        done = hosts(str(len(sizes) + 1), "sh", "-c", lines)
        first = sum(sizes[:lost])
        gone = range(first, first + sizes[lost])
        self.assert_goes_on(done, [place for place in range(sum(sizes)) if place not in gone])
        self.assertIn("ended with 1\n", done.stdout)
        self.assertRegex(done.stdout, rf"situ: place ({'|'.join(map(str, gone))}) is lost: .* \(at host{lost + 2}\)")

    def test_a_host_of_two(self):
        """The second: of two hosts it ends with the first."""
        self.lose_host([2, 2], 1)

    def test_a_host_of_three(self):
        self.lose_host([1, 2, 1], 1)

    def test_the_first_host_of_three(self):
        self.lose_host([2, 2, 1], 0)

    def test_a_host_that_is_given_up_and_comes_back(self):
        """Its places are no part of the job any more; the first host decides, until then."""
        self.lose_host([2, 1, 2], 0, "freeze", "thaw")
        self.lose_host([2, 1, 2], 0, "link down", "link up")

    def test_a_host_that_stays_silent(self):
        """The launcher gives it up after the grace and six seconds, and none of those that go on for longer."""
        self.lose_host([2, 1, 2], 2, "freeze", grace=0.5, works=9)

    @unittest.skipUnless(shutil.which("srun") and os.geteuid() == 0, "there is no srun, or only root may start it")
    def test_a_place_under_srun(self):
        done = hosts("--slurm", "2", "srun", "-N", "2", "-n", "4", "--ntasks-per-node=2", "--mpi=pmix", "--no-kill", "--kill-on-bad-exit=0",
                     self.PROBE, "killed", "3")
        self.assert_goes_on(done, [0, 1, 2])


@unittest.skipUnless(os.environ.get("SITU_HOSTS_SITU") and os.environ.get("SITU_HOSTS_STANDING_PROBE"), "there is no SITU_HOSTS_SITU, or no SITU_HOSTS_STANDING_PROBE")
class Standstill(HostsTest):
    """A job over hosts in which nobody can go on is ended with a table; one that goes on is not."""

    SITU = os.environ.get("SITU_HOSTS_SITU", "")
    PROBE = os.environ.get("SITU_HOSTS_STANDING_PROBE", "")
    SURVIVORS = os.environ.get("SITU_HOSTS_SURVIVORS_PROBE", "")
    LIMIT = 30  # seconds, on a busy machine, too

    def run_at(self, sizes, *words):
        names = ",".join(f"host{i + 1}:{size}" for i, size in enumerate(sizes))
        began = time.monotonic()
        done = hosts(str(len(sizes)), self.SITU, "run", "--grace", "2", "--hosts", names, *words)
        self.assertLess(time.monotonic() - began, self.LIMIT, done.stderr)
        return done

    def assert_stands(self, done, count, *said):
        self.assertNotEqual(done.returncode, 0, done.stderr)
        for host in range(1, count + 1):
            self.assertIn(f"situ: nobody can go on; where the places at host{host} stand:\n", done.stderr)
        for each in said:
            self.assertRegex(done.stderr, each)
        self.assertRegex(done.stderr, r"situ: place 0 is lost: nobody can go on: .* \(at host1\)\n")

    def test_a_barrier_that_others_leave_out(self):
        done = self.run_at([1, 1], self.PROBE, "barrier")
        self.assert_stands(done, 2, r"place 0: sleeps\n  main waits since \S+ s in a barrier \(collective 1 of its team\), at standing_probe.cpp:\d+: place 1 has not come\n",
                           r"place 1: sleeps\n  main waits since \S+ s at the end of its runtime, for all places: place 0 has not come\n")

    def test_a_call_that_never_returns(self):
        """Three hosts; its answer would go from one to another."""
        done = self.run_at([1, 1, 2], self.PROBE, "call")
        self.assert_stands(done, 3, r"place 0: sleeps\n  main waits since \S+ s for the answer of place 1, at ",
                           r"place 1: sleeps\n(  .*\n)?  int \(\*\)\(\) waits since \S+ s for a future of this place, at standing_probe.cpp")

    def test_calls_in_another_order(self):
        done = self.run_at([2, 2], self.PROBE, "order")
        self.assert_stands(done, 2, r"in a barrier \(collective 1 of its team\), .*: .*place 2 calls broadcast")

    def test_the_report_as_json(self):
        folder = f"/tmp/{ID}"
        os.mkdir(folder)
        try:
            done = hosts("--share", folder, "2", self.SITU, "run", "--hosts", "host1:1,host2:2", "--report", f"{folder}/report", self.PROBE, "barrier")
            self.assertNotEqual(done.returncode, 0)
            report = json.loads(pathlib.Path(f"{folder}/report").read_text())
        finally:
            shutil.rmtree(folder)
        self.assertEqual(report["why"], "nobody can go on", done.stderr)
        self.assertEqual([(place["place"], place["host"], place["state"], place["rests"]) for place in report["places"]],
                         [(0, 0, "joined", True), (1, 1, "joined", True), (2, 1, "joined", True)])
        wait = report["places"][0]["waits"][0]
        self.assertEqual((wait["kind"], wait["main"], [each["place"] for each in wait["awaited"]]), ("barrier", True, [1, 2]))

    def test_the_watchdog(self):
        """It tells, and the job goes on: until its time is over."""
        for sizes in ([1, 2], [1, 1, 2]):
            done = self.run_at(sizes, "--watchdog", "1", "--timeout", "6", self.PROBE, "poll")
            self.assertEqual(done.returncode, 124, done.stderr)
            for host in range(1, len(sizes) + 1):
                self.assertEqual(done.stderr.count(f"situ: no place has made progress for 1000 ms; where the places at host{host} stand:\n"), 1, done.stderr)
            self.assertNotIn("nobody can go on", done.stderr)

    def test_survivors_that_stand_still(self):
        done = self.run_at([2, 2], self.SURVIVORS, "standing", "3")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL, done.stderr)
        self.assertIn("situ: nobody can go on; where the places at host2 stand:\n", done.stderr)
        self.assertIn("place 3 is lost: killed by signal 9", done.stderr)

    def test_a_message_that_is_held_up(self):
        """All places sleep for seconds, and a message that would wake one is on its way: no false alarm."""
        lines = f"SITU_BEAT=30000 {self.SITU} run --hosts host2:1,host3:1 {self.SURVIVORS} held >/tmp/said 2>&1 & job=$!\n" \
                "until grep -q ready /tmp/said; do sleep 0.02; done\nhosts link down host3; sleep 4; hosts link up host3\n" \
                "wait $job; echo ended with $?; cat /tmp/said"
        done = hosts("3", "sh", "-c", lines)
        self.assertEqual(done.stdout, "ended with 0\nready\nanswered\n", done.stderr)
