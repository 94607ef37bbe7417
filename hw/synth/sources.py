"""The SystemVerilog of hw/, and yosys on it."""
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
# The same order as in hw/CMakeLists.txt.
FILES = ["fifo", "token_buffer", "transmit", "receive", "memory_bus", "gascore", "pams_counter", "pams_calls", "pams",
         "message_node"]


def yosys(commands, top, more=()):
    """Runs yosys commands on all files, and on more of them; a failure shows what yosys said."""
    files = [str(FOLDER / f"{name}.sv") for name in FILES] + [str(path) for path in more]
    script = f"read_verilog -sv {' '.join(files)}; hierarchy -check -top {top}; proc; {commands}"
    run = subprocess.run(["yosys", "-q", "-p", script], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"yosys failed on {top}:\n{run.stdout}{run.stderr}")
