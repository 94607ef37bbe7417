#!/usr/bin/env python3
"""Makes one look at the system after the other fail (faults.cpp), in programs over pools, jobs, hosts and remote memory.

  faults_test.py [--runs N] [--only MODULE,SCENARIO...] [--at NUMBER --reason R --kind K] [--verbose]

Each scenario runs once as it is, which counts its calls; then once for each call and each reason that the call may fail
for. What comes of it is right, or an error that says so; nothing hangs, nothing is killed by a signal, and no process
and no file is left. --runs N tries some N of these runs of each scenario, or all if they are fewer; --at the one of
these numbers. Prints a table; exits with 1 if anything was wrong.
"""

import argparse
import collections
import ctypes
import errno
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

LIBRARY = os.environ.get("SITU_FAULTS_LIBRARY", "")
SUBJECT = os.environ.get("SITU_FAULTS_SUBJECT", "")
STRANGER = os.environ.get("SITU_FAULTS_STRANGER", "")
SITU = os.environ.get("SITU_FAULTS_SITU", "")
LONG = 30  # seconds, after which a program hangs
CALLS = ("none open fopen opendir stat access readlink read kill connect socket accept receive pidfd_open "
         "make_descriptor duplicate map fork wait").split()
MOST_REASONS = 3
MOST_TRIED = 400  # calls of a scenario: of more, every second or third, as pages that come and go make hundreds alike

# plan.h
HEAD = struct.Struct("<Q256sQQIIiiII128s")
MOST_CALLS = 65536


class Plan:
    """A file that programs share by SITU_FAULTS."""

    def __init__(self, folder, fails=0, reason=0, first=0, passed_over=0):
        self.path = pathlib.Path(folder) / "plan"
        programs = os.path.dirname(os.path.dirname(SITU)).encode()
        self.path.write_bytes(HEAD.pack(0x31746c7561667473, programs, 0, fails, reason, first, 0, 0, 0, passed_over, b"") + bytes(MOST_CALLS))
        self.environment = {"SITU_FAULTS": str(self.path), "LD_PRELOAD": LIBRARY}

    def read(self):
        data = self.path.read_bytes()
        _, _, calls, _, _, _, failed, process, what, _, detail = HEAD.unpack_from(data)
        return calls, failed, CALLS[what], detail.split(b"\0")[0].decode(errors="replace"), process


class Wrong(Exception):
    pass


class Error(Exception):
    """A program has said that it cannot, and why: as it should."""


class Run:
    """One run of a scenario: a folder, and programs that one call fails in."""

    def __init__(self, folder, plan):
        self.folder = pathlib.Path(folder)
        self.plan = plan
        self.started = []

    def environment(self, more=None, faulty=True):
        made = {k: v for k, v in os.environ.items() if not k.startswith(("SITU_FAULTS", "LD_PRELOAD"))}
        made.update(TMPDIR=str(self.folder), HOME=str(self.folder), XDG_CONFIG_HOME=str(self.folder / "config"))
        if faulty:
            made.update(self.plan.environment)
        made.update(more or {})
        return made

    def start(self, *words, more=None, faulty=True):
        begun = subprocess.Popen([str(w) for w in words], env=self.environment(more, faulty), cwd=self.folder, text=True,
                                 errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 start_new_session=True)
        self.started.append(begun)
        return begun

    def wait(self, begun, seconds=LONG):
        try:
            out, err = begun.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(begun.pid, signal.SIGKILL)
            out, err = begun.communicate()
            raise Wrong(f"hangs: {out}{err}")
        return begun.returncode, out, err

    def run(self, *words, **how):
        return self.wait(self.start(*words, **how))

    def close(self):
        for each in self.started:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.communicate()


def judge(told, is_right):
    """Of a program's exit code and output."""
    code, out, err = told
    if code < 0 or code >= 128:
        raise Wrong(f"ended by a signal ({code}): {out}{err}")
    if code == 0 and is_right(out):
        return
    if code == 0:
        raise Wrong(f"exit code 0, and not the right answer: {out}{err}")
    if len(err.strip()) < 12:
        raise Wrong(f"exit code {code} without a word: {out}{err}")
    if "wrong: " in err:
        raise Wrong(f"{out}{err}")
    raise Error(err.strip().splitlines()[-1])


# --- scenarios -------------------------------------------------------------------------------------------------------

SCENARIOS = collections.OrderedDict()
KINDS = {"top_until_the_end": "kill"}  # of calls that are counted, where not all are
SLOW = {"top_until_the_end"}  # not among some runs


def scenario(module):
    def add(function):
        SCENARIOS[function.__name__] = (module, function)
        return function
    return add


