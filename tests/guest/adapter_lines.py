"""What the serving adapter does with its DRM settings, against a real device.

    adapter_lines.py LIBRARY FOLDER

Reads DSV41_LAUNCHER, DSV41_ENGRAM_DRM_NODE, _MIB and _LAYER, DSV41_CACHE_GIB and NNODES as the
adapter does, opens the tables of layers 1 and 14 in FOLDER, and compares every row of two lookups.
The last line is "on the pool: LAYERS".
"""

import ctypes
import os
import pathlib
import sys

ROWS = 2000


class Work(ctypes.Structure):
    _fields_ = [("store", ctypes.c_void_p), ("ids", ctypes.c_void_p), ("weights", ctypes.c_void_p),
                ("scales", ctypes.c_void_p), ("count", ctypes.c_uint64)]


def load(path):
    library = ctypes.CDLL(path)
    library.row_store_open.restype = ctypes.c_void_p
    library.row_store_open.argtypes = [ctypes.c_char_p] + [ctypes.c_uint64] * 4
    library.row_store_range.argtypes = [ctypes.c_void_p] + [ctypes.c_uint64] * 2
    library.row_store_stats.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)]
    library.row_store_lookup.argtypes = [ctypes.c_void_p]
    library.row_store_close.argtypes = [ctypes.c_void_p]
    # Its presence tells that this is a canary build.
    request = getattr(library, "row_store_next_cache_on_drm", None)
    if request is not None:
        request.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    return library, request


def cache_budget():
    ranks_per_host = max(1, 4 // max(1, int(os.getenv("NNODES", "1"))))
    return int(float(os.getenv("DSV41_CACHE_GIB", "64")) * 2**30) // (2 * ranks_per_host)


class Asked:
    """Whether one layer has asked for the pool: only one may."""

    def __init__(self):
        self.layer = None

    def budget_of(self, layer, request):
        budget = cache_budget()
        node = os.getenv("DSV41_ENGRAM_DRM_NODE", "")
        wanted = os.getenv("DSV41_ENGRAM_DRM_LAYER", "")
        if os.environ.get("DSV41_LAUNCHER") != "tp4" or self.layer is not None:
            return budget
        if not node or not os.path.exists(node) or (wanted and int(wanted) != layer):
            return budget
        if request is None:
            sys.exit("this library has no row_store_next_cache_on_drm")
        pool = int(os.getenv("DSV41_ENGRAM_DRM_MIB", "1792")) << 20
        request(node.encode(), pool)
        self.layer = layer
        return min(budget, pool * 272 // 264)


def check_rows(library, store, weights, scales):
    ids = (ctypes.c_int64 * ROWS)(*[row * 7 % ROWS for row in range(ROWS)])
    want_weights = b"".join(weights[256 * row:256 * row + 256] for row in ids)
    want_scales = b"".join(scales[8 * row:8 * row + 8] for row in ids)
    for _ in range(2):
        got_weights = ctypes.create_string_buffer(256 * ROWS)
        got_scales = ctypes.create_string_buffer(8 * ROWS)
        work = Work(store, ctypes.addressof(ids), ctypes.addressof(got_weights),
                    ctypes.addressof(got_scales), ROWS)
        library.row_store_lookup(ctypes.addressof(work))
        if got_weights.raw != want_weights or got_scales.raw != want_scales:
            sys.exit("wrong bytes")


def main(path, folder):
    library, request = load(path)
    asked = Asked()
    on_pool = []
    for layer in (1, 14):
        weights, scales = os.urandom(256 * ROWS), os.urandom(8 * ROWS)
        table = pathlib.Path(folder) / f"layer-{layer}"
        table.write_bytes(b"rows" * 1024 + weights + scales)
        budget = asked.budget_of(layer, request)
        store = library.row_store_open(str(table).encode(), ROWS, 4096, 4096 + len(weights), budget)
        if not store:
            sys.exit("no store")
        library.row_store_range(store, 0, ROWS)
        check_rows(library, store, weights, scales)
        stats = (ctypes.c_uint64 * 9)()
        library.row_store_stats(store, stats)
        print(f"layer {layer}: budget {budget}, {stats[4]} slots, {stats[0]} hits", flush=True)
        if asked.layer == layer:
            on_pool.append(layer)
    print("on the pool:", *on_pool)


if __name__ == "__main__":
    main(*sys.argv[1:])
