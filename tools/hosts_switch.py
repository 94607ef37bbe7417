"""What stands above the pretended hosts of tools/hosts: their namespaces, the network between them, and the door.

    tools/hosts           in the caller's processes and files; the rest ends with it (pdeathsig)
      switch              first process of a pid namespace above all hosts; has the bridge; serves the door
        host1 ... hostN   first process of a pid namespace each: takes in orphans, and nothing else
        runner            one for each command: enters the host's namespaces, starts the command there, tells its end

1. A pid namespace ends with its first process, and namespaces end with their last one: killing the switch ends all. No
   file is made outside: what the hosts share lies in a tmpfs of the switch, which each host has at /run/hosts.
2. A process can enter namespaces below its own, not beside it. So whoever wants something of another host asks at the
   door, a Unix socket in /run/hosts, and sends its standard streams along. A message each way: the request (JSON), then
   signals for the command; {"status"} or {"failure", "status"} back. An asker that goes takes its command with it.
3. Everything is single-threaded: namespaces are entered by threads, and forks of threads are half processes.
"""

import ctypes
import errno
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys

from hosts_door import DOOR, FORWARDED, Failure

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
ALL_NEW = NEW_MOUNTS | NEW_UTS | NEW_IPC | NEW_PIDS | NEW_NET
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 1, 47, 2
CAP_NET_ADMIN, CAP_SYS_ADMIN = 12, 21
CAPABILITY_VERSION_3 = 0x20080522

TOOLS = os.path.dirname(os.path.abspath(__file__))
SHARED = "/run/hosts"
PRIVATE = {"/run": "755", "/tmp": "1777", "/dev/shm": "1777"}  # what each host has of its own, and its mode
SKIPPED = 77

libc = ctypes.CDLL(None, use_errno=True)


def kernel(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def mount(source, target, kind=None, flags=0, options=None):
    words = [word.encode() if word else None for word in (source, target, kind, options)]
    try:
        kernel("mount", words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({kind or source} at {target})") from error


def may(capability):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1], 16) >> capability & 1 for line in status if line.startswith("CapEff"))


def pass_capability(capability):
    """So that a program which is started has it, whoever the user is."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: the low half, then the high one
    kernel("capget", header, sets)
    sets[2] |= 1 << capability
    kernel("capset", header, sets)
    kernel("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, ctypes.c_ulong(capability), ctypes.c_ulong(0), ctypes.c_ulong(0))


def run_ip(*commands):
    program = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not program:
        raise Failure("there is no program `ip`: install the package iproute2", SKIPPED)
    done = subprocess.run([program, "-batch", "-"], input="\n".join(commands), capture_output=True, text=True,
                          preexec_fn=lambda: pass_capability(CAP_NET_ADMIN))
    if done.returncode:
        unsupported = "not supported" in done.stderr or "Unknown device type" in done.stderr
        raise Failure(f"ip: {' '.join(done.stderr.split())}", SKIPPED if unsupported else 125)


def explain(error):
    """The Failure for an OSError while hosts are made."""
    if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSPC):  # ENOSPC: a limit of namespaces
        return Failure(f"this machine does not let user {os.geteuid()} make hosts: {error.strerror}. Root may, unless in a container without "
                       "CAP_SYS_ADMIN; users may where the limits in /proc/sys/user are not 0 and no policy is against it "
                       "(sysctl kernel.apparmor_restrict_unprivileged_userns, kernel.unprivileged_userns_clone)", SKIPPED)
    return Failure(f"the hosts could not be made: {error}")


def is_private(folder):
    return any(folder.startswith(f"{top}/") for top in PRIVATE)


def silence():
    """The caller's streams belong to the command alone; signals from the terminal are for it, too."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    for number in [*FORWARDED, signal.SIGTSTP]:
        signal.signal(number, signal.SIG_IGN)


def restore_signals():
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)


def tell(connection, answer):
    try:
        connection.send(json.dumps(answer).encode())
    except OSError:
        pass  # whoever asked is gone


