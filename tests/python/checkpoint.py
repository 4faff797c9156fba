"""A small checkpoint as the model's publisher lays it out, for tests in Python.

Two Engram layers in one safetensors file with its index, and packed shards. Row bytes are a
function of layer and id.
"""

import hashlib
import json
import pathlib
import struct

LAYERS = (1, 14)
PACKED_MAGIC = 0x31344E4531565344


def row(layer, row_id):
    """The 264 bytes of a row: 256 of weights, 8 of scales."""
    return hashlib.shake_128(struct.pack("<QQ", layer, row_id)).digest(264)


def write_checkpoint(folder, rows):
    """Writes the model; returns the name of its safetensors file."""
    header, parts, offset = {}, [], 0
    for layer in LAYERS:
        table = [row(layer, row_id) for row_id in range(rows)]
        for name, dtype, data in (
                ("weight", "F8_E4M3", b"".join(r[:256] for r in table)),
                ("scale", "F8_E8M0", b"".join(r[256:] for r in table))):
            header[f"layers.{layer}.engram.embed.{name}"] = {
                "dtype": dtype, "shape": [rows, len(data) // rows],
                "data_offsets": [offset, offset + len(data)]}
            parts.append(data)
            offset += len(data)
    text = json.dumps(header).encode()
    name = "model-00001-of-00001.safetensors"
    folder = pathlib.Path(folder)
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))
    index = {"weight_map": {tensor: name for tensor in header}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="ascii")
    return name


def write_packed(folder, layer, rank, ranks, rows):
    """Writes the rank's shard under the name that servers look for."""
    low, high = rows * rank // ranks, rows * (rank + 1) // ranks
    path = pathlib.Path(folder) / f"engram-l{layer}-r{rank}of{ranks}.bin"
    head = struct.pack("<6Q", PACKED_MAGIC, layer, low, high, rows, 264).ljust(4096, b"\0")
    path.write_bytes(head + b"".join(row(layer, row_id) for row_id in range(low, high)))
    return path
