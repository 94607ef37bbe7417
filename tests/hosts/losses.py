#!/usr/bin/env python3
"""What hosts_test.py runs at host1, beside the hosts of a job: losses.py LAUNCHER HOSTS FIRST_SEED SEEDS [pool|tree].

Each seed is one job of two places a host, at host2 and on, which ask each other without end, or run tasks of a task_pool
or loops over a place tree (loss_probe.cpp); and one loss: a place or a
host's server is killed, a host is frozen and thawed, its link is cut and mended. Everybody who lives must be told within
the time, then go, and nothing of the job may be left at any host. mpirun ends survivors by itself when a place is
killed, and srun when a link is cut: so places are killed under srun, and links are cut under mpirun.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from stalls import Stalls

PROBE = os.environ["SITU_HOSTS_LOSS_PROBE"]
LONG = 40  # seconds in which what can come has come, on a busy machine, too
TOLD = 1.0  # all are told within that, apart from stalls of the machine (docs/design/cluster.md)
STALLS = Stalls()
RESTART = 0.25  # a server that stalls as long begins to listen anew, and then takes SILENCE longer to doubt a host
SILENCE = 0.5
PLACES = 2  # of each host
KINDS = {"mpirun": ("server", "freeze", "cut"), "srun": ("place", "server")}


def hosts(*words):
    return subprocess.run(["hosts", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG)


def control(*words):
    done = hosts(*words)
    assert done.returncode == 0, done


def launch(launcher, count, folder, seed, what):
    names = [f"host{number}" for number in range(2, count + 2)]
    if launcher == "mpirun":
        words = ["mpirun", "--host", ",".join(f"{name}:{PLACES}" for name in names)]
    else:
        words = ["srun", "-w", ",".join(names), "-N", str(count), "-n", str(count * PLACES), f"--ntasks-per-node={PLACES}", "--mpi=pmix",
                 "--no-kill", "--kill-on-bad-exit=0"]
    output = open(f"{folder}/launcher", "w")
    return subprocess.Popen([*words, PROBE, folder, str(seed), *what], stdin=subprocess.DEVNULL, stdout=output, stderr=output)


class Place:
    def __init__(self, folder, number):
        self.file, self.number, self.host = f"{folder}/place.{number}", number, number // PLACES
        self.name = f"host{self.host + 2}"

    def lines(self):
        try:
            with open(self.file) as file:
                return [line.rstrip("\n") for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def said(self, word):
        """The words of the line that begins with it."""
        return next((line.split(" ", 3)[1:] for line in self.lines() if line.startswith(word + " ")), None)


def begin_to_wait():
    """Returns the time, and forgets the stalls before it."""
    STALLS.begin()
    return time.monotonic()


def wait_for(condition, what, seconds=LONG):
    ends = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f"not within {seconds} s: {what()}")
        time.sleep(0.005)
    return found


def left_at(name):
    """Processes of a job there, and files that such might leave."""
    done = hosts("run", name, "sh", "-c", "grep -lE '^(loss_probe|situ_server)$' /proc/[0-9]*/comm; ls -d /dev/shm/*situ* /tmp/*situ* /run/*situ*; true")
    return done.stdout.split()


class Case:
    def __init__(self, launcher, count, seed, folder, what):
        self.random = random.Random(seed)
        self.count, self.folder, self.seed = count, folder, seed
        self.kind = KINDS[launcher][seed % len(KINDS[launcher])]  # so that a few seeds have each
        self.places = [Place(folder, number) for number in range(count * PLACES)]
        self.victim = self.random.choice(self.places)
        self.job = launch(launcher, count, folder, seed, what)
        self.delays = []

    def describe(self):
        with open(f"{self.folder}/launcher") as file:
            return {"seed": self.seed, "hosts": self.count, "what": self.kind, "victim": self.victim.number,
                    "said": {place.number: place.lines() for place in self.places}, "launcher": file.read()[-2000:]}

    def expect_told(self, places, since):
        for place in places:
            when, lost, why = wait_for(lambda: place.said("lost"), self.describe, LONG)
            delay = int(when) / 1e9 - since
            most, lost_time = STALLS.most, STALLS.sum
            assert 0 < delay < TOLD + lost_time + (SILENCE if most >= RESTART else 0), (delay, most, lost_time, self.describe())
            self.delays.append(delay)
            self.check_reason(place, int(lost), why)

    def check_reason(self, place, lost, why):
        if self.kind == "place":
            # Or, where it is told late, of somebody who has gone for that reason.
            assert lost == self.victim.number and "without leaving" in why or "after another place was lost" in why, self.describe()
        elif self.count == 3 and place.host != self.victim.host:
            told = f"its host, number {self.victim.host}," in why or "the link to its host has ended" in why  # by the server, or by its own wire
            assert lost // PLACES == self.victim.host and told, self.describe()
        elif place.host == self.victim.host and self.kind == "server":
            assert "the server of its host has ended" in why or "link to its host" in why, self.describe()

    def say(self, word):
        """To all places."""
        with open(f"{self.folder}/{word}", "w"):
            pass

    def wait_for_asked(self, places):
        for place in places:
            wait_for(lambda: place.said("asked"), self.describe)
        self.say("quiet")
        time.sleep(0.1)

    def kill(self, process):
        began = begin_to_wait()
        control("run", self.victim.name, "kill", "-KILL", process)
        return began

    def run(self):
        wait_for(lambda: all(place.said("ready") for place in self.places), self.describe)
        time.sleep(self.random.uniform(0.02, 0.3))
        process, server = self.victim.said("ready")
        mates = [place for place in self.places if place.host == self.victim.host]
        others = [place for place in self.places if place.host != self.victim.host]
        dead = []
        if self.kind == "place":
            since = self.kill(process)
            dead = [self.victim]
            self.expect_told([place for place in self.places if place is not self.victim], since)
        elif self.kind == "server":
            self.expect_told(self.places, self.kill(server))
        elif self.kind == "cut":
            since = begin_to_wait()
            control("link", "down", self.victim.name)
            self.expect_told(self.places, since)
            self.wait_for_asked(self.places)
            control("link", "up", self.victim.name)
        else:
            since = begin_to_wait()
            control("freeze", self.victim.name)
            self.expect_told(others, since)
            self.wait_for_asked(others)
            for place in mates:
                assert place.said("lost") is None, self.describe()
            since = begin_to_wait()
            control("thaw", self.victim.name)
            self.expect_told(mates, since)
        if self.kind in ("place", "server"):
            self.wait_for_asked([place for place in self.places if place not in dead])
        time.sleep(0.3)  # in which what a link or a host held back would come
        self.say("over")
        for place in self.places:
            if place not in dead:
                wait_for(lambda: place.said("left"), self.describe)
        for place in others:
            assert place in dead or place.said("kept"), self.describe()
        self.end()

    def end(self):
        try:
            self.job.wait(10)
        except subprocess.TimeoutExpired:
            self.job.terminate()  # a launcher may wait for a host that it has lost itself
            self.job.wait(LONG)
        for name in {place.name for place in self.places}:
            wait_for(lambda: not left_at(name), lambda: (left_at(name), self.describe()), 10)


def main(launcher, what, count, first, seeds):
    delays = []
    for seed in range(first, first + seeds):
        with tempfile.TemporaryDirectory(dir=os.environ["SITU_HOSTS_FOLDER"]) as folder:
            case = Case(launcher, count, seed, folder, what)
            try:
                case.run()
            finally:
                if case.job.poll() is None:
                    case.job.kill()
            delays += case.delays
            print(f"seed {seed}, {count} hosts, {case.kind} {case.victim.number}: told within {max(case.delays):.2f} s", flush=True)
    median, most = statistics.median(delays), max(delays)
    print(f"{seeds} losses under {launcher} at {count} hosts: told within {median:.3f} s (median), {most:.3f} s (most)")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[5:], *(int(word) for word in sys.argv[2:5]))
