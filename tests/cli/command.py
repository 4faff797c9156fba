"""Runs the row-store command, in a pipe or in a terminal; what the tests of its subcommands share.

A test is a script: `NAME_test.py ROW_STORE_COMMAND [LIBRARY]`, ending with command.main(). Import
this module first: it makes those of tests/python known.
"""

import fcntl
import json
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

OK, FOUND_WRONG, USAGE, CANNOT_RUN = range(4)
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 60


def program():
    """Path of the executable under test."""
    return ARGUMENTS[0]


def library():
    """Path of librow_store.so, for tests that were given one."""
    return ARGUMENTS[1]


def clean_environment(**settings):
    """This process's, without the library's variables, in a plain locale."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("DSV41_") and name not in ("OFFLOAD_MODE", "NNODES")}
    return {**kept, "LC_ALL": "C", "TERM": "xterm", **settings}


def run(*arguments, stdout=subprocess.PIPE, **settings):
    """Runs the command in a pipe; settings are environment variables."""
    return subprocess.run([program(), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=TIMEOUT_S, env=clean_environment(**settings))


def run_json(*arguments, **settings):
    """Runs it with --json; returns the exit code and the document, which must be all there is."""
    done = run(*arguments, "--json", **settings)
    lines = done.stdout.splitlines()
    if len(lines) != 1:
        raise AssertionError(f"{len(lines)} lines instead of one document:\n{done.stdout}"
                             f"{done.stderr}")
    return done.returncode, json.loads(lines[0])


class Terminal:
    """The command in a terminal of its own: stdout and stderr together, as it draws them."""

    def __init__(self, *arguments, columns=80, lines=24, **settings):
        environment = clean_environment(**settings)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
            os.execve(program(), [program(), *map(str, arguments)], environment)
        self.output = b""

    def read_until(self, wanted, timeout_s=TIMEOUT_S):
        """Reads on until `wanted` (bytes) was written or the command ends; returns all so far."""
        end = time.monotonic() + timeout_s
        while wanted is None or wanted not in self.output:
            if not select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {wanted!r} within {timeout_s} s:\n{self.output!r}")
            try:
                part = os.read(self.fd, 65536)
            except OSError:  # EIO: the other side was closed
                break
            if not part:
                break
            self.output += part
        return self.output

    def write(self, keys):
        """Types."""
        os.write(self.fd, keys)

    def wait(self):
        """Reads to the end; returns the exit code, or minus the signal."""
        self.read_until(None)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    """Runs the calling script's tests."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ARGUMENTS[:] = [arg for arg in sys.argv[1:] if os.sep in arg]
    chosen = [arg for arg in sys.argv[1:] if os.sep not in arg]
    unittest.main(module="__main__", argv=[sys.argv[0], *chosen])


ARGUMENTS = []
