"""Asking at the door of tools/hosts, from a host or from outside: sends a request and the standard streams, passes signals on, and
returns the status. hosts_switch.py has the other side. Little is imported: `hosts` and `ssh` in the hosts cost what starts up here."""

import fcntl
import json
import os
import signal
import socket

DOOR = "/run/hosts/door"
FORWARDED = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]


class Failure(Exception):
    """What went wrong, and the exit status for it."""

    def __init__(self, text, status=125):
        super().__init__(text)
        self.status = status


def standard_streams():
    """0, 1 and 2; /dev/null for one that is closed."""
    streams = []
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            stream = os.open(os.devnull, os.O_RDWR)
        streams.append(stream)
    return streams


def receive(door, flags=0):
    """The answer to what was asked; with MSG_DONTWAIT, None if there is none yet."""
    try:
        answer = door.recv(1 << 16, flags)
    except BlockingIOError:
        return None
    except ConnectionError:
        answer = b""
    if not answer:
        raise Failure("the hosts are gone: the process above them was killed")
    answer = json.loads(answer)
    if "failure" in answer:
        raise Failure(answer["failure"], answer["status"])
    return answer


def ask(door, request):
    """Sends the request with the standard streams, passes signals on until it is done, and returns the status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [*FORWARDED, signal.SIGIO])
    fcntl.fcntl(door, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(door, fcntl.F_SETFL, os.O_ASYNC)  # so that an answer is a signal, too, and one wait is enough
    try:
        socket.send_fds(door, [json.dumps(request).encode()], standard_streams())
    except OSError as error:
        raise Failure(f"this command is too long to be passed on: {error.strerror}") from error
    while (answer := receive(door, socket.MSG_DONTWAIT)) is None:
        caught = signal.sigwaitinfo([*FORWARDED, signal.SIGIO])
        # What the terminal sends to its foreground, a command that belongs there has got already.
        if caught.si_signo != signal.SIGIO and not (request.get("foreground") and caught.si_code > 0):
            door.send(json.dumps({"signal": caught.si_signo}).encode())
    return answer["status"]


def knock(request):
    """Asks from within a host."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        door.connect(DOOR)
    except OSError as error:
        raise Failure(f"this is no pretended host ({DOOR}: {error.strerror}): tools/hosts 3 COMMAND runs COMMAND in one") from error
    return ask(door, request)
