#!/usr/bin/env python3
"""row-store inspect on files that are right, foreign, damaged or no files at all."""

import os
import pathlib
import tempfile
import unittest

from command import CANNOT_RUN, FOUND_WRONG, OK, main, run, run_json
from checkpoint import write_packed

ROWS = 3001


class InspectTest(unittest.TestCase):
    """One claim a test; each has a folder of its own."""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def file(self, data, name="file"):
        """Writes a file into the folder."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def test_packed_shard(self):
        """Layer, rows and table of its header."""
        path = write_packed(self.folder, 14, 1, 3, ROWS)
        code, report = run_json("inspect", path)
        self.assertEqual(code, OK)
        self.assertEqual((report["kind"], report["bytes"]), ("packed", path.stat().st_size))
        self.assertEqual((report["layer"], report["range"], report["table_rows"]),
                         (14, [ROWS // 3, ROWS * 2 // 3], ROWS))
        text = run("inspect", path).stdout
        self.assertIn("what        packed shard\n", text)
        self.assertIn("[1,000, 2,000) of 3,001\n", text)

    def test_truncated_shard(self):
        """Found wrong, with both sizes."""
        path = write_packed(self.folder, 1, 0, 3, ROWS)
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size - 1)
        code, report = run_json("inspect", path)
        self.assertEqual((code, report["error"]["class"]), (FOUND_WRONG, "size"))
        self.assertIn(str(path.stat().st_size), report["error"]["text"])

    def test_kinds(self):
        """What a failed download leaves."""
        for word, data in (("lfs_pointer", b"version https://git-lfs.github.com/spec/v1\noid "),
                           ("html", b"<!DOCTYPE html><html>"), ("gguf", b"GGUF\3\0\0\0"),
                           ("zip", b"PK\3\4abcdefgh"), ("json", b'{"weight_map": {}}'),
                           ("zeros", bytes(4096)), ("unknown", b"plain words of text"),
                           ("unknown", b"")):
            with self.subTest(kind=word):
                code, report = run_json("inspect", self.file(data))
                self.assertEqual((code, report["kind"], report["bytes"]), (OK, word, len(data)))

    def test_no_regular_file(self):
        """A FIFO does not hold it up."""
        os.mkfifo(self.folder / "fifo")
        code, report = run_json("inspect", self.folder / "fifo")
        self.assertEqual((code, report["error"]["class"]), (CANNOT_RUN, "not_file"))


if __name__ == "__main__":
    main()
