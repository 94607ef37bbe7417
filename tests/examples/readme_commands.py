#!/usr/bin/env python3
"""readme_commands.py ROOT BIN SECTION | --self-test: what examples/README.md says that its commands print, they print.

SECTION is a heading of the page. Its ```console blocks hold commands, after `$ `, which may go on in lines after `> `, and the lines that each
prints, on standard output and standard error; `...` stands for any text within a line. The commands run in one shell, in a folder of their own
that has what ROOT has, with BIN first in PATH. A command that ends with 77 (tools/hosts, where it is not allowed) skips the test.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

SKIPPED = 77
LIMIT = 100
MARK = "----- readme_commands"


def commands_of(page, section):
    """[command, expected lines] of each command of a section."""
    found, is_here, is_console = [], False, False
    for line in page.split("\n"):
        if line.startswith("#") and not is_console:
            is_here = line.lstrip("# ") == section
        elif line.startswith("```"):
            is_console = is_here and line == "```console"
        elif is_console and line.startswith("$ "):
            found.append([line[2:], []])
        elif is_console and line.startswith("> ") and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        elif is_console:
            found[-1][1].append(line)
    return found


def run(commands, root, path):
    """(exit status, lines) of each command."""
    script = "".join(f"{command}\necho {MARK} $?\n" for command, _ in commands)
    with tempfile.TemporaryDirectory(prefix="situ-readme-") as folder:
        for name in os.listdir(root):
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
        environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        shell = subprocess.Popen(["sh", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            printed, _ = shell.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            printed = shell.communicate()[0] + f"(no end within {LIMIT} s)\n"
    parts = re.split(rf"^{MARK} (\d+)\n", printed, flags=re.MULTILINE)
    ended = [(int(status), text.splitlines()) for text, status in zip(parts[::2], parts[1::2])]
    return ended + [(-1, parts[-1].splitlines())] * (len(commands) - len(ended))


def is_as_said(said, lines):
    pattern = "\n".join(".*".join(re.escape(piece) for piece in line.split("...")) for line in said)
    return re.fullmatch(pattern, "\n".join(lines)) is not None


def check(page, section, root, path):
    """What is wrong with a section: its commands as text; none if they print what the page says. SKIPPED if one cannot run here."""
    commands = commands_of(page, section)
    if not commands:
        return [f"there are no commands in a section {section}"]
    wrong = []
    for (command, said), (status, lines) in zip(commands, run(commands, root, path)):
        if status == SKIPPED:
            print("\n".join(lines))
            return SKIPPED
        if status != 0 or not is_as_said(said, lines):
            wrong.append("\n  ".join([f"$ {command}", *lines, f"ended with {status}; the page says:", *said]))
    return wrong


def self_test():
    page = "## one\n```console\n$ echo 1 a 2\n1 ... 2\n$ cat <<E\n> x\n> E\nx\n```\n```sh\n$ false\n```\n" \
           "## two\n```console\n$ echo 1\n2\n```\n## three\n```console\n$ false\n```\n## four\n```console\n$ exit 4\n```\n" \
           "## five\n```console\n$ sh -c 'exit 77'\n```\n## six\n```console\n$ a=1\n$ cat there; echo $a\nthis1\n```\n"
    with tempfile.TemporaryDirectory(prefix="situ-readme-") as root:
        with open(os.path.join(root, "there"), "w", encoding="utf-8") as file:
            file.write("this")
        found = {name: check(page, name, root, "/bin") for name in ("one", "two", "three", "four", "five", "six", "seven")}
    assert [found[name] for name in ("one", "five", "six")] == [[], SKIPPED, []], found
    assert [len(found[name]) for name in ("two", "three", "four", "seven")] == [1, 1, 1, 1], found
    assert not is_as_said(["a"], ["a", "b"]) and not is_as_said([], ["a"]) and not is_as_said(["a.c"], ["abc"])


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root, path, section = sys.argv[1:]
    with open(os.path.join(root, "examples/README.md"), encoding="utf-8") as file:
        wrong = check(file.read(), section, root, path)
    if wrong == SKIPPED:
        return SKIPPED
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