class Host:
    """A host as the switch sees it; `pid` is of the switch's namespace, and `handle` a descriptor that is never another's."""

    def __init__(self, number):
        self.number, self.name, self.address = number, f"host{number}", f"10.77.0.{number}"
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        middle = os.fork()
        if middle == 0:
            report(theirs, lambda: self.unshare(theirs))
        theirs.close()
        self.pid = self.hear()["pid"]
        self.handle = os.pidfd_open(self.pid)
        os.waitpid(middle, 0)

    def hear(self):
        answer = json.loads(self.connection.recv(1 << 16) or b'{"failure": "a host ended while it was made", "status": 125}')
        if "failure" in answer:
            raise Failure(f"{self.name}: {answer['failure']}", answer["status"])
        return answer

    def unshare(self, connection):
        kernel("unshare", ALL_NEW)
        pid = os.fork()
        if pid:
            tell(connection, {"pid": pid})
            return
        report(connection, lambda: self.live(connection))

    def live(self, connection):
        self.connection.close()
        socket.sethostname(self.name)
        self.mount_own()
        connection.recv(1)  # the link is there
        run_ip("link set lo up", f"address add {self.address}/16 dev eth0", "link set eth0 up")
        tell(connection, {})
        connection.close()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans end without a trace
        while True:
            signal.pause()

    def mount_own(self):
        mount("proc", "/proc", "proc")
        new = f"/run/new-{self.name}"
        os.mkdir(new)
        mount("run", new, "tmpfs", 0, f"mode={PRIVATE['/run']}")
        os.mkdir(f"{new}/hosts")
        mount(SHARED, f"{new}/hosts", None, MS_MOVE)
        mount(new, "/run", None, MS_MOVE)
        for top in PRIVATE:
            if top != "/run":
                mount(top[1:], top, "tmpfs", 0, f"mode={PRIVATE[top]}")
        for entry in sorted(os.listdir(f"{SHARED}/folders")):
            folder = os.readlink(f"{SHARED}/folders/{entry}/name")
            os.makedirs(folder, exist_ok=True)
            mount(f"{SHARED}/folders/{entry}/it", folder, None, MS_BIND | MS_REC)
        # Its own network's devices are in /sys, whose cgroups are the machine's.
        os.mkdir("/run/sys")
        mount("sys", "/run/sys", "sysfs")
        if os.path.isdir("/sys/fs/cgroup"):
            mount("/sys/fs/cgroup", "/run/sys/fs/cgroup", None, MS_BIND | MS_REC)
        mount("/run/sys", "/sys", None, MS_MOVE)
        os.rmdir("/run/sys")

    def is_dead(self):
        return bool(select.select([self.handle], [], [], 0)[0])

    def is_frozen(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"

    def enter(self):
        kernel("setns", self.handle, ALL_NEW)

    def signal_all(self, number):
        """Its first process, then in one go all others: kill(-1) reaches neither the first process nor who sends."""
        signal.pidfd_send_signal(self.handle, number)
        self.enter()
        sender = os.fork()
        if sender == 0:
            try:
                os.kill(-1, number)
            except ProcessLookupError:
                pass  # there is no other
            os._exit(0)
        os.waitpid(sender, 0)

    def link(self, state):
        run_ip(f"link set {self.name} {state}")

    def kill(self):
        self.link("down")  # first: not a FIN comes out
        signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        select.select([self.handle], [], [])


def report(connection, work):
    """Does the work in this process, which ends with it; tells what went wrong."""
    try:
        work()
        os._exit(0)
    except Failure as failure:
        tell(connection, {"failure": str(failure), "status": failure.status})
    except OSError as error:
        tell(connection, {"failure": str(explain(error)), "status": explain(error).status})
    except Exception as error:  # its streams are closed: nobody would see it
        tell(connection, {"failure": f"a fault of tools/hosts: {error!r}", "status": 125})
    finally:
        os._exit(1)


def spawn(argv, streams, folder, new_session=True, what=""):
    """Starts a program in the namespaces that this process is in; its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 126
    try:
        restore_signals()
        if new_session:
            os.setsid()
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
        os.chdir(folder)
        os.execvp(argv[0], argv)
    except FileNotFoundError:
        status = 127 if os.path.isdir(folder) else 126
        missing = f"no program {argv[0]}" if status == 127 else f"no folder {folder} (/tmp, /run and /dev/shm are its own: --share)"
        os.write(2, f"hosts: {what} has {missing}\n".encode())
    except OSError as error:
        os.write(2, f"hosts: {what}: {argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(status)


class Switch:
    def __init__(self, count, slurm, own_processors):
        self.hosts = {}
        processors = sorted(os.sched_getaffinity(0))
        for number in range(1, count + 1):
            host = Host(number)
            host.processors = processors[number - 1 :: count] if own_processors else processors
            self.hosts[host.name] = host
        self.wire()
        if slurm:
            import hosts_slurm

            hosts_slurm.start(list(self.hosts.values()))

    def wire(self):
        commands = ["link set lo up", "link add switch type bridge", "link set switch up"]
        for host in self.hosts.values():
            commands += [f"link add {host.name} type veth peer name eth0 netns {host.pid}", f"link set {host.name} master switch up"]
        run_ip(*commands)
        for host in self.hosts.values():
            host.connection.send(b".")
        for host in self.hosts.values():
            host.hear()
            host.connection.close()

    def serve(self, listener, first):
        """Each request has a process of its own."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self.fork_runner(first)
        first.close()
        while True:
            connection, _ = listener.accept()
            self.fork_runner(connection)
            connection.close()

    def fork_runner(self, connection):
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            report(connection, lambda: self.answer(connection))

    def answer(self, connection):
        data, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not data:
            return
        request = json.loads(data)
        host = self.hosts.get(request["host"])
        if host is None:
            raise Failure(f"there is no host {request['host']}: there are host1 to host{len(self.hosts)}")
        if host.is_dead():
            raise Failure(f"{host.name} was killed, and stays dead")
        what = request["do"]
        if what == "run":
            self.run(host, request, streams, connection)
            return
        if what == "kill":
            host.kill()
        elif what in ("freeze", "thaw"):
            host.signal_all(signal.SIGSTOP if what == "freeze" else signal.SIGCONT)
        else:
            host.link(what.split()[1])
        tell(connection, {"status": 0})

    def run(self, host, request, streams, connection):
        if host.is_frozen():
            raise Failure(f"{host.name} is frozen, and runs nothing: hosts thaw {host.name}")
        host.enter()
        os.sched_setaffinity(0, host.processors)
        pid = spawn(request["argv"], streams, request["folder"], not request.get("foreground"), host.name)
        for stream in streams:
            os.close(stream)
        command = os.pidfd_open(pid)
        while command not in (ready := select.select([command, connection], [], [])[0]):
            message = connection.recv(1 << 16)
            signal.pidfd_send_signal(command, json.loads(message)["signal"] if message else signal.SIGKILL)
            if not message:
                break
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        tell(connection, {"status": status if status >= 0 else 128 - status})


def make_shared(count, folders):
    """What all hosts have at /run/hosts, and the files that they have in common. Their mounts begin as copies of these."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    kept = {}
    for folder in sorted({folder for folder in [*folders, TOOLS] if is_private(folder)}):
        kept[folder] = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    mount("proc", "/proc", "proc")
    mount("run", "/run", "tmpfs", 0, "mode=755")
    os.mkdir(SHARED)
    mount("hosts", SHARED, "tmpfs", 0, "mode=755")
    os.mkdir(f"{SHARED}/folders")
    for number, (folder, descriptor) in enumerate(kept.items()):
        os.makedirs(f"{SHARED}/folders/{number}/it")
        mount(f"/proc/self/fd/{descriptor}", f"{SHARED}/folders/{number}/it", None, MS_BIND | MS_REC)
        os.symlink(folder, f"{SHARED}/folders/{number}/name")
        os.close(descriptor)
    with open(f"{SHARED}/etc-hosts", "w") as file:
        file.write("127.0.0.1 localhost\n" + "".join(f"10.77.0.{number} host{number}\n" for number in range(1, count + 1)))
    mount(f"{SHARED}/etc-hosts", "/etc/hosts", None, MS_BIND)
    os.mkdir(f"{SHARED}/bin")
    for name, verb in (("hosts", ""), ("ssh", "ssh ")):
        with open(f"{SHARED}/bin/{name}", "w") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" -E -S "{TOOLS}/hosts" {verb}"$@"\n')
        os.chmod(f"{SHARED}/bin/{name}", 0o755)
    os.environ["PATH"] = f"{SHARED}/bin:{os.environ.get('PATH', os.defpath)}"
    os.environ.pop("TMPDIR", None)  # each host has its own /tmp


def live(connection, count, folders, slurm, own_processors):
    kernel("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    tell(connection, {})
    if not connection.recv(1):  # the caller was still there after prctl
        return
    silence()
    make_shared(count, folders)
    socket.sethostname("switch")
    switch = Switch(count, slurm, own_processors)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(DOOR)
    listener.listen(256)
    tell(connection, {})
    switch.serve(listener, connection)


def start(count, folders, slurm, own_processors):
    """Makes the switch and the hosts: the switch's pid, and a connection that says {} or {"failure"} once, then is a door."""
    if slurm:
        import hosts_slurm

        hosts_slurm.require()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    user, group = os.geteuid(), os.getegid()
    try:
        if may(CAP_SYS_ADMIN):
            kernel("unshare", ALL_NEW)
        else:  # the user stays who it is, and what it starts has no right that it does not have outside
            kernel("unshare", ALL_NEW | NEW_USER)
            for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
                with open(f"/proc/self/{file}", "w") as map_file:
                    map_file.write(text)
        pid = os.fork()
    except OSError as error:
        raise explain(error) from error
    if pid == 0:
        ours.close()
        report(theirs, lambda: live(theirs, count, folders, slurm, own_processors))
    theirs.close()
    if ours.recv(1 << 16):
        ours.send(b".")
    return pid, ours