def check_pool(run, file, least, most):
    code, out, err = run.run(SUBJECT, "pool-check", file, faulty=False)
    seen = re.match(r"a (\d+) b (\d+) items (\d+)\n", out)
    if code != 0 or not seen:
        raise Wrong(f"the pool is not sound: {out}{err}")
    a, b, items = (int(each) for each in seen.groups())
    if not (a == b == items and least <= a <= most):
        raise Wrong(f"the pool has {out.strip()}, of {least} to {most} transactions")


@scenario("pool")
def shared_pool(run):
    file = run.folder / "test.pool"
    told = run.run(SUBJECT, "pool", file)
    done = [(int(c), int(f)) for c, f in re.findall(r"committed (\d+) failed (\d+)", told[1])]
    committed, failed = sum(c for c, _ in done), sum(f for _, f in done)
    if file.exists():
        check_pool(run, file, committed, committed + failed)
        file.unlink()
    judge(told, lambda out: committed == 20)


def make_pool(run, name="given.pool"):
    file = run.folder / name
    code, out, err = run.run(SUBJECT, "pool", file, faulty=False)
    if code != 0:
        raise Wrong(f"no pool to begin with: {out}{err}")
    return file


@scenario("pool")
def pool_tools(run):
    file = make_pool(run)
    answers = []
    copy = run.folder / "copy.pool"
    try:
        judge(run.run(SITU, "pool", "check", file), lambda out: "sound" in out)
    except Error as error:
        answers.append(error)
    code, out, err = run.run(SITU, "pool", "check", file, faulty=False)
    if code != 0:
        raise Wrong(f"the pool is not sound any more: {out}{err}")
    try:
        judge(run.run(SITU, "pool", "copy", file, copy), lambda out: copy.exists())
        check_pool(run, copy, 20, 20)
        copy.unlink()
    except Error as error:
        answers.append(error)
    check_pool(run, file, 20, 20)
    file.unlink()
    if answers:
        raise answers[0]


PLACES = "sum 325 on {0}\nsum 325 on {0}\n"


def is_sum(processors=None):
    processors = processors or len(os.sched_getaffinity(0))
    return lambda out: re.sub(r"(?m)^\[\d\] ", "", out) == PLACES.format(processors)


@scenario("launch")
def run_places(run):
    judge(run.run(SITU, "run", "-n", "2", SUBJECT, "place"), is_sum())


@scenario("launch")
def run_labelled_and_bound(run):
    told = run.run(SITU, "run", "-n", "2", "--tag", "--bind", "core", "--stats", SUBJECT, "place")
    judge(told, is_sum(run.bound))


@scenario("launch")
def run_foreign_tasks(run):
    variables = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": run.folder.name}
    begun = [run.start(SUBJECT, "place", more={**variables, "OMPI_COMM_WORLD_RANK": str(rank)}) for rank in (0, 1)]
    told, answers = [], []
    # As mpirun does: where one task ends with an error, the others are ended.
    until = time.monotonic() + LONG
    while any(each.poll() is None for each in begun) and time.monotonic() < until:
        if any(each.poll() not in (None, 0) for each in begun):
            time.sleep(0.5)
            for each in begun:
                if each.poll() is None:
                    each.terminate()
        time.sleep(0.005)
    for each in begun:
        code, out, err = run.wait(each, 1 if time.monotonic() > until else LONG)
        if code == -signal.SIGTERM and any(other.returncode not in (None, 0) for other in begun if other is not each):
            continue
        try:
            judge((code, out, err), lambda out: out == PLACES.format(len(os.sched_getaffinity(0))).splitlines(True)[0])
        except Error as error:
            answers.append(error)
    if answers:
        raise answers[0]


def start_job(run):
    """One that goes on until its gate is gone."""
    gate = run.folder / "gate"
    gate.touch()
    job = run.start(SITU, "run", "-n", "2", SUBJECT, "wait", gate, faulty=False)
    until = time.monotonic() + LONG
    while time.monotonic() < until:  # both have joined
        code, out, _ = run.run(SITU, "top", "--once", "--json", job.pid, faulty=False)
        if code == 0 and out.count('"joined"') == 2:
            break
        time.sleep(0.02)
    return job, gate


@scenario("launch")
def top_until_the_end(run):
    job, gate = start_job(run)
    top = run.start(SITU, "top", "--json", job.pid)
    time.sleep(2.5)  # it shows the job each second
    has_gone_on = top.poll() is None
    gate.unlink()
    run.wait(job)
    told = run.wait(top)
    judge(told, lambda out: has_gone_on and out.count('"launcher"') >= 2)


