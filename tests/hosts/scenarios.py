#!/usr/bin/env python3
"""What hosts_test.py runs at host1 of two or three pretended hosts: scenarios.py NAME. Fails with what was seen instead."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from stalls import Stalls

PORT = 7000
QUIET = 0.5  # seconds in which nothing comes where nothing can
LONG = 40  # seconds in which what can come has come, on a busy machine, too


def hosts(*words, **options):
    return subprocess.run(["hosts", *words], stdin=subprocess.DEVNULL, text=True, timeout=LONG, **options)


def start_at(host, *argv):
    return subprocess.Popen(["hosts", "run", host, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def at(host, *argv):
    done = hosts("run", host, *argv, capture_output=True)
    assert done.returncode == 0, done
    return done.stdout.strip()


def control(*words):
    assert hosts(*words).returncode == 0, words


def python_at(host, code, *words):
    """Its exit status there."""
    return hosts("run", host, sys.executable, "-c", code, *words, stderr=subprocess.DEVNULL).returncode


def echo():
    """A server that sends back what it gets, says so, and counts."""
    listener = socket.create_server(("", PORT))
    print("ready", flush=True)
    connection, _ = listener.accept()
    while data := connection.recv(64):
        connection.sendall(data)


class Echo:
    """The server at host2, and a connection to it."""

    def __init__(self, host="host2"):
        self.server = start_at(host, sys.executable, __file__, "echo")
        assert self.server.stdout.readline() == "ready\n"
        self.connection = socket.create_connection((host, PORT), timeout=LONG)
        self.works(b"first")

    def send(self, data):
        self.connection.sendall(data)

    def comes(self, data):
        self.connection.settimeout(LONG)
        got = self.connection.recv(64)
        assert got == data, got

    def works(self, data):
        self.send(data)
        self.comes(data)

    def is_quiet(self):
        """Neither data nor an end comes."""
        self.connection.settimeout(QUIET)
        try:
            got = self.connection.recv(64)
        except TimeoutError:
            return
        raise AssertionError(f"something came: {got}")


def names():
    for host in ("host1", "host2", "host3"):
        assert at(host, "hostname") == host
        for number in (1, 2, 3):
            found = at(host, sys.executable, "-c", f"import socket; print(socket.gethostbyname('host{number}'))")
            assert found == f"10.77.0.{number}", found
    for host in ("host2", "host3"):
        Echo(host).works(b"there and back")


def arguments():
    odd = ["two words", "", "a'b\"c$(d)\n*", "--on"]
    seen = at("host2", sys.executable, "-c", "import sys; print(sys.argv[1:])", *odd)
    assert seen == str(odd), seen
    assert at("host2", "pwd") == os.getcwd()
    # As ssh does: one line for a shell, at home.
    said = subprocess.run(["ssh", "-x", "-o", "A=b", "someone@host2", "hostname;", "pwd"], capture_output=True, text=True, timeout=LONG)
    assert said.stdout.split("\n")[:2] == ["host2", os.path.expanduser("~")], said


def alone():
    """What a host has of its own, others have not. Each is found at the host itself, first, by the same code."""
    name = os.environ["SITU_HOSTS_TEST"]
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{name}")
    abstract.listen()
    port = socket.create_server(("127.0.0.1", PORT))
    for folder in ("/tmp", "/run", "/dev/shm"):
        with open(f"{folder}/{name}", "w"):
            pass
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", f"{name}-sleeps"])
    segment = re.search(r"\d+", subprocess.run(["ipcmk", "-M", "4096"], capture_output=True, text=True, check=True).stdout).group()
    found = {
        "abstract socket": "import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])",
        "port": f"import socket; socket.create_connection(('127.0.0.1', {PORT}))",
        "System V memory": f"import subprocess; assert b' {segment} ' in subprocess.check_output(['ipcs', '-m'])",
        "process": "import glob, sys\nassert any(open(f).read().endswith(sys.argv[1] + '-sleeps\\0') for f in glob.glob('/proc/[0-9]*/cmdline'))",
    }
    for folder in ("/tmp", "/run", "/dev/shm"):
        found[folder] = f"import os, sys; os.stat('{folder}/' + sys.argv[1])"
    for what, code in found.items():
        assert python_at("host1", code, name) == 0, f"{what} is not found where it is"
        assert python_at("host2", code, name) == 1, f"{what} is seen from another host"
    sleeper.kill()
    port.close()
    # No way out: neither a route nor a name of the machine around.
    for host in ("host1", "host2"):
        code = "import errno, socket\ntry: socket.create_connection(('192.0.2.1', 80), 5)\nexcept OSError as e: assert e.errno == errno.ENETUNREACH, e\nelse: assert 0"
        assert python_at(host, code) == 0, "there is a route out"
    assert sorted(os.listdir("/sys/class/net")) == ["eth0", "lo"], os.listdir("/sys/class/net")


def link():
    echo = Echo()
    control("link", "down", "host2")
    echo.send(b"late")
    echo.is_quiet()
    assert at("host2", "hostname") == "host2"  # the door does not go through the network
    control("link", "up", "host2")
    echo.comes(b"late")


def freeze():
    echo = Echo()
    control("freeze", "host2")
    echo.send(b"late")  # its kernel takes it
    echo.is_quiet()
    refused = hosts("run", "host2", "true", capture_output=True)
    assert refused.returncode == 125 and "frozen" in refused.stderr, refused
    control("thaw", "host2")
    echo.comes(b"late")
    assert at("host2", "hostname") == "host2"


def kill():
    echo = Echo()
    control("kill", "host2")
    assert echo.server.wait(LONG) == 128 + signal.SIGKILL
    echo.is_quiet()  # not even an end
    refused = hosts("run", "host2", "true", capture_output=True)
    assert refused.returncode == 125 and "killed" in refused.stderr, refused
    assert at("host3", "hostname") == "host3"


def errors():
    for words, status, said in (
        (["run", "host9", "true"], 125, "there are host1 to host3"),
        (["run", "host2", "no-such-program"], 127, "host2 has no program no-such-program"),
        (["run", "host2", "/etc/hosts"], 126, "Permission denied"),
        (["run", "host2", "sh", "-c", "exit 9"], 9, ""),
        (["run", "host2", "sh", "-c", "kill -USR1 $$"], 128 + signal.SIGUSR1, ""),
        (["freeze"], 125, "needs one host"),
        (["link", "sideways", "host2"], 125, "`up` or `down`"),
    ):
        done = hosts(*words, capture_output=True)
        assert done.returncode == status and said in done.stderr, done


def askers():
    """A signal for who asks is one for the command; with who asks, the command ends."""
    trap = start_at("host2", "sh", "-c", "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
    assert trap.stdout.readline() == "ready\n"
    trap.terminate()
    assert trap.stdout.readline() == "told\n"
    assert trap.wait(LONG) == 3
    left = start_at("host2", "sh", "-c", "echo ready; exec sleep 1000.25")
    assert left.stdout.readline() == "ready\n"
    left.kill()
    ends = time.monotonic() + LONG
    while "1000.25" in at("host2", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"):
        assert time.monotonic() < ends, "the command goes on without who asked"
        time.sleep(0.01)


class RmemPeer:
    """rmem_peer at host1, which has memory at these servers, its patience in milliseconds."""

    def __init__(self, names, keys, timeout, *servers):
        self.process = subprocess.Popen([os.environ["SITU_HOSTS_RMEM_PEER"], names, keys, str(timeout), *servers],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in servers:
            assert self.hears() == "ok"

    def hears(self):
        line = self.process.stdout.readline().strip()
        assert line, f"it ended: {self.process.poll()}"
        return line

    def asks(self, what, server):
        self.process.stdin.write(f"{what} {server}\n")
        self.process.stdin.flush()
        return self.hears()

    def touches(self, server):
        said, milliseconds = self.asks("touch", server).split(", ")
        return said, int(milliseconds)

    def loses(self, server):
        """An error, no hang: the timeout is 500 ms, for what is under way and once more for a new connection."""
        said, milliseconds = self.touches(server)
        assert said == "link lost", said
        assert milliseconds < 10_000, milliseconds

    def has_again(self, server):
        ends = time.monotonic() + LONG
        while (seen := self.touches(server)[0]) != "ok":
            assert seen == "link lost" and time.monotonic() < ends, seen


def rmem_keys():
    """A file with the keys of `packages` and of the operator `cluster`, for a name server at host1: (file, where it is)."""
    keys = os.environ["SITU_HOSTS_FOLDER"] + "/keys"
    for words in (["packages"], ["--operator", "cluster"]):
        key = subprocess.run([os.environ["SITU_HOSTS_SITU"], "rmem", "key", *words], capture_output=True, text=True, check=True).stdout
        with open(keys, "a", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(key)
    return keys, "10.77.0.1:7411"


def rmem_replicas():
    """Memory at two hosts of three, and a spare server at the first: touches are served within a second where the host is
    stopped, cut off and killed that serves them, and everything is there."""
    situ = os.environ["SITU_HOSTS_SITU"]
    keys, names = rmem_keys()
    servers = [subprocess.Popen([situ, "rmem", "serve", "--keys", keys, "--listen", names], stdout=subprocess.DEVNULL)]
    replica = ["rmem", "serve", "--keys", keys, "--memory", "16MiB", "--names", names, "--listen"]
    for number in (2, 3):
        start_at(f"host{number}", situ, *replica, f"10.77.0.{number}:7411", "--index", "2", "--replicas", "2")

    def chain(members):
        ends = time.monotonic() + LONG
        while True:
            done = subprocess.run([situ, "rmem", "ls", "--json", "--keys", keys, "--as", "cluster", names], capture_output=True, text=True)
            seen = json.loads(done.stdout)["replicas"] if done.returncode == 0 else []
            if seen and len(seen[0]["endpoints"]) == members:
                return [each.split(":")[0].replace("10.77.0.", "host") for each in seen[0]["endpoints"]]
            assert time.monotonic() < ends, (seen, done.stderr)
            time.sleep(0.05)

    chain(2)
    peer = RmemPeer(names, keys, 10_000, "2")
    took = []
    stalls = Stalls()

    def carries_on():
        stalls.begin()
        said, milliseconds = peer.touches(2)
        assert said == "ok", said
        assert milliseconds < 1_000 + 1_000 * stalls.most, (milliseconds, stalls.most)
        took.append(milliseconds)

    for do, undo in ((("freeze",), ("thaw",)), (("link", "down"), ("link", "up"))):
        first = chain(2)[0]
        control(*do, first)
        carries_on()
        control(*undo, first)
        assert chain(2)[0] != first
    servers.append(subprocess.Popen([situ, *replica, "10.77.0.1:7412", "--spare"], stdout=subprocess.DEVNULL))
    control("kill", chain(2)[0])
    carries_on()
    chain(2)  # the spare one has everything
    assert (said := peer.asks("check", 2)) == "ok", said
    print("touches were served after", *took, "ms")
    peer.process.kill()
    for server in servers:
        server.terminate()
        assert server.wait(LONG) == 0


def rmem():
    """Servers at three hosts, of which one has the names; clients use their memory as their own, by ordinary pointers."""
    situ = os.environ["SITU_HOSTS_SITU"]
    keys, names = rmem_keys()
    servers = [subprocess.Popen([situ, "rmem", "serve", "--keys", keys, "--listen", names], stdout=subprocess.DEVNULL)]
    for number in (2, 3):
        servers.append(start_at(f"host{number}", situ, "rmem", "serve", "--keys", keys, "--listen", f"10.77.0.{number}:7411",
                                "--memory", "16MiB", "--index", str(number), "--names", names))

    def linked():
        done = subprocess.run([situ, "rmem", "ls", "--json", "--keys", keys, "--as", "cluster", names], capture_output=True, text=True)
        return sorted(each["name"] for each in json.loads(done.stdout)["names"]) if done.returncode == 0 else []

    def wait_for_names(*wanted):
        ends = time.monotonic() + LONG
        while (seen := linked()) != list(wanted):
            assert time.monotonic() < ends, seen
            time.sleep(0.05)

    wait_for_names("rmem.2", "rmem.3")
    peer = RmemPeer(names, keys, 500, "2", "3")
    seen = at("host3", situ, "rmem", "ls", "--keys", keys, "--as", "cluster", names)  # from any host
    assert seen.count(" 1 MiB, of packages") == 2, seen
    # A cut link, a frozen host: errors for what lies there, nothing for the rest, and all as it was when it is over.
    for cut, mend in ((("link", "down"), ("link", "up")), (("freeze",), ("thaw",))):
        control(*cut, "host2")
        peer.loses(2)
        assert peer.touches(3)[0] == "ok"
        control(*mend, "host2")
        peer.has_again(2)
    wait_for_names("rmem.2", "rmem.3")
    for server in (2, 3):
        assert (said := peer.asks("check", server)) == "ok", said
    control("kill", "host3")
    peer.loses(3)
    assert (said := peer.asks("check", 2)) == "ok", said
    peer.process.kill()
    for server in (servers[0], servers[1]):
        server.terminate()
        assert server.wait(LONG) == 0


if __name__ == "__main__":
    globals()[sys.argv[1]]()
