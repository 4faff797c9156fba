#!/usr/bin/env python3
"""row-store inspect on files and folders that are right, foreign, damaged or not there."""

import os
import pathlib
import tempfile
import unittest

from command import CANNOT_RUN, FOUND_WRONG, OK, USAGE, main, run, run_json
from checkpoint import LAYERS, row, write_checkpoint, write_packed

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

    def test_safetensors_file(self):
        """Every tensor with its place; those of one table tile the file."""
        path = self.folder / write_checkpoint(self.folder, 50)
        code, report = run_json("inspect", path)
        self.assertEqual((code, report["kind"], len(report["tensors"])), (OK, "safetensors", 4))
        at = report["data_offset"]
        for tensor in report["tensors"]:
            self.assertEqual(tensor["offset"], at)
            at += tensor["bytes"]
        self.assertEqual(at, path.stat().st_size)
        self.assertIn("'layers.14.engram.embed.scale' 'F8_E8M0' [50, 8]",
                      run("inspect", path).stdout)

    def test_folder(self):
        """Both layers, where they lie, and whose header it is; a rank only when asked for."""
        name = write_checkpoint(self.folder, ROWS)
        data = (self.folder / name).read_bytes()
        code, report = run_json("inspect", self.folder)
        self.assertEqual((code, report["kind"], report["tensors"]), (OK, "checkpoint", 4))
        self.assertEqual(report["files"], [{"name": name, "bytes": len(data)}])
        self.assertEqual([layer["layer"] for layer in report["layers"]], list(LAYERS))
        for layer in report["layers"]:
            source = layer["source"]
            self.assertEqual((layer["rows"], layer["file"]), (ROWS, str(self.folder / name)))
            self.assertEqual(source["header_bytes"], 8 + int.from_bytes(data[:8], "little"))
            self.assertEqual(data[source["weight"]["offset"]:][:256],
                             row(layer["layer"], 0)[:256])
            self.assertEqual(data[source["scale"]["offset"]:][:8], row(layer["layer"], 0)[256:])
            self.assertNotIn("opens", layer)

    def test_rank_of_a_folder(self):
        """A shard that fits, one that is not there, one of another split."""
        write_checkpoint(self.folder, ROWS)
        write_packed(self.folder, 1, 1, 3, ROWS)
        environment = {"NODE_RANK": "1", "TP_SIZE": "3", "DSV41_PACKED_DIR": str(self.folder)}
        code, report = run_json("inspect", self.folder, **environment)
        first, second = (layer["opens"] for layer in report["layers"])
        self.assertEqual(code, OK)
        self.assertEqual((first["state"], second["state"]), ("fits", "absent"))
        self.assertEqual(first["range"], [ROWS // 3, ROWS * 2 // 3])
        self.assertTrue(second["shard"].endswith("engram-l14-r1of3.bin"))
        os.rename(write_packed(self.folder, 14, 0, 3, ROWS), self.folder / "engram-l14-r1of3.bin")
        code, report = run_json("inspect", self.folder, **environment)
        self.assertEqual((code, report["layers"][1]["opens"]["state"]), (FOUND_WRONG, "refused"))
        self.assertIn("end row expected 2000, found 1000", report["layers"][1]["opens"]["text"])
        text = run("inspect", self.folder, "--rank", 1, "--tp", 3).stdout
        self.assertIn("rank      1 of 3: rows [1,000, 2,000)\n", text)

    def test_wrong_ranks_and_folders(self):
        """Each names what is wrong."""
        code, report = run_json("inspect", self.folder)
        self.assertEqual((code, report["error"]["errno"]), (CANNOT_RUN, 2))
        self.assertIn("model.safetensors.index.json", report["error"]["text"])
        name = write_checkpoint(self.folder, 50)
        for arguments in (["--rank", 3, "--tp", 3], ["--rank", 1], ["--tp", 0], ["--rank", "x"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(run("inspect", self.folder, *arguments).returncode, USAGE)
        with open(self.folder / name, "r+b") as file:
            file.truncate(8192)
        code, report = run_json("inspect", self.folder)
        self.assertEqual(code, FOUND_WRONG)
        self.assertIn(name, report["error"]["text"])


if __name__ == "__main__":
    main()