@scenario("launch")
def top_beside_a_job(run):
    job, gate = start_job(run)
    answers = []

    def is_job(out):
        places = json.loads(out)["places"]
        return [each["state"] for each in places] == ["joined"] * 2 and all(
            each["load"] is None or 0 <= each["load"] < 100 for each in places)

    try:
        judge(run.run(SITU, "top", "--once", "--json", job.pid), is_job)
    except Error as error:
        may_not = run.plan.read()[1] == errno.EACCES
        if re.search("has ended|no `situ run`", str(error)) and not may_not:
            raise Wrong(f"the job lives, and {error}")
        answers.append(error)
    gate.unlink()
    code, out, err = run.wait(job)
    if code != 0:
        raise Wrong(f"the job that was looked at: {out}{err}")
    if answers:
        raise answers[0]


@scenario("launch")
def any_program_by_intent(run):
    report = run.folder / "report"
    told = run.run(SITU, "run", "--intent", "capacity", "--report", report, "--timeout", "20", "--", STRANGER)
    if told[0] == 0 and report.exists() and json.loads(report.read_text())["processes"] > 2:
        raise Wrong(f"a process was counted twice: {report.read_text()}")
    report.unlink(missing_ok=True)
    judge(told, lambda out: out == "sum 549755289600\n")


@scenario("launch")
def order_set(run):
    file = run.folder / "orderings.toml"
    entry = '[[ordering]]\nintent = "latency"\nmemories = "0"\n'
    file.write_text(entry)
    told = run.run(SITU, "order", "set", "bandwidth", "0", "--file", file)
    text = file.read_text()
    file.unlink()
    if entry not in text or (told[0] != 0 and text != entry):
        raise Wrong(f"the file of orderings has lost what it had: {text}")
    judge(told, lambda out: '"bandwidth"' in text)


def serve(run, memory, **how):
    keys = run.folder / "keys"
    keys.write_text(run.key)
    keys.chmod(0o600)
    endpoint = f"unix:{run.folder}/socket"
    server = run.start(SITU, "rmem", "serve", "--listen", endpoint, "--keys", keys, "--memory", memory, **how)
    until = time.monotonic() + LONG
    while not (run.folder / "socket").exists() and server.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    time.sleep(0.01)
    return server, endpoint, keys


# Where the kernel tells no other process of touches (userfaultfd), nothing of this can run.
@scenario("rmem")
def remote_program(run):
    server, endpoint, keys = serve(run, "64MiB", faulty=False)
    report = run.folder / "report"
    try:
        told = run.run(SITU, "rmem", "run", "--server", endpoint, "--keys", keys, "--local", "1MiB", "--remote", "32MiB",
                       "--report", report, STRANGER)
    finally:
        server.send_signal(signal.SIGTERM)
        code, out, err = run.wait(server)
    report.unlink(missing_ok=True)
    keys.unlink()
    if code != 0:
        raise Wrong(f"the server of the program: {out}{err}")
    judge(told, lambda out: out == "sum 549755289600\n")


@scenario("rmem")
def remote_memory(run):
    server, endpoint, keys = serve(run, "4MiB")
    answers = []
    try:
        if server.poll() is None:
            try:
                judge(run.run(SUBJECT, "client", endpoint, keys), lambda out: out == "right\n")
            except Error as error:
                answers.append(error)
            if server.poll() is None:  # whatever has failed, the next one is served
                has_failed = run.plan.read()[1] != 0
                try:
                    judge(run.run(SUBJECT, "client", endpoint, keys, faulty=False), lambda out: out == "right\n")
                except Error as error:
                    if server.poll() is None and has_failed:
                        raise Wrong(f"the server lives, and serves nobody: {error}")
                    answers.append(error)
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        told = run.wait(server)
    keys.unlink()
    _, _, what, detail, _ = run.plan.read()
    if what == "stat" and detail == f"{run.folder}/socket":  # what could not be looked at is not deleted
        pathlib.Path(detail).unlink(missing_ok=True)
    judge(told, lambda out: True)
    if answers:
        raise answers[0]


@scenario("hosts")
def run_hosts(run):
    shell = run.folder / "shell"
    shell.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    shell.chmod(0o755)
    told = run.run(SITU, "run", "--hosts", "near:1,far:1", "--rsh", shell, SUBJECT, "place")
    shell.unlink()
    judge(told, is_sum())


# --- runs --------------------------------------------------------------------------------------------------------------


def become_subreaper():
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def end_children(seconds):
    """What is left of a run is a child of this process by now: its command line, after some patience."""
    until = time.monotonic() + seconds
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return []
        if time.monotonic() > until:
            break
        time.sleep(0.005)
    left = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == os.getpid():
                    left.append(pathlib.Path(f"/proc/{entry}/cmdline").read_text().replace("\0", " "))
                    os.kill(int(entry), signal.SIGKILL)
            except OSError:
                pass
    time.sleep(0.05)
    return left + ([] if left and end_children(1) == [] else [])


