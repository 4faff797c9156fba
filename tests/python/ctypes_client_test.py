#!/usr/bin/env python3
"""A client of the library through ctypes, with the argument types that serving engines declare.

    ctypes_client_test.py LIBRARY

Declares what they declare and no more: range, stats and lookup keep ctypes' default result type,
lookup and its work travel as bare addresses. Needs nothing but Python.
"""

import _ctypes
import ctypes
import json
import os
import random
import struct
import sys
import tempfile
import threading
import unittest

from checkpoint import LAYERS, row, write_checkpoint, write_packed

ROWS = 4001
CANARY = 0xC5
ADDRESS, WORD = ctypes.c_void_p, ctypes.c_uint64
PATH = os.path.abspath(sys.argv[1])


class Work(ctypes.Structure):
    """The record that lookup takes."""
    _fields_ = [("store", ADDRESS), ("ids", ADDRESS), ("weights", ADDRESS), ("scales", ADDRESS),
                ("count", WORD)]


def load():
    """The library with the client's declarations."""
    library = ctypes.CDLL(PATH)
    library.row_store_open.argtypes = [ctypes.c_char_p, WORD, WORD, WORD, WORD]
    library.row_store_open.restype = ADDRESS
    library.row_store_range.argtypes = [ADDRESS, WORD, WORD]
    library.row_store_stats.argtypes = [ADDRESS, ctypes.POINTER(WORD)]
    library.row_store_attach_packed.argtypes = [ADDRESS, ctypes.c_char_p, WORD]
    library.row_store_attach_packed.restype = ctypes.c_int
    return library


