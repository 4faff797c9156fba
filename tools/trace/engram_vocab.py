#!/usr/bin/env python3
"""Byte-level BPE tokenizer and Engram vocabulary compression, standard library + `regex`.

Reads a Hugging Face `tokenizer.json` (byte-level BPE, DeepSeek family) and offers

  Tokenizer(path).encode(text) -> list of token ids
  compressed_map(tok)          -> (list: token id -> compressed id, class count)

The compressed map follows the public Engram rule: every token is decoded on its own,
normalised (NFKC, NFD, drop combining marks, lower case, collapse space/tab/CR/LF runs to
one space, trim, with a lone space kept as a space) and tokens with the same result share
one id, numbered in order of first appearance.  A token whose bytes are not valid UTF-8
keeps its raw spelling as its key.
"""
import json
import unicodedata

import regex


def _byte_alphabet():
    """The GPT-2 byte <-> printable character table used by byte-level BPE."""
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, extra = {}, 0
    for b in range(256):
        if b in keep:
            table[b] = chr(b)
        else:
            table[b] = chr(256 + extra)
            extra += 1
    return table


BYTE_TO_CHAR = _byte_alphabet()
CHAR_TO_BYTE = {c: b for b, c in BYTE_TO_CHAR.items()}


class Tokenizer:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            spec = json.load(f)
        model = spec["model"]
        self.vocab = model["vocab"]
        self.rank = {}
        for r, m in enumerate(model["merges"]):
            self.rank[tuple(m.split(" ", 1)) if isinstance(m, str) else tuple(m)] = r
        self.added = {a["id"]: a["content"] for a in spec["added_tokens"]}
        self.size = max(max(self.vocab.values()), max(self.added, default=0)) + 1
        self.id_to_token = {i: t for t, i in self.vocab.items()}
        # Isolated splits applied one after the other (what the Split pre-tokenizers do).
        self.splits = [regex.compile(p["pattern"]["Regex"])
                       for p in spec["pre_tokenizer"]["pretokenizers"] if p["type"] == "Split"]
        self._cache = {}

    # -- encoding ---------------------------------------------------------------
    def _pieces(self, text, level=0):
        if level == len(self.splits):
            yield text
            return
        pos = 0
        for m in self.splits[level].finditer(text):
            if m.start() > pos:
                yield from self._pieces(text[pos:m.start()], level + 1)
            if m.end() > m.start():
                yield from self._pieces(m.group(), level + 1)
            pos = m.end()
        if pos < len(text):
            yield from self._pieces(text[pos:], level + 1)

    def _bpe(self, piece):
        parts = [BYTE_TO_CHAR[b] for b in piece.encode("utf-8")]
        rank = self.rank
        while len(parts) > 1:
            best, where = None, -1
            for i in range(len(parts) - 1):
                r = rank.get((parts[i], parts[i + 1]))
                if r is not None and (best is None or r < best):
                    best, where = r, i
            if best is None:
                break
            parts[where:where + 2] = [parts[where] + parts[where + 1]]
        return [self.vocab[p] for p in parts]

    def encode(self, text):
        out, cache = [], self._cache
        for piece in self._pieces(text):
            ids = cache.get(piece)
            if ids is None:
                # A very long unbroken run is cut so that the quadratic merge stays cheap.
                if len(piece) > 400:
                    runs = [piece[k:k + 400] for k in range(0, len(piece), 400)]
                    ids = [t for run in runs for t in self._bpe(run)]
                else:
                    ids = cache[piece] = self._bpe(piece)
            out.extend(ids)
        return out

    # -- decoding one token -------------------------------------------------------
    def raw(self, tid):
        return self.added.get(tid) or self.id_to_token[tid]

    def text(self, tid):
        """The token alone as text, or None when its bytes are not whole UTF-8."""
        if tid in self.added:
            return self.added[tid]
        data = bytes(CHAR_TO_BYTE[c] for c in self.id_to_token[tid])
        try:
            s = data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return None if "\ufffd" in s else s


_BLANKS = regex.compile(r"[ \t\r\n]+")
# Unicode White_Space; str.strip() would also take U+001C..U+001F.
_TRIM = ("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
         + "".join(map(chr, range(0x2000, 0x200B))))


def normalise(s):
    s = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", s))
    s = "".join(c for c in s if unicodedata.category(c)[0] != "M")
    # Per-character lower case: no context rule for final sigma.
    s = "".join(c.lower() for c in s)
    s = _BLANKS.sub(" ", s)
    return s if s == " " else s.strip(_TRIM)


def compressed_map(tok):
    classes, table = {}, []
    for tid in range(tok.size):
        if tid not in tok.added and tid not in tok.id_to_token:
            table.append(0)
            continue
        s = tok.text(tid)
        key = tok.raw(tid) if s is None else (normalise(s) or s)
        table.append(classes.setdefault(key, len(classes)))
    return table, len(classes)


if __name__ == "__main__":
    import sys
    t = Tokenizer(sys.argv[1])
    table, n = compressed_map(t)
    base = len({table[i] for i in range(len(t.vocab))})
    print(f"token ids {t.size}, base vocabulary {len(t.vocab)}, "
          f"compressed classes {n}, of the base {base}")
    for s in ("Hello world", "The quick brown fox", "def f(x):\n    return x+1"):
        ids = t.encode(s)
        print(s.encode(), ids, [table[i] for i in ids])
