#!/usr/bin/env python3
"""Loads a serving engine's own adapter beside the library and starts it, without torch or CUDA.

    adapter_test.py LIBRARY

ROW_STORE_ADAPTER names the adapter's Python file; without it, or where a real torch is installed
(then the adapter's own tests are the better ones), the test is skipped with 77. The modules that
the adapter imports are stand-ins with just enough in them for its start: what is tested is that its
import, its opening of both layers and its statistics work against this library.
"""

import ctypes
import glob
import importlib.util
import os
import shutil
import sys
import tempfile
import types

from checkpoint import LAYERS, row, write_checkpoint, write_packed

SKIP = 77
ROWS, RANKS, RANK = 3001, 3, 1


def skip(why):
    """Ends the test as not run."""
    print(why, file=sys.stderr)
    sys.exit(SKIP)


def stand_in_torch():
    """torch, as far as a module's construction goes."""
    torch = types.ModuleType("torch")

    class Module:
        """Takes attributes."""

    class Parameter:
        """Takes a loader."""

        def __init__(self, data, requires_grad):
            self.data, self.requires_grad = data, requires_grad

    torch.nn = types.SimpleNamespace(Module=Module, Parameter=Parameter)
    torch.empty = lambda *shape, **kinds: (shape, kinds)
    torch.float8_e4m3fn = torch.float8_e8m0fnu = torch.int64 = torch.uint8 = object()
    return torch


def load_adapter(adapter_path, library, folder):
    """Imports the adapter unchanged from a folder that holds it and the library."""
    name = os.path.join(folder, "engram_backend.py")
    shutil.copyfile(adapter_path, name)
    shutil.copyfile(library, os.path.join(folder, "librow_store.so"))
    sys.modules["torch"] = stand_in_torch()

    class Runtime:
        """A CUDA runtime whose stream runs its callbacks at once."""

        def __getattr__(self, _):
            return types.SimpleNamespace(argtypes=None, restype=None)

    real_cdll, real_glob, real_isfile = ctypes.CDLL, glob.glob, os.path.isfile
    ctypes.CDLL = lambda path, *more, **other: (
        Runtime() if "libcudart" in path else real_cdll(path, *more, **other))
    glob.glob = lambda pattern, **other: (
        ["/stand-in/libcudart.so"] if "libcudart" in pattern else real_glob(pattern, **other))
    os.path.isfile = lambda path: path == "/stand-in/libcudart.so" or real_isfile(path)
    try:
        spec = importlib.util.spec_from_file_location("engram_backend", name)
        adapter = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(adapter)
    finally:
        ctypes.CDLL, glob.glob, os.path.isfile = real_cdll, real_glob, real_isfile
    return adapter


def check_rows(adapter, embedding, layer):
    """One lookup through the adapter's own record, called as CUDA calls it."""
    count = 500
    ids = (ctypes.c_int64 * count)(*[i * 37 % ROWS for i in range(count)])
    weights, scales = (ctypes.c_uint8 * (count * 256))(), (ctypes.c_uint8 * (count * 8))()
    work = adapter.Work(embedding._store, ctypes.addressof(ids), ctypes.addressof(weights),
                        ctypes.addressof(scales), count)
    function = ctypes.cast(adapter._lib.row_store_lookup, ctypes.c_void_p).value
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(ctypes.addressof(work))
    low, high = ROWS * RANK // RANKS, ROWS * (RANK + 1) // RANKS
    for i, row_id in enumerate(ids):
        wanted = row(layer, row_id) if low <= row_id < high else bytes(264)
        found = bytes(weights[256 * i:256 * i + 256]) + bytes(scales[8 * i:8 * i + 8])
        assert found == wanted, f"layer {layer}, row {row_id}"
    return sum(low <= row_id < high for row_id in ids)


def main(library):
    adapter_path = os.environ.get("ROW_STORE_ADAPTER", "")
    if not adapter_path:
        skip("not run: ROW_STORE_ADAPTER names no adapter")
    if importlib.util.find_spec("torch") is not None:
        skip("not run: a real torch is installed")
    os.environ["DSV41_STATS_SECONDS"] = "0"
    with tempfile.TemporaryDirectory(dir=os.environ.get("ROW_STORE_TEST_DIR", ".")) as folder:
        folder = os.path.abspath(folder)
        adapter = load_adapter(adapter_path, library, folder)
        write_checkpoint(folder, ROWS)
        write_packed(folder, 14, RANK, RANKS, ROWS)  # layer 1 has none: it serves the checkpoint
        os.environ.update(DSV41_SOURCE=folder, DSV41_PACKED_DIR=folder, DSV41_CACHE_GIB="0.01")

        class EngramEmbedding(sys.modules["torch"].nn.Module):
            """What the adapter replaces the start of."""

        adapter.install(types.SimpleNamespace(
            EngramEmbedding=EngramEmbedding,
            get_parallel=lambda: types.SimpleNamespace(tp_size=RANKS, tp_rank=RANK)))
        for layer in LAYERS:
            embedding = EngramEmbedding(ROWS, 256, layer)
            stats = adapter._stats(embedding._store)
            assert stats["packed"] == (layer == 14), stats
            assert 0 < stats["cache_bytes"] <= int(0.01 * 2**30) // (2 * RANKS), stats
            assert stats["hits"] == stats["misses"] == 0, stats
            owned = check_rows(adapter, embedding, layer)
            stats = adapter._stats(embedding._store)
            assert stats["hits"] + stats["misses"] == owned, stats
    print("the adapter started both layers and read right rows")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