def offsets_of(path, layer):
    """First bytes of weights and scales, from the file's header."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
    return [8 + length + header[f"layers.{layer}.engram.embed.{name}"]["data_offsets"][0]
            for name in ("weight", "scale")]


def stats_of(library, store):
    """The nine words, with canaries on both sides of a buffer of exactly nine."""
    words = (WORD * 11)(*[CANARY] * 11)
    nine = (WORD * 9).from_buffer(words, 8)
    library.row_store_stats(store, nine)
    assert words[0] == CANARY and words[10] == CANARY, "stats wrote beyond its nine words"
    return list(nine)


class Buffers:
    """Pinned for as long as the process lives, as a client keeps them; canaries at both ends."""

    def __init__(self, library, store, count):
        self.library, self.count = library, count
        self.ids = (ctypes.c_int64 * max(count, 1))()
        self.weights = (ctypes.c_uint8 * (count * 256 + 128))(*[CANARY] * (count * 256 + 128))
        self.scales = (ctypes.c_uint8 * (count * 8 + 128))(*[CANARY] * (count * 8 + 128))
        self.work = Work(store, ctypes.addressof(self.ids), ctypes.addressof(self.weights) + 64,
                         ctypes.addressof(self.scales) + 64, count)

    def look_up(self, ids):
        """What cudaLaunchHostFunc does: a call of an address with an address."""
        self.ids[:self.count] = ids
        function = ctypes.CFUNCTYPE(None, ADDRESS)(
            ctypes.cast(self.library.row_store_lookup, ADDRESS).value)
        function(ctypes.addressof(self.work))

    def check(self, layer, low, high):
        """Every byte of the outputs, and that nothing around them changed."""
        weights, scales = bytes(self.weights), bytes(self.scales)
        guard = bytes([CANARY]) * 64
        assert weights[:64] == weights[-64:] == scales[:64] == scales[-64:] == guard
        for i in range(self.count):
            wanted = row(layer, self.ids[i]) if low <= self.ids[i] < high else bytes(264)
            assert weights[64 + 256 * i:320 + 256 * i] == wanted[:256], f"weights of row {i}"
            assert scales[64 + 8 * i:72 + 8 * i] == wanted[256:], f"scales of row {i}"


class Client(unittest.TestCase):
    """Calls in the order of a server's start and work."""

    def setUp(self):
        # Not /tmp: it may be in memory, where files cannot be read directly.
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("ROW_STORE_TEST_DIR", "."))
        self.addCleanup(folder.cleanup)
        self.folder = os.path.abspath(folder.name)
        self.path = os.path.join(self.folder, write_checkpoint(self.folder, ROWS))
        self.library = load()

    def open(self, layer, low, high, budget=1 << 20):
        """As a server starts: open, then the range."""
        store = self.library.row_store_open(self.path.encode(), ROWS, *offsets_of(self.path, layer),
                                            budget)
        self.assertTrue(store)
        self.library.row_store_range(store, low, high)
        return store

    def test_the_work_record_is_forty_bytes(self):
        self.assertEqual(ctypes.sizeof(Work), 40)
        self.assertEqual([getattr(Work, name).offset for name, _ in Work._fields_],
                         [0, 8, 16, 24, 32])

    def test_ranks_of_both_layers_get_their_rows_from_the_checkpoint_and_from_shards(self):
        for ranks in (1, 3):
            for rank in range(ranks):
                low, high = ROWS * rank // ranks, ROWS * (rank + 1) // ranks
                for layer in LAYERS:
                    for packed in (False, True):
                        with self.subTest(ranks=ranks, rank=rank, layer=layer, packed=packed):
                            self.serve(layer, rank, ranks, low, high, packed)

    def serve(self, layer, rank, ranks, low, high, packed):
        store = self.open(layer, low, high)
        if packed:
            shard = str(write_packed(self.folder, layer, rank, ranks, ROWS))
            self.library.row_store_attach_packed(store, shard.encode(), layer)
        words = stats_of(self.library, store)
        self.assertEqual(words[:3], [0, 0, 0])
        self.assertLessEqual(words[3], 1 << 20)
        self.assertEqual(words[5], 0 if packed else (high - low) * 8)
        threads = int(os.environ.get("DSV41_IO_THREADS", "32"))
        self.assertEqual(words[6:], [12, threads, int(packed)])
        owned = 0
        for count in (1, 7, 144, 700):
            buffers = Buffers(self.library, store, count)
            for repeat in range(2):
                ids = [random.Random(count + repeat).randrange(ROWS) for _ in range(count)]
                buffers.look_up(ids)
                buffers.check(layer, low, high)
                owned += sum(low <= row_id < high for row_id in ids)
        words = stats_of(self.library, store)
        self.assertEqual(words[0] + words[1], owned)
        self.library.row_store_close(ADDRESS(store))

    def test_an_empty_batch_touches_nothing(self):
        store = self.open(1, 0, ROWS)
        buffers = Buffers(self.library, store, 0)
        buffers.look_up([])
        buffers.check(1, 0, ROWS)
        self.library.row_store_close(ADDRESS(store))

    def test_a_failed_open_is_none(self):
        self.assertIsNone(self.library.row_store_open(b"no-such-file", ROWS, 0, 0, 0))
        text = ctypes.create_string_buffer(300)
        self.library.row_store_last_error.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.assertEqual(self.library.row_store_last_error(text, 300), 2)
        self.assertIn(b"no-such-file", text.value)

    def test_the_symbol_that_marks_display_memory_builds_is_absent_or_callable(self):
        function = getattr(self.library, "row_store_next_cache_on_drm", None)
        if function is not None:
            function.argtypes = [ctypes.c_char_p, WORD]
            function(b"/dev/dri/no-such-card", 1792 << 20)
        store = self.open(1, 0, ROWS)
        buffers = Buffers(self.library, store, 300)
        buffers.look_up([i * 13 % ROWS for i in range(300)])
        buffers.check(1, 0, ROWS)
        self.library.row_store_close(ADDRESS(store))

    def test_a_dlclose_while_threads_look_up_keeps_the_library(self):
        store = self.open(1, 0, ROWS, 0)
        failures, stop = [], threading.Event()
        started = threading.Barrier(3)

        def work(seed):
            buffers = Buffers(self.library, store, 500)
            started.wait()
            while not stop.is_set():
                buffers.look_up([random.Random(seed).randrange(ROWS) for _ in range(500)])
                try:
                    buffers.check(1, 0, ROWS)
                except AssertionError as error:
                    failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
        for thread in threads:
            thread.start()
        started.wait()
        for _ in range(3):  # more often than it was opened
            try:
                _ctypes.dlclose(self.library._handle)
            except OSError:
                pass  # the loader has dropped the handle; the code must be there all the same
        again = load()
        words = stats_of(again, store)
        self.assertEqual(words[3], 0)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        with open("/proc/self/maps", encoding="ascii") as maps:
            self.assertIn("librow_store", maps.read())
        again.row_store_close(ADDRESS(store))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
