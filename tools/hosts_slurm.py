"""Slurm in the pretended hosts of tools/hosts: munged and slurmd at each, slurmctld at host1. All that it writes lies in /run of the
hosts, and is gone with them."""

import os
import shutil
import time

from hosts_door import Failure
from hosts_switch import SHARED, SKIPPED, spawn

FOLDER = f"{SHARED}/slurm"
READY_SECONDS = 60  # 3 to 4 s on two cores, when nothing else runs
PROCESSORS = 8  # of each host, whatever this machine has: the jobs here wait more than they compute

# TmpFS must exist at each host. Without cgroups, processes are found by their parents; `config_overrides`: the processors are pretended.
CONFIGURATION = """\
ClusterName=situ
SlurmctldHost=host1
AuthType=auth/munge
AuthInfo=socket=/run/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=pmix
TmpFS=/run
ReturnToService=2
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
NodeName=host[1-{count}] CPUs={processors} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES:4 State=UP
"""


def require():
    """Before anything is made."""
    if os.geteuid() != 0:
        raise Failure("--slurm needs root: slurmd runs jobs as other users", SKIPPED)
    os.environ["PATH"] += ":/usr/sbin:/sbin"  # where daemons are
    missing = [program for program in ("munged", "slurmctld", "slurmd", "sinfo") if not shutil.which(program)]
    if missing:
        raise Failure(f"--slurm needs {', '.join(missing)}: .ci/install_packages --list packages-hosts.txt", SKIPPED)


def start_at(host, *argv, wait=False):
    """Starts it at the host, in the foreground of nobody; what it says is in a file, whose name is returned."""
    log_file = f"{FOLDER}/{argv[0]}.{host.name}.log"
    with open(log_file, "w") as log, open(os.devnull) as nothing:
        entered = os.fork()
        if entered == 0:
            try:
                host.enter()
                pid = spawn(argv, [nothing.fileno(), log.fileno(), log.fileno()], "/", what=host.name)
                if wait:
                    os.waitpid(pid, 0)
                os._exit(0)
            finally:
                os._exit(1)
        if os.waitpid(entered, 0)[1]:
            raise Failure(f"--slurm: {host.name} could not be entered")
    return log_file


def logs():
    """The last words of each daemon."""
    said = []
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".log"):
            with open(f"{FOLDER}/{name}", errors="replace") as log:
                said.append(f"\n  {name}: " + " | ".join(log.read().strip().split("\n")[-2:]))
    return "".join(said)


def await_ready(hosts):
    """sinfo asks slurmctld over the hosts' network, so it runs at host1."""
    ends = time.monotonic() + READY_SECONDS
    while time.monotonic() < ends:
        with open(start_at(hosts[0], "sinfo", "--noheader", "--format=%T %D", wait=True)) as said:
            if said.read().split() == ["idle", str(len(hosts))]:
                return
        time.sleep(0.1)
    raise Failure(f"--slurm: not all hosts were idle after {READY_SECONDS} s{logs()}")


def start(hosts):
    os.mkdir(FOLDER)
    os.environ["SLURM_CONF"] = f"{FOLDER}/slurm.conf"
    with open(f"{FOLDER}/slurm.conf", "w") as file:
        file.write(CONFIGURATION.format(count=len(hosts), processors=PROCESSORS))
    with open(f"{FOLDER}/munge.key", "wb") as file:
        os.fchmod(file.fileno(), 0o400)
        file.write(os.urandom(1024))
    for host in hosts:
        start_at(host, "munged", "--foreground", f"--key-file={FOLDER}/munge.key", "--socket=/run/munge.sock", "--pid-file=/run/munged.pid",
                 "--log-file=/run/munged.log", "--seed-file=/run/munge.seed")
    start_at(hosts[0], "slurmctld", "-D")
    for host in hosts:
        start_at(host, "slurmd", "-D", "-N", host.name)
    await_ready(hosts)