def one_run(task):
    """(name, call, reason, kind of the calls that are counted, what runs need) -> what came of it."""
    name, number, reason, kind, given = task
    folder = tempfile.mkdtemp(prefix="situ-faults-")
    try:
        # Servers of hosts look at their places and messages each millisecond.
        passed_over = 1 << CALLS.index("wait") if name == "run_hosts" else 0
        kind = KINDS.get(name, "none") if kind == "none" else kind
        plan = Plan(folder, number, reason, CALLS.index(kind), passed_over)
        run = Run(folder, plan)
        run.__dict__.update(given)
        how, text = "right", ""
        try:
            SCENARIOS[name][1](run)
        except Error as error:
            how, text = "error", str(error)
        except Wrong as wrong:
            how, text = "wrong", str(wrong)
        run.close()
        calls, failed, what, detail, _ = plan.read()
        plan.path.unlink()
        if left := end_children(10):
            how, text = "wrong", f"processes are left: {left}; {text}"
        if how != "wrong" and (files := [str(f) for f in run.folder.rglob("*") if not f.is_dir()]):
            how, text = "wrong", f"files are left: {files}; {text}"
        return {"name": name, "number": number, "reason": reason, "how": how, "text": text, "calls": calls, "failed": failed,
                "what": what, "detail": detail}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def given():
    """What runs need, and no run makes."""
    key = subprocess.run([SITU, "rmem", "key", "tests"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="situ-faults-") as folder:
        run = Run(folder, None)
        _, out, err = run.run(SITU, "run", "-n", "2", "--bind", "core", SUBJECT, "place", faulty=False)
        bound = re.findall(r"on (\d+)", out)
    if len(bound) != 2:
        sys.exit(f"faults_test.py: places do not run here: {out}{err}")
    return {"key": key, "bound": int(bound[0])}


def describe(result):
    why = errno.errorcode.get(result["failed"], str(result["failed"]))
    return f"{result['name']}, call {result['number']} ({result['what']} {result['detail']}) by {why}: {result['text']}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=sys.maxsize)
    parser.add_argument("--only", default="")
    parser.add_argument("--at", type=int)
    parser.add_argument("--reason", type=int, default=0)
    parser.add_argument("--kind", choices=CALLS, default="none", help="the calls that --at counts; none: all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if not all(os.path.exists(each) for each in (LIBRARY, SUBJECT, STRANGER, SITU)):
        sys.exit("faults_test.py: SITU_FAULTS_LIBRARY, _SUBJECT, _STRANGER and _SITU name what is tested")
    common = given()
    only = set(filter(None, options.only.split(",")))
    names = [name for name, (module, _) in SCENARIOS.items() if not only or {module, name} & only]
    if options.runs != sys.maxsize:
        names = [name for name in names if name not in SLOW]
    if not os.path.exists(os.path.join(os.environ.get("SITU_LIBEXEC", ""), "libsitu_network.so")):
        names = [name for name in names if SCENARIOS[name][0] != "hosts"]
    begun = time.monotonic()
    with multiprocessing.Pool(options.jobs, become_subreaper) as workers:
        if options.at:
            result = workers.apply(one_run, ((names[0], options.at, options.reason, options.kind, common),))
            print(result["how"], describe(result))
            return 0
        plain = workers.map(one_run, [(name, 0, 0, "none", common) for name in names], chunksize=1)
        for result in plain:
            if result["how"] != "right" or result["calls"] == 0:
                sys.exit(f"faults_test.py: without a failure: {result}")
            print(f"{result['name']}: {result['calls']} calls", flush=True)
        tasks = []
        for each in plain:
            numbers = range(1, each["calls"] + 1, -(-each["calls"] // MOST_TRIED))
            all_runs = [(each["name"], number, reason, "none", common) for number in numbers for reason in range(MOST_REASONS)]
            step = max(1, len(all_runs) // options.runs)
            tasks += all_runs[step // 2::step]
        rows = collections.defaultdict(collections.Counter)
        kinds = collections.defaultdict(set)
        bad = []
        for result in workers.imap_unordered(one_run, tasks, chunksize=1):
            module = SCENARIOS[result["name"]][0]
            if result["failed"] <= 0 and result["how"] == "right":  # it was not reached, or has no such reason
                continue
            rows[module]["runs"] += 1
            rows[module][result["how"]] += 1
            kinds[module].add((result["name"], result["number"]))
            if result["how"] == "wrong":
                bad.append(result)
            if options.verbose or result["how"] == "wrong":
                print(f"{result['how']}: {describe(result)}", flush=True)
    print(f"{'module':<8}{'calls failed':>14}{'runs':>8}{'right':>8}{'errors':>8}{'wrong':>8}")
    for module in dict.fromkeys(module for module, _ in SCENARIOS.values()):
        row = rows[module]
        print(f"{module:<8}{len(kinds[module]):>14}{row['runs']:>8}{row['right']:>8}{row['error']:>8}{row['wrong']:>8}")
    print(f"in {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
