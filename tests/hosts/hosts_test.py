#!/usr/bin/env python3
"""tools/hosts, as whoever runs this, and with --as-nobody (by root) as an ordinary user: hosts_test.py [--as-nobody] [unittest's words]

Programs come by the environment: SITU_HOSTS_PROBE is tests/cluster/hosts_probe, SITU_HOSTS_BODIES tests/hosts/bodies, SITU_HOSTS_IMSUITE examples/imsuite, SITU_HOSTS_MPI_JOB tests/hosts/mpi_job, SITU_HOSTS_LOSS_PROBE tests/hosts/loss_probe, SITU_HOSTS_SURVIVORS_PROBE tests/hosts/survivors_probe, SITU_HOSTS_STANDING_PROBE tests/launch/standing_probe, and SITU_HOSTS_MPI_PAIRS tests/hosts/mpi_pairs, if there is MPI; SITU_HOSTS_SITU is `situ` and
SITU_HOSTS_RMEM_PEER tests/hosts/rmem_peer. Exit code 77, with a word, where this
machine cannot pretend to be several hosts.
"""

import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True

from lost_hosts import Losses, Standstill, Survivors  # noqa: E402, F401
from support import ENVIRONMENT, HOSTS, ID, LONG, ROOT, SCENARIOS, SKIPPED, HostsTest, Observed, become_nobody, begin, hosts, marked_processes, skip  # noqa: E402


class Scenarios(HostsTest):
    def test_names_resolve_and_tcp_goes_through(self):
        self.scenario("names")

    def test_words_and_folders_arrive_as_they_are(self):
        self.scenario("arguments")

    def test_hosts_are_alone(self):
        self.scenario("alone")

    def test_a_cut_link_holds_what_is_sent(self):
        self.scenario("link")

    def test_a_frozen_host_answers_when_it_is_thawed(self):
        self.scenario("freeze")

    def test_a_killed_host_says_nothing_any_more(self):
        self.scenario("kill")

    def test_errors_say_what_and_where(self):
        self.scenario("errors")

    def test_signals_and_ends_of_who_asks(self):
        self.scenario("askers")


class Command(HostsTest):
    def test_three_hosts_come_and_go(self):
        began = time.monotonic()
        done = hosts("3", "sh", "-c", "hostname; hosts run host2 hostname; hosts run host3 hostname")
        print(f"three hosts, a command at each: {time.monotonic() - began:.2f} s")
        self.assertEqual((done.returncode, done.stdout), (0, "host1\nhost2\nhost3\n"), done.stderr)

    def test_status_and_streams(self):
        done = hosts("--on", "host2", "2", "sh", "-c", "cat; hostname; echo wrong >&2; exit 5", input="given\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (5, "given\nhost2\n", "wrong\n"))
        self.assertEqual(hosts("1", "sh", "-c", "kill -KILL $$").returncode, 128 + signal.SIGKILL)
        self.assertEqual(hosts("1", "no-such-program").returncode, 127)

    @unittest.skipUnless(len(os.sched_getaffinity(0)) >= 2, "there is one processor")
    def test_own_processors(self):
        show = "taskset -cp self | sed 's/.*: //'"
        done = hosts("--own-processors", "2", "sh", "-c", f"{show.replace('self', '$$')}; hosts run host2 sh -c \"{show.replace('self', chr(92) + '$' + chr(92) + '$')}\"")
        one, other = done.stdout.split()
        self.assertNotEqual(one, other, done.stderr)
        many = str(len(os.sched_getaffinity(0)) + 1)
        self.assertIn(f"{many} hosts, and ", hosts("--own-processors", many, "true").stderr)

    def test_shared_folders(self):
        folder = f"/tmp/{ID}"
        os.mkdir(folder)
        try:
            os.chmod(folder, 0o777)
            write = f"echo seen >{folder}/file && hosts run host2 cat {folder}/file && ls /tmp"
            done = hosts("--share", folder, "2", "sh", "-c", write)
            there = {ID} | ({ROOT.parts[2]} if ROOT.is_relative_to("/tmp") else set())  # nothing else
            seen = done.stdout.splitlines()
            self.assertEqual((done.returncode, seen[:1], set(seen[1:])), (0, ["seen"], there), done.stderr)
            done = hosts("2", "hosts", "run", "host2", "cat", "file", cwd=folder)  # the current folder is shared as well
            self.assertEqual((done.returncode, done.stdout), (0, "seen\n"), done.stderr)
        finally:
            shutil.rmtree(folder)

    def test_signals_reach_the_command(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            command = begin("1", "sh", "-c", f"trap 'echo told; exit 3' {number.name[3:]}; echo ready; while :; do sleep 0.01; done",
                            stdout=subprocess.PIPE)
            with command:
                self.assertEqual(command.stdout.readline(), "ready\n")
                command.send_signal(number)
                self.assertEqual(command.stdout.read(), "told\n")
                self.assertEqual(command.wait(LONG), 3)

    def test_the_terminal_interrupts_once(self):
        code = "import signal, sys, time\nsignal.signal(signal.SIGINT, lambda *_: print('told', flush=True))\n" \
               "print('ready', flush=True)\nend = sys.stdin.readline()\nprint('end', flush=True)"
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(HOSTS[0], [*HOSTS, "1", SCENARIOS[0], "-c", code], ENVIRONMENT)
        seen = self.read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        seen += self.read_until(terminal, b"told")
        os.write(terminal, b"go\n")
        seen += self.read_until(terminal, b"end")
        self.assertEqual(seen.count(b"told"), 1, seen)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(terminal)

    def read_until(self, terminal, word):
        seen = b""
        while word not in seen:
            seen += os.read(terminal, 1000)
        return seen


class Refusals(HostsTest):
    """These need no right to make hosts."""

    def test_wrong_use_is_explained(self):
        for words, said in (([], "nothing to do"), (["2"], "no command"), (["x", "ls"], "'x' is neither"), (["0", "ls"], "from 1 to 250"),
                            (["--fast", "2", "ls"], "no option --fast"), (["--on", "host3", "2", "ls"], "host1 to host2"),
                            (["--share", "/no-such-folder", "2", "ls"], "no such folder"),
                            (["run", "host1", "ls"], "no pretended host")):
            done = hosts(*words)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(said, done.stderr)

    def test_a_machine_that_forbids_it(self):
        if subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True).returncode:
            self.skipTest("users may make no namespaces, so none that forbid others")
        forbid = 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"'
        done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh", *HOSTS[-1:], "1", "true"],
                              env=ENVIRONMENT, text=True, capture_output=True, timeout=LONG)
        self.assertEqual(done.returncode, SKIPPED, done)
        self.assertIn("does not let user 0 make hosts: unshare: No space left", done.stderr)

    def test_slurm_needs_root(self):
        if os.geteuid() == 0:
            become_nobody()
        done = hosts("--slurm", "2", "true")
        self.assertEqual(done.returncode, SKIPPED, done)
        self.assertIn("--slurm needs root", done.stderr)


