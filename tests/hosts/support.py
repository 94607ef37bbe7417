"""What the tests of pretended hosts share: commands at hosts, what may be left behind, tables and traces."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = [str(ROOT / "tools/hosts")]
LOSSES = pathlib.Path(__file__).resolve().parent / "losses.py"
SCENARIOS = [sys.executable, "-B", str(pathlib.Path(__file__).resolve().parent / "scenarios.py")]
NOBODY = 65534
SKIPPED = 77
LONG = 100
# Processes of a test are known by what they have in their environment.
ID = str(uuid.uuid4())
ENVIRONMENT = {**os.environ, "SITU_HOSTS_TEST": ID, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ENVIRONMENT["PYTHONDONTWRITEBYTECODE"] = "1"


def become_nobody():
    if os.geteuid() != 0:
        skip("only root can become somebody else; the other tests ran as an ordinary user")
    python = "/usr/bin/python3"  # one that all may run
    ENVIRONMENT.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if subprocess.run([*become, python, HOSTS[0], "--help"], capture_output=True, env=ENVIRONMENT).returncode:
        skip(f"user {NOBODY} cannot run {python} and {HOSTS[0]}")
    HOSTS[:] = [*become, python, *HOSTS]
    SCENARIOS[0] = python


def skip(why):
    print(f"hosts_test.py: skipped: {why}", file=sys.stderr)
    sys.exit(SKIPPED)


# Hosts share the folder that they are begun in: so they see these files where they lie in /tmp, too.
def begin(*words, **options):
    return subprocess.Popen([*HOSTS, *words], env=ENVIRONMENT, cwd=ROOT, text=True, **options)


def hosts(*words, **options):
    """Runs it to its end."""
    options = {"input": "", "cwd": ROOT, **options}
    return subprocess.run([*HOSTS, *words], env=ENVIRONMENT, text=True, timeout=LONG, capture_output=True, **options)


def marked_processes():
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and int(entry) != os.getpid():
            try:
                if f"SITU_HOSTS_TEST={ID}" in pathlib.Path(f"/proc/{entry}/environ").read_text(errors="replace"):
                    found.append(f"{entry} " + pathlib.Path(f"/proc/{entry}/cmdline").read_text().replace("\0", " "))
            except OSError:
                pass
    return found


def machine():
    """What hosts could leave behind of this machine. Other tests make files meanwhile."""
    seen = {"mounts": pathlib.Path("/proc/self/mounts").read_text(), "devices": sorted(os.listdir("/sys/class/net"))}
    for folder in (ROOT / "tools", ROOT / "tests/hosts"):
        seen[str(folder)] = sorted(os.listdir(folder))
    for folder in ("/tmp", "/run", "/dev/shm"):
        seen[folder] = sorted(name for name in os.listdir(folder) if any(word in name for word in (ID, "ompi.host", "slurm", "munge")))
    return seen


class HostsTest(unittest.TestCase):
    def setUp(self):
        self.before = machine()

    def tearDown(self):
        ends = time.monotonic() + LONG  # who was killed with its parent goes on for a moment
        while (left := marked_processes()) and time.monotonic() < ends:
            time.sleep(0.01)
        self.assertEqual(left, [])
        self.assertEqual(machine(), self.before)

    def scenario(self, name, *words):
        done = hosts(*words, "3", *SCENARIOS, name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Observed(HostsTest):
    """What is looked for in tables and traces of places 0 and 1 at host1, 2 and 3 at host2."""

    # hosts_probe `bytes`: each place puts 3 MiB to each, and gets as much.
    def assert_table(self, text):
        for source in range(4):
            for target in range(4):
                self.assertRegex(text, rf"(?m)^ +{source} +{target} +1 +3.0 MiB +1 +3.0 MiB ")
        self.assertEqual(text.count("    from    to".lstrip()), 1, text)  # one table

    def read_trace(self, text):
        return json.loads(text[text.index('{"displayTimeUnit"'):])["traceEvents"]

    # hosts_probe `messages`: 20 messages of each place to each of the other host, and their answers. Both ends of each
    # say how long it was, and no two of those that come to a place are of one length.
    def assert_pairs(self, events):
        spans = {}
        for event in events:
            if event["ph"] == "X" and event["name"] in ("message", "reply", "handler", "handler of a reply"):
                spans[event["pid"], event["tid"], event["ts"], "handler" in event["name"]] = event
        flows = {}
        for event in events:
            if event["ph"] in "sf":
                flows.setdefault(event["id"], {})[event["ph"]] = event
        far = 0
        for flow in flows.values():
            self.assertEqual(set(flow), {"s", "f"})
            sender, receiver = flow["s"], flow["f"]
            if sender["pid"] // 2 == receiver["pid"] // 2:
                continue
            sent = spans[sender["pid"], sender["tid"], sender["ts"], False]
            handled = spans.get((receiver["pid"], receiver["tid"], receiver["ts"], True))
            self.assertEqual(sent["args"]["peer"], receiver["pid"])
            if handled is None:  # a call
                continue
            self.assertEqual((handled["args"]["peer"], handled["args"]["bytes"]), (sender["pid"], sent["args"]["bytes"]))
            self.assertGreater(receiver["ts"] + 1000, sender["ts"])  # us: what round trips leave open
            far += sent["args"]["bytes"] >= 100
        self.assertGreaterEqual(far, 2 * 8 * 20)
