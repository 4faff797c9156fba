#!/usr/bin/env python3
"""What all subcommands of row-store have in common: help, usage errors, exit codes, the manual."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from command import (CANNOT_RUN, OK, SOURCE, USAGE, Terminal, clean_environment, main, program,
                     run, run_json)

MANUAL = SOURCE / "docs" / "man" / "row-store.1"


def subcommands():
    """Their names, as --help lists them."""
    listed = run("--help").stdout.split("Subcommands:")[1].split("Exit codes:")[0]
    return re.findall(r"^  (\w+)", listed, re.M)


class FrameTest(unittest.TestCase):
    """One claim a test."""

    def test_help_lists_commands_and_exit_codes(self):
        """--help is a success, on stdout alone."""
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        self.assertIn("inspect", subcommands())
        self.assertIn("3 could not run", done.stdout)

    def test_each_command_has_help_json_and_a_part_of_the_manual(self):
        """Nobody can add a command and leave one of these out."""
        manual = MANUAL.read_text(encoding="ascii")
        for name in subcommands():
            with self.subTest(command=name):
                done = run(name, "--help")
                self.assertEqual((done.returncode, done.stderr), (OK, ""))
                self.assertIn("--json", done.stdout)
                self.assertRegex(manual, rf"(?m)^\.SS {name}\b")
                for option in set(re.findall(r"(--[a-z][a-z-]*)", done.stdout)):
                    self.assertIn(option.replace("-", r"\-"), manual)

    def test_manual_is_clean(self):
        """groff finds nothing to warn of."""
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", MANUAL], check=False,
                              capture_output=True, text=True, env=clean_environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_version(self):
        """A name and three numbers."""
        self.assertRegex(run("--version").stdout, r"^row-store \d+\.\d+\.\d+\n$")

    def test_wrong_command_lines(self):
        """Code 2, nothing on stdout, and the line that helps."""
        for arguments in ([], ["no-such-command"], ["--no-such-option"], ["inspect"],
                          ["inspect", "--no-such-option"], ["inspect", "a", "b"]):
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
                where = "row-store inspect" if arguments[:1] == ["inspect"] else "row-store"
                self.assertTrue(done.stderr.startswith(where + ": "), done.stderr)
                self.assertTrue(done.stderr.endswith(f"Try: {where} --help\n"), done.stderr)

    def test_full_disk_behind_stdout(self):
        """A report that did not arrive is no success."""
        with tempfile.NamedTemporaryFile() as file, open("/dev/full", "wb") as full:
            file.write(b"GGUF, a file of its own")
            file.flush()
            for arguments in (["inspect", file.name], ["inspect", file.name, "--json"], ["--help"]):
                with self.subTest(arguments=arguments):
                    done = run(*arguments, stdout=full)
                    self.assertEqual(done.returncode, CANNOT_RUN)
                    self.assertIn("stdout: No space left on device", done.stderr)

    def test_closed_stdout(self):
        """Neither is one that had nowhere to go."""
        done = subprocess.run(["sh", "-c", '"$0" --help >&-', program()], capture_output=True,
                              text=True, check=False, env=clean_environment())
        self.assertEqual(done.returncode, CANNOT_RUN)
        self.assertIn("stdout: Bad file descriptor", done.stderr)

    def test_failure_is_a_document_too(self):
        """With --json scripts read the class from stdout, people the line from stderr."""
        code, document = run_json("inspect", "/no/such/file")
        self.assertEqual(code, CANNOT_RUN)
        self.assertEqual(document["error"]["class"], "io")
        self.assertEqual(document["error"]["errno"], 2)
        self.assertIn("/no/such/file: cannot open", document["error"]["text"])
        self.assertEqual(run("inspect", "/no/such/file").stderr,
                         f"row-store inspect: {document['error']['text']}\n")

    def test_names_that_are_not_utf8(self):
        """They do not break the document."""
        done = subprocess.run([program(), "inspect", b"/no/such/\xff\xfe", "--json"], check=False,
                              capture_output=True, env=clean_environment())
        self.assertEqual(done.returncode, CANNOT_RUN)
        self.assertIn("\ufffd", json.loads(done.stdout)["error"]["text"])

    def test_terminal(self):
        """The same report and code in a terminal."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"GGUF, a file of its own")
            file.flush()
            terminal = Terminal("inspect", file.name)
            self.assertEqual(terminal.wait(), OK)
            self.assertEqual(terminal.output.decode().replace("\r", ""),
                             run("inspect", file.name).stdout)
        terminal = Terminal("inspect", os.path.join("/no", "such"))
        self.assertEqual(terminal.wait(), CANNOT_RUN)
        self.assertIn(b"cannot open", terminal.output)


if __name__ == "__main__":
    main()