class Ends(HostsTest):
    """However it ends; tearDown sees what is left."""

    BUSY = "setsid sleep 1000 & hosts run host2 setsid sleep 1000 & hosts run host2 sh -c 'sleep 1000 & sleep 1000' & wait"

    def busy(self):
        command = begin("2", "sh", "-c", self.BUSY, stderr=subprocess.DEVNULL)
        ends = time.monotonic() + LONG
        while sum("sleep 1000" in process.split(" ", 1)[1][:10] for process in marked_processes()) < 4:
            self.assertLess(time.monotonic(), ends, marked_processes())
            time.sleep(0.01)
        return command

    def test_of_the_command(self):
        done = hosts("2", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & hosts run host2 setsid sleep 1000 >/dev/null 2>&1 &")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(marked_processes(), [])  # at once

    def test_by_kill(self):
        command = self.busy()
        command.kill()
        self.assertEqual(command.wait(LONG), -signal.SIGKILL)

    def test_by_kill_of_the_switch(self):
        command = self.busy()
        children = pathlib.Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        self.assertEqual(command.wait(LONG), 125)

    def test_while_hosts_are_made(self):
        for wait_seconds in (0, 0.02, 0.05, 0.1, 0.2):
            command = begin("3", "sleep", "1000")
            time.sleep(wait_seconds)
            command.kill()
            command.wait(LONG)


@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
class Mpirun(HostsTest):
    WORDS = ["mpirun", "--host", "host1:2,host2:2"]

    def test_starts_at_each_host(self):
        done = hosts("2", *self.WORDS, "hostname")
        self.assertEqual((done.returncode, sorted(done.stdout.split())), (0, ["host1", "host1", "host2", "host2"]), done.stderr)

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_MPI_PAIRS"), "tests/hosts/mpi_pairs is not built")
    def test_processes_talk(self):
        done = hosts("2", *self.WORDS, os.environ["SITU_HOSTS_MPI_PAIRS"])
        self.assertEqual((done.returncode, done.stdout), (0, "4 processes, 2 hosts: all pairs talked\n"), done.stderr)


@unittest.skipUnless(os.environ.get("SITU_HOSTS_RMEM_PEER"), "there is no SITU_HOSTS_RMEM_PEER")
class Rmem(HostsTest):
    def in_shared_folder(self, scenario):
        folder = f"/tmp/{ID}"
        os.mkdir(folder)
        try:
            with unittest.mock.patch.dict(ENVIRONMENT, SITU_HOSTS_FOLDER=folder):
                self.scenario(scenario, "--share", folder)
        finally:
            shutil.rmtree(folder)

    def test_errors_and_no_hangs(self):
        self.in_shared_folder("rmem")

    def test_replicas_carry_on(self):
        self.in_shared_folder("rmem_replicas")


@unittest.skipUnless(shutil.which("mpirun") and os.environ.get("SITU_HOSTS_PROBE"), "there is no mpirun, or no SITU_HOSTS_PROBE")
class Job(Observed):
    """A job of Situ over two hosts, two places each."""

    START = ["2", "mpirun", "--host", "host1:2,host2:2"]

    def run_probe(self, *words, before=()):
        return hosts(*self.START, *before, os.environ["SITU_HOSTS_PROBE"], *words)

    def lines_of(self, done):
        return sorted(done.stdout.splitlines())

    def test_operations_and_barriers(self):
        done = self.run_probe("all")
        self.assertEqual((done.returncode, done.stdout), (0, 2 * "4 places, 2 here: done\n"), done.stderr)
        self.assertNotRegex(done.stderr, "situ|UCX")

    def test_places_in_turn(self):
        done = hosts("2", "mpirun", "--host", "host1:2,host2:2", "--map-by", "node", os.environ["SITU_HOSTS_PROBE"], "all")
        self.assertEqual((done.returncode, done.stdout), (0, 2 * "4 places, 2 here: done\n"), done.stderr)

    def test_hosts_of_different_size(self):
        done = hosts("3", "mpirun", "--host", "host1:1,host2:3,host3:2", os.environ["SITU_HOSTS_PROBE"], "all")
        self.assertEqual((done.returncode, done.stdout), (0, 2 * "6 places, 1 here: done\n"), done.stderr)

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_MPI_JOB"), "tests/hosts/mpi_job is not built")
    def test_beside_mpi(self):
        done = hosts(*self.START, os.environ["SITU_HOSTS_MPI_JOB"])
        self.assertEqual((done.returncode, done.stdout), (0, 2 * "4 places beside MPI\n"), done.stderr)

    def run_script(self, text):
        return hosts("2", "sh", "-ec", f"RUN='{' '.join(self.START[1:])}'; PROBE={os.environ['SITU_HOSTS_PROBE']}\n{text}")

    def test_statistics(self):
        """The first rank's environment counts: mpirun passes it to its own host alone."""
        done = self.run_script("SITU_STATS=1 $RUN $PROBE bytes")
        self.assertEqual((done.returncode, done.stdout), (0, "4 places, 2 here: done\n"), done.stderr)
        self.assert_table(done.stderr)

    def test_a_trace(self):
        done = self.run_script("SITU_TRACE=/tmp/trace.json $RUN $PROBE messages && cat /tmp/trace.json; hosts run host2 ls /tmp")
        self.assertEqual(done.returncode, 0, done.stderr)
        text, _, rest = done.stdout.rpartition("]}")
        self.assertNotIn("trace.json", rest)
        events = self.read_trace(text + "]}")
        self.assertEqual({event["pid"] for event in events if event["ph"] == "X"}, {0, 1, 2, 3})
        self.assert_pairs(events)

    def test_statistics_without_a_host(self):
        """One whose server has ended is left out, and nobody waits for it."""
        done = self.run_script("SITU_STATS=1 $RUN $PROBE server")
        self.assertRegex(done.stderr, r"what places of host 1 have counted has not come: .*the link to its host")
        self.assertRegex(done.stderr, r"(?m)^ +0 +0 ")
        self.assertNotRegex(done.stderr, r"(?m)^ +2 +\d")

    def test_statistics_of_one_host(self):
        probe = os.environ["SITU_HOSTS_PROBE"]
        done = hosts("1", "env", "SITU_STATS=1", "mpirun", "--host", "host1:4", probe, "bytes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_table(done.stderr)
        done = hosts("1", "sh", "-ec", f"SITU_STATS=1 SITU_TRACE=/tmp/trace.json {probe} bytes && cat /tmp/trace.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^ +0 +0 +1 +3.0 MiB +1 +3.0 MiB ")
        self.assertIn(("put", 0), {(event["name"], event["pid"]) for event in self.read_trace(done.stdout)})

    def test_what_is_asked_for_is_known(self):
        done = self.run_script("SITU_STATS=much $RUN $PROBE once")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("SITU_STATS in the environment is neither 0 nor 1", done.stderr)

    def test_what_is_not_there_is_refused(self):
        done = self.run_probe("refusals")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^address: bad address: put of 4 bytes .* outside the heap of place 2's segment")

    def test_memory_of_another_host_is_not_touched(self):
        done = self.run_probe("fault")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"place 0: wrote to 0x[0-9a-f]+, memory of place 3, which is on another host; "
                         r"it is read by situ::get and written by situ::put alone")

    def test_a_place_that_ends_is_lost_everywhere(self):
        done = self.run_probe("end")
        for place in range(3):
            self.assertIn(f"place {place} hears: place 3 is lost; put: it is there\n", done.stdout, done.stderr)

    def test_a_host_whose_server_ends_is_lost_everywhere(self):
        done = self.run_probe("server")
        for place, why in ((0, "the link to its host"), (1, "the link to its host"), (2, "the server of its host has ended"), (3, "the server of its host has ended")):
            self.assertRegex(done.stdout, rf"(?m)^place {place} hears: situ: place lost: place [23]: .*{why}", done.stderr)

    def test_different_builds_are_refused(self):
        folder = f"/tmp/{ID}"
        os.mkdir(folder)
        try:
            other = f"{folder}/other"
            shutil.copy(os.environ["SITU_HOSTS_PROBE"], other)
            with open(other, "r+b") as file:  # another build id
                data = file.read()
                at = data.index(b"\x03\0\0\0GNU\0") + 8
                file.seek(at)
                file.write(bytes([data[at] ^ 1]))
            probe = os.environ["SITU_HOSTS_PROBE"]
            done = hosts("--share", folder, "2", "mpirun", "-n", "2", "--host", "host1:2", probe, ":", "-n", "2", "--host", "host2:2", other)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("they run different executables", done.stderr)
            self.assertRegex(done.stderr, r"host1 has 0x[0-9a-f]+; host2 has|host2 has 0x[0-9a-f]+; host1 has")
        finally:
            shutil.rmtree(folder)

    def test_without_pmix_it_is_refused(self):
        done = self.run_probe("all", before=["env", "-u", "PMIX_NAMESPACE"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("needs a launcher that speaks PMIx", done.stderr)
        self.assertIn("SITU_ALONE=1", done.stderr)

    def test_without_a_common_network_it_is_refused(self):
        done = self.run_probe("all", before=["env", "UCX_NET_DEVICES=lo"])
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "network|way to another host")


@unittest.skipUnless(os.environ.get("SITU_HOSTS_SITU") and os.environ.get("SITU_HOSTS_PROBE"), "there is no SITU_HOSTS_SITU, or no SITU_HOSTS_PROBE")
class Run(Observed):
    """situ run --hosts: its agents are started by the hosts' ssh."""

    SITU = os.environ.get("SITU_HOSTS_SITU", "")
    PROBE = os.environ.get("SITU_HOSTS_PROBE", "")
    START = [SITU, "run", "--hosts", "host1:2,host2:2"]

    def run_at(self, *words, **options):
        return hosts("2", *self.START, *words, **options)

    def run_script(self, text):
        """A shell's lines at host1, in which $RUN starts a job; each host has a folder of its own in /tmp."""
        lines = f"RUN='{' '.join(self.START)}'; PROBE={self.PROBE}; SITU={self.SITU}\n{text}"
        return hosts("2", "sh", "-ec", lines)

    def assert_refused(self, done, *said):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for each in said:
            self.assertRegex(done.stderr, each)

    def test_operations_and_barriers(self):
        done = self.run_at(self.PROBE, "once")
        self.assertEqual((done.returncode, done.stdout), (0, "4 places, 2 here: done\n"), done.stderr)
        self.assertEqual(done.stderr, "")

    def test_hosts_of_different_size(self):
        done = hosts("3", self.SITU, "run", "--hosts", "host2:1,host1:3,host3:2", self.PROBE, "once")
        self.assertEqual((done.returncode, done.stdout), (0, "6 places, 1 here: done\n"), done.stderr)

    def test_one_host_that_is_another(self):
        done = hosts("2", self.SITU, "run", "--hosts", "host2:2", "sh", "-c", "hostname")
        self.assertEqual((done.returncode, done.stdout), (0, 2 * "host2\n"), done.stderr)

    def test_exit_codes(self):
        done = self.run_at("sh", "-c", "test $SITU_PLACE != 3 || exit 7")
        self.assertEqual((done.returncode, done.stderr), (7, "situ: place 3 exited with code 7 (at host2)\n"))
        done = self.run_at("sh", "-c", "test $SITU_PLACE != 2 || kill -TERM $$")
        self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGTERM, "situ: place 2 was killed by signal 15 (at host2)\n"))

    def test_a_killed_place_is_lost_everywhere(self):
        done = self.run_at(self.PROBE, "end", "killed")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL, done.stderr)
        for place in range(3):
            self.assertIn(f"place {place} hears: place 3 is lost; put: it is there\n", done.stdout, done.stderr)
        self.assertIn("situ: place 3 is lost: killed by signal 9 (SIGKILL) (at host2)\n", done.stderr)

    def test_a_host_whose_server_ends_is_lost_everywhere(self):
        done = self.run_at(self.PROBE, "server")
        for place in range(4):
            self.assertRegex(done.stdout, rf"(?m)^place {place} hears: situ: place lost: place [23]: ", done.stderr)

    def test_who_never_joins_is_lost_to_those_who_do(self):
        """Also where its host has nobody else: its agent goes on looking."""
        done = hosts("2", self.SITU, "run", "--hosts", "host1:1,host2:1", "sh", "-c", 'test $SITU_PLACE = 1 || { sleep 1; exec "$0" once; }', self.PROBE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("place 1 is lost: exited before joining the job (at host2)", done.stderr)

    def test_output_comes_by_its_streams(self):
        done = self.run_at("sh", "-c", "echo out $SITU_PLACE; echo err $SITU_PLACE >&2; printf rest$SITU_PLACE")
        self.assertEqual(done.returncode, 0, done.stderr)
        for place in range(4):
            self.assertIn(f"out {place}\n", done.stdout)
            self.assertIn(f"rest{place}", done.stdout)
        self.assertEqual(sorted(done.stderr.splitlines()), [f"err {place}" for place in range(4)])

    def test_tags(self):
        done = self.run_at("--tag", "sh", "-c", "hostname; hostname >&2; printf rest")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [f"[{place}] host{1 + place // 2}" for place in range(4)]
        self.assertEqual(sorted(done.stderr.splitlines()), lines)
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(lines + [f"[{place}] rest" for place in range(4)]))

    def test_much_output(self):
        done = self.run_at("sh", "-c", "seq 300000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout), 4 * sum(len(str(i)) + 1 for i in range(1, 300001)))

    def test_who_reads_late_gets_all_of_it(self):
        """Meanwhile no place gets on, and no memory grows."""
        done = self.run_script("$RUN seq 300000 | { sleep 2; wc -l; }")
        self.assertEqual(done.stdout.strip(), "1200000", done.stderr)

    def test_variables(self):
        done = self.run_script("export SITU_MINE=1 OTHER=2 THIRD=3\n"
                               "$RUN --env OTHER --env FOURTH='4 5' sh -c 'echo $SITU_MINE/$OTHER/$THIRD/$FOURTH'")
        self.assertEqual((done.returncode, done.stdout), (0, 4 * "1/2//4 5\n"), done.stderr)
        self.assert_refused(self.run_at("--env", "NO_SUCH_NAME", "true"), "--env NO_SUCH_NAME: there is no such variable here")

    def test_standard_input_is_nothing(self):
        done = self.run_at("cat", input="given\n")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_signals_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            loop = f"trap 'echo told; exit 3' {number.name[3:]}; echo ready; while :; do sleep 0.01; done"
            with begin("2", *self.START, "sh", "-c", loop, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
                self.assertEqual([command.stdout.readline() for _ in range(4)], 4 * ["ready\n"])
                command.send_signal(number)
                self.assertEqual(command.communicate(timeout=LONG)[0], 4 * "told\n")
                self.assertEqual(command.returncode, 3)

    def test_the_second_interrupt_means_now(self):
        with begin("2", *self.START, "sh", "-c", "trap 'echo told' INT; echo ready; while :; do sleep 0.01; done",
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
            for said in ("ready\n", "told\n"):
                self.assertEqual([command.stdout.readline() for _ in range(4)], 4 * [said])
                command.send_signal(signal.SIGINT)
            command.communicate(timeout=LONG)
            self.assertEqual(command.returncode, 128 + signal.SIGKILL)

    def test_quit_asks_where_places_stand(self):
        with begin("2", *self.START, "sh", "-c", "echo ready; exec sleep 1000", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
            for _ in range(4):
                command.stdout.readline()
            command.send_signal(signal.SIGQUIT)
            said = [command.stderr.readline() for _ in range(6)]
            command.send_signal(signal.SIGTERM)
            command.communicate(timeout=LONG)
        for host in (1, 2):
            self.assertIn(f"situ: asked by SIGQUIT; where the places at host{host} stand:\n", said)
        for place in range(4):
            self.assertIn(f"place {place}: has not joined\n", said)

    def test_the_time_limit(self):
        began = time.monotonic()
        done = self.run_at("--timeout", "1.5", self.PROBE, "stand")
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertLess(time.monotonic() - began, 20)
        self.assertRegex(done.stderr, r"situ: place [0-3] is lost: still running after the time limit of 1500 ms \(at host[12]\)")
        self.assertRegex(done.stderr, r"the time limit of 1500 ms is over; where the places at host2 stand:\nplace 2: ")
        done = self.run_at("--timeout", "1", "sh", "-c", "trap : TERM; while :; do sleep 0.01; done")  # needs a SIGKILL
        self.assertEqual(done.returncode, 124, done.stderr)

    def test_an_agent_that_is_killed(self):
        done = self.run_script("$RUN --grace 1 $PROBE stand & sleep 1.5; hosts run host2 pkill -KILL -f host-agent; "
                               "wait $! || echo ended with $?; sleep 0.2; hosts run host2 sh -c '! pgrep -l hosts_probe'")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ended with 1", done.stdout)
        self.assertRegex(done.stderr, r"situ: place [23] is lost: its host's agent has ended.* \(at host2\)")

    def test_a_launcher_that_is_killed(self):
        done = self.run_script("$RUN sleep 1000 & sleep 1.5; kill -KILL $!; sleep 1.5\n"
                               "for host in host1 host2; do hosts run $host sh -c '! pgrep -l \"^(sleep|situ)\"'; done")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_frozen_host_ends_with_the_time_limit(self):
        done = self.run_script("$RUN --timeout 3 sleep 1000 & sleep 1.5; hosts freeze host2; wait $! || echo ended with $?")
        self.assertIn("ended with 124", done.stdout, done.stderr)
        self.assertRegex(done.stderr, r"still running after the time limit|its host does not answer|nothing has come of its host")

    def test_what_is_not_there(self):
        self.assert_refused(self.run_at("./no-such-program"), 'host1: cannot start "./no-such-program": there is no such file',
                            'host2: cannot start "./no-such-program"')
        self.assert_refused(hosts("2", self.SITU, "run", "--hosts", "host1:1,host9:1", "true"), "host9: nothing was started there")
        self.assert_refused(self.run_at("--rsh", "no-such-shell", "true"), 'host[12]: there is no .*, or no "no-such-shell" here')
        self.assert_refused(self.run_at("--rsh", "echo Welcome to", "true"), r'what comes by `echo Welcome to` is not of situ: no frame, but "Welcome to host[12]')
        self.assert_refused(self.run_script("mkdir /tmp/mine; cd /tmp/mine; $RUN true"), "host2: the folder /tmp/mine cannot be entered: No such file")
        self.assert_refused(self.run_script("cp $PROBE /tmp/here; $RUN /tmp/here"), 'host2: cannot start "/tmp/here": there is no such file')
        self.assert_refused(self.run_script("cp $SITU /tmp/situ; /tmp/situ run --hosts host1:1,host2:1 true"), "host2: there is no /tmp/situ there")

    OTHER_BUILD = "import sys; d = bytearray(open(sys.argv[1], 'rb').read()); d[d.index(b'\\x03\\0\\0\\0GNU\\0') + 8] ^= 1; open(sys.argv[2], 'wb').write(d)"

    def test_different_builds(self):
        copies = f'other() {{ hosts run host2 {SCENARIOS[0]} -c "{self.OTHER_BUILD}" $1 $2; hosts run host2 chmod +x $2; }}\n'
        done = self.run_script(f"{copies} cp $PROBE /tmp/probe; other $PROBE /tmp/probe; $RUN /tmp/probe once")
        self.assert_refused(done, "they run different executables", "host1 has 0x[0-9a-f]+(; host2 has|\\))")
        done = self.run_script(f"{copies} cp $SITU /tmp/situ; other $SITU /tmp/situ; /tmp/situ run --hosts host1:1,host2:1 true")
        self.assert_refused(done, r"host2 has another build of situ at /tmp/situ \(0x[0-9a-f]+, here 0x")

    def test_the_network_is_that_of_the_first_host(self):
        done = self.run_at("sh", "-c", "echo $SITU_NETWORK")
        self.assertEqual((done.returncode, done.stdout), (0, 4 * "eth0\n"), done.stderr)
        for chosen in ("SITU_NETWORK=eth0", "UCX_NET_DEVICES=eth0"):
            done = hosts("2", "env", chosen, *self.START, "--env", chosen, self.PROBE, "once")
            self.assertEqual((done.returncode, done.stdout), (0, "4 places, 2 here: done\n"), done.stderr)
        done = hosts("2", "env", "SITU_NETWORK=eth7", *self.START, "true")
        for host in (1, 2):
            self.assert_refused(done, rf"host{host}: SITU_NETWORK=eth7: there is no such interface, but lo \(127.0.0.1\), eth0 \(10.77.0.{host}\)")

    @unittest.skipUnless(os.geteuid() == 0 and "--as-nobody" not in sys.argv, "only root may give a host a second network")
    def test_networks_that_lead_nowhere(self):
        """Each host has an eth1 that no other sees."""
        add = "for i in 1 2; do hosts run host$i sh -c \"ip link add eth1 type veth peer name far1 && ip address add 10.99.$i.1/24 dev eth1 && " \
              "ip link set eth1 up && ip link set far1 up\"; done\n"
        done = self.run_script(add + "$RUN $PROBE once")
        self.assertEqual((done.returncode, done.stdout), (0, "4 places, 2 here: done\n"), done.stderr)
        done = self.run_script(add + "SITU_NETWORK=eth1 $RUN $PROBE once")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "is there a network that both have|no way to another host|the link to its host")

    def test_statistics(self):
        done = self.run_at("--stats", self.PROBE, "bytes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_table(done.stderr)
        done = self.run_script("$RUN --stats --grace 1 $PROBE stand & sleep 1.5; hosts run host2 pkill -KILL -f host-agent; wait $! || true")
        self.assertIn("situ: what places at host2 have counted has not come\n", done.stderr)

    def test_a_trace(self):
        """Of all places, on one clock: what is sent comes before it is handled."""
        done = self.run_script("$RUN --trace /tmp/trace.json $PROBE calls && cat /tmp/trace.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads(done.stdout.partition("{")[1] + done.stdout.partition("{")[2])["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({event["pid"] for event in spans}, {0, 1, 2, 3})
        last = max(event["ts"] + event.get("dur", 0) for event in spans)
        self.assertLess(last, 60e6)
        sent = {event["id"]: event for event in events if event["ph"] == "s"}
        far = [(sent[event["id"]], event) for event in events
               if event["ph"] == "f" and event["id"] in sent and sent[event["id"]]["pid"] // 2 != event["pid"] // 2]
        self.assertGreater(len(far), 4)
        for sender, receiver in far:
            self.assertGreater(receiver["ts"] + 1000, sender["ts"])  # us: what ssh's round trips leave open
        done = self.run_script("$RUN --trace /tmp/trace.json $PROBE messages && cat /tmp/trace.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_pairs(self.read_trace(done.stdout))

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_BENCH"), "there is no SITU_HOSTS_BENCH")
    def test_the_bench(self):
        """All rows, whatever the times."""
        done = self.run_script("$SITU bench cluster --quick --hosts host1,host2 --json /tmp/rows.json >/dev/null && cat /tmp/rows.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {(row["case"], row["subject"]) for row in json.loads(done.stdout)}
        self.assertEqual(len({case for case, _ in rows}), 16, rows)
        self.assertEqual(len(rows), 32, rows)

    def test_words_that_are_wrong(self):
        for words, said in ((["--hosts", "host1:none", "true"], 'how many places are "host1:none"'), (["--hosts", "host1,host1", "true"], "host1 is named twice"),
                            (["--hosts", "host1:2,-x", "true"], '"-x" names no host'), (["--hosts", "host1:40000", "true"], "up to 32768 places"),
                            (["--hosts", "host1:2", "--in-process", "true"], "--in-process is for places of one process"), (["--hosts", "host1", "-n", "2", "true"], "-n is told by --hosts"),
                            (["--env", "HOME", "true"], "are for --hosts")):
            done = subprocess.run([self.SITU, "run", *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=LONG)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)


@unittest.skipUnless(shutil.which("mpirun") and os.environ.get("SITU_HOSTS_BODIES"), "there is no mpirun, or no SITU_HOSTS_BODIES")
class Bodies(HostsTest):
    """Tests of the fabric and the runtime in a job over hosts: messages and what is made of them."""

    def passes(self, *words):
        began = time.monotonic()
        done = hosts(*words, os.environ["SITU_HOSTS_BODIES"], "--gtest_color=no")
        self.assertEqual(done.returncode, 0, done.stdout[-10000:] + done.stderr[-10000:])
        self.assertRegex(done.stdout, r"PASSED .* [1-9][0-9]+ tests")
        self.assertNotRegex(done.stderr, "situ|UCX")
        print(f"{' '.join(words[:2])}: {time.monotonic() - began:.2f} s")

    def test_of_two_hosts(self):
        self.passes("2", "mpirun", "--host", "host1:2,host2:2")

    def test_of_three_hosts(self):
        self.passes("3", "mpirun", "--host", "host1:1,host2:2,host3:1")

    def test_of_two_hosts_by_situ_run(self):
        self.passes("2", os.environ["SITU_HOSTS_SITU"], "run", "--hosts", "host1:2,host2:2")

    def test_of_three_hosts_by_situ_run(self):
        self.passes("3", os.environ["SITU_HOSTS_SITU"], "run", "--hosts", "host1:1,host2:2,host3:1")


@unittest.skipUnless(shutil.which("mpirun") and os.environ.get("SITU_HOSTS_IMSUITE"), "there is no mpirun, or no SITU_HOSTS_IMSUITE")
class Imsuite(HostsTest):
    """examples/imsuite over hosts: each of its messages is an object graph."""

    def validates(self, places, *words):
        done = hosts(*words, os.environ["SITU_HOSTS_IMSUITE"], "all")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"IMSuite on {places} places", done.stdout)
        self.assertEqual(done.stdout.count(" validated "), 12, done.stdout)
        self.assertNotRegex(done.stderr, "situ|UCX")

    def test_all_kernels_over_two_hosts(self):
        self.validates(4, "2", "mpirun", "--host", "host1:2,host2:2")

    def test_all_kernels_over_three_hosts(self):
        self.validates(3, "3", "mpirun", "--host", "host1:1,host2:1,host3:1")


class Slurm(Observed):
    @unittest.skipUnless(os.environ.get("SITU_HOSTS_PROBE") and os.environ.get("SITU_HOSTS_SITU") and shutil.which("mpirun"), "there is no SITU_HOSTS_PROBE, no SITU_HOSTS_SITU or no mpirun")
    def test_one_binary_for_all_launchers(self):
        probe = f"{os.environ['SITU_HOSTS_PROBE']} once"
        lines = f"srun -N 2 -n 4 --ntasks-per-node=2 --mpi=pmix {probe}\nmpirun --host host1:2,host2:2 {probe}\n" \
                f"{os.environ['SITU_HOSTS_SITU']} run --hosts host1:2,host2:2 {probe}"
        done = hosts("--slurm", "2", "sh", "-ec", lines)
        self.assertEqual((done.returncode, done.stdout), (0, 3 * "4 places, 2 here: done\n"), done.stderr)

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_PROBE"), "there is no SITU_HOSTS_PROBE")
    def test_a_job_of_situ(self):
        done = hosts("--slurm", "2", "srun", "-N", "2", "-n", "4", "--ntasks-per-node=2", "--mpi=pmix", os.environ["SITU_HOSTS_PROBE"], "all")
        self.assertEqual((done.returncode, done.stdout), (0, 2 * "4 places, 2 here: done\n"), done.stderr)

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_PROBE"), "there is no SITU_HOSTS_PROBE")
    def test_a_killed_place_is_lost_everywhere(self):
        done = hosts("--slurm", "2", "srun", "-N", "2", "-n", "4", "--ntasks-per-node=2", "--mpi=pmix", "--no-kill", "--kill-on-bad-exit=0",
                     os.environ["SITU_HOSTS_PROBE"], "end", "killed")
        for place in range(3):
            self.assertIn(f"place {place} hears: place 3 is lost; put: it is there\n", done.stdout, done.stderr)

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_PROBE"), "there is no SITU_HOSTS_PROBE")
    def test_statistics_and_a_trace(self):
        start = f"srun -N 2 -n 4 --ntasks-per-node=2 --mpi=pmix {os.environ['SITU_HOSTS_PROBE']}"
        done = hosts("--slurm", "2", "sh", "-ec", f"SITU_STATS=1 {start} bytes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_table(done.stderr)
        done = hosts("--slurm", "2", "sh", "-ec", f"SITU_TRACE=/tmp/trace.json {start} messages && cat /tmp/trace.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.read_trace(done.stdout)
        self.assertEqual({event["pid"] for event in events if event["ph"] == "X"}, {0, 1, 2, 3})
        self.assert_pairs(events)

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_PROBE"), "there is no SITU_HOSTS_PROBE")
    def test_statistics_of_a_place_that_ended_long_before(self):
        """Its host's server has them, which stays until place 0 has told."""
        done = hosts("--slurm", "2", "sh", "-c", "SITU_STATS=1 srun -N 2 -n 4 --ntasks-per-node=2 --mpi=pmix --no-kill --kill-on-bad-exit=0 "
                     f"{os.environ['SITU_HOSTS_PROBE']} end outlived")
        self.assertRegex(done.stderr, r"(?m)^ +0 +2 +1 +8 B ")
        self.assertRegex(done.stderr, r"(?m)^ +3 +\d")

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_BODIES"), "there is no SITU_HOSTS_BODIES")
    def test_bodies_of_tests(self):
        for words in (["2", "srun", "-N", "2", "-n", "4", "--ntasks-per-node=2"], ["3", "srun", "-N", "3", "-n", "3", "--ntasks-per-node=1"]):
            done = hosts("--slurm", *words, "--mpi=pmix", os.environ["SITU_HOSTS_BODIES"], "--gtest_color=no")
            self.assertEqual(done.returncode, 0, done.stdout[-10000:] + done.stderr[-10000:])
            self.assertRegex(done.stdout, r"PASSED .* [1-9][0-9]+ tests")

    def test_srun_starts_at_each_host(self):
        began = time.monotonic()
        done = hosts("--slurm", "2", "srun", "-N", "2", "-n", "4", "--ntasks-per-node=2", "--mpi=pmix", "sh", "-c", "echo $(hostname) $PMIX_RANK")
        print(f"two hosts with Slurm, a job of four processes: {time.monotonic() - began:.2f} s")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(done.stdout.split("\n")), ["", "host1 0", "host1 1", "host2 2", "host2 3"], done.stderr)

    @unittest.skipUnless(os.environ.get("SITU_HOSTS_MPI_PAIRS"), "tests/hosts/mpi_pairs is not built")
    def test_processes_talk(self):
        done = hosts("--slurm", "2", "srun", "-N", "2", "-n", "4", "--ntasks-per-node=2", "--mpi=pmix", os.environ["SITU_HOSTS_MPI_PAIRS"])
        self.assertEqual((done.returncode, done.stdout), (0, "4 processes, 2 hosts: all pairs talked\n"), done.stderr)


def main():
    if "--as-nobody" in sys.argv:
        sys.argv.remove("--as-nobody")
        become_nobody()
    words = " ".join(sys.argv[1:])
    if "Refusals" not in words:
        probe = hosts(*(["--slurm"] if "Slurm" in words else []), "1", "true")
        if probe.returncode == SKIPPED:
            skip(probe.stderr.strip())
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
