#!/usr/bin/env python3
"""Collects text from unpacked Debian packages (and code trees) into one JSONL of documents.

ROOT is a folder into which packages were unpacked (`apt-get download NAME`, `dpkg -x FILE ROOT`);
PACKAGES lists those it knows, and what is missing is left out. Each kind of text has a cap so that
none outweighs the mix. Documents come out shuffled with a fixed seed: equal input, equal output.
Licences are those of the packages; see their usr/share/doc/NAME/copyright.
"""
import argparse
import gzip
import hashlib
import html
import json
import os
import random
import re

PACKAGES = """anarchism debian-handbook debian-policy debian-reference-en
developers-reference dict-devil dict-foldoc dict-gcide dict-jargon fortunes fortunes-min
golang-1.19-src linux-doc-6.1 linux-headers-6.1.0-53-common manpages manpages-de manpages-dev
manpages-fr manpages-zh postgresql-doc-15 python3.11-doc sqlite3-doc""".split()

SHORTEST_CHARS = 800  # shorter texts are left out

SKIP = re.compile(r"<(script|style)[^>]*>.*?</\1>|<!--.*?-->", re.S | re.I)
BREAK = re.compile(r"</(p|div|li|tr|h\d|pre|dd|dt)>|<br[^>]*>", re.I)
MACRO = re.compile(r"^\.(?:B|I|BR|BI|IR|RB|IB|RI|TP|PP|IP|P|LP|RS|RE|nf|fi|TH|HP|EX|EE|in|sp|br) ?",
                   re.M)
TAG = re.compile(r"<[^>]+>")


def from_html(s):
    s = html.unescape(TAG.sub("", BREAK.sub("\n", SKIP.sub("", s))))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", s))


def from_roff(s):
    s = re.sub(r'^\.\\".*$', "", s, flags=re.M)
    s = re.sub(r"\\f[BIRP]|\\f\(..", "", s)
    for a, b in (("\\-", "-"), ("\\&", ""), ("\\(aq", "'"), ("\\e", "\\")):
        s = s.replace(a, b)
    s = re.sub(r'^\.(?:SH|SS) *"?(.*?)"?$', r"\n\1\n", s, flags=re.M)
    return MACRO.sub(" ", s)


def plain(s):
    return s


def read(path):
    with (gzip.open(path) if path.endswith((".gz", ".dz")) else open(path, "rb")) as f:
        data = f.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def walk(folder, ends=(".html", ".txt", ".gz", ".rst", ".dz")):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
            if name.endswith(tuple(ends))]


def sources(root, python_dir, node_dir):
    """Yields (kind, cap in MB, files, reader, characters a document at most)."""
    share = os.path.join(root, "usr/share")
    doc = os.path.join(share, "doc")
    dic = os.path.join(share, "dictd")

    def under(name, *ends):
        return walk(os.path.join(doc, name), ends or (".html", ".txt", ".gz", ".rst"))

    yield "prose-anarchism", 12, under("anarchism"), from_html, 400000
    yield "prose-gcide", 14, [f"{dic}/gcide.dict.dz"], plain, 60000
    yield "prose-foldoc", 6, [f"{dic}/foldoc.dict.dz"], plain, 60000
    yield "prose-jargon", 1.5, [f"{dic}/jargon.dict.dz"], plain, 60000
    yield "prose-devil", 0.5, [f"{dic}/devil.dict.dz"], plain, 60000
    fortunes = walk(f"{share}/games/fortunes", ("",))
    fortunes = [p for p in fortunes if not p.endswith((".dat", ".u8"))]
    yield "prose-fortunes", 4, fortunes, plain, 40000
    handbook = under("debian-handbook", ".html")
    english = [p for p in handbook if "/en-US/" in p]
    yield "prose-handbook-en", 3, english, from_html, 400000
    python_doc = [p for p in under("python3.11") + under("python3.11-doc") if "_sources" not in p]
    yield "doc-python", 9, python_doc, from_html, 400000
    yield "doc-linux", 9, under("linux-doc-6.1"), from_html, 400000
    yield "doc-sqlite", 5, under("sqlite3-doc") + under("sqlite3"), from_html, 400000
    yield "doc-postgres", 5, under("postgresql-doc-15"), from_html, 400000
    debian = walk(f"{share}/debian-reference")
    debian += under("debian-policy") + under("developers-reference")
    debian = [p for p in debian if not re.search(r"\.(de|fr|it|ja|ru|zh|pt|es|id)[.-]", p)]
    yield "doc-debian", 4, debian, from_html, 400000
    manual = [p for p in walk(f"{share}/man", (".gz",)) if re.search(r"/man/man\d", p)]
    yield "doc-man", 5, manual, from_roff, 400000
    for language, folder, cap in (("de", "de", 3), ("fr", "fr", 3), ("zh", "zh_CN", 4)):
        yield f"multi-{language}", cap, walk(f"{share}/man/{folder}", (".gz",)), from_roff, 400000
    other = [p for p in handbook if re.search(r"/(ja-JP|zh-CN|ru-RU|es-ES)/", p)]
    yield "multi-handbook", 5, other, from_html, 400000
    yield "code-go", 14, walk(f"{share}/go-1.19", (".go",)), plain, 400000
    yield "code-linux-h", 7, walk(os.path.join(root, "usr/src"), (".h",)), plain, 400000
    if python_dir:
        code = [p for p in walk(python_dir, (".py",)) if "/tests/" not in p]
        yield "code-python", 12, code, plain, 400000
    if node_dir:
        code = [p for p in walk(node_dir, (".js",)) if ".min." not in p]
        yield "code-js", 6, code, plain, 400000


def documents(files, reader, cap_bytes, most_chars, seen):
    """Yields the texts of `files` in a shuffled but fixed order, up to the cap."""
    files = sorted(set(files))
    random.Random(1).shuffle(files)
    size = 0
    for path in files:
        try:
            text = reader(read(path))
        except OSError:
            continue
        digest = hashlib.sha256(text.encode()).digest()
        if digest in seen:
            continue
        seen.add(digest)
        for i in range(0, len(text), most_chars):
            part = text[i:i + most_chars]
            if size >= cap_bytes:
                return
            if len(part) >= SHORTEST_CHARS:
                yield part
                size += len(part.encode())


def parse_only(text):
    kind, _, cap = text.partition("=")
    return kind, float(cap) if cap else None


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("root", help="folder with unpacked packages: " + " ".join(PACKAGES))
    args.add_argument("out", help="JSONL to write, one [kind, text] pair a line")
    args.add_argument("--python", help="also take .py files from this tree")
    args.add_argument("--node", help="also take .js files from this tree")
    args.add_argument("--only", metavar="KIND[=MB]", type=parse_only, action="append",
                      help="only this kind of text, with another cap; may be repeated")
    args = args.parse_args()
    only = dict(args.only or [])
    docs, seen = [], set()
    for kind, cap, files, reader, most_chars in sources(args.root, args.python, args.node):
        if only and kind not in only:
            continue
        cap = only.get(kind) or cap
        texts = list(documents(files, reader, cap * 1e6, most_chars, seen))
        docs += [(kind, text) for text in texts]
        size = sum(len(text.encode()) for text in texts)
        print(f"{kind:20s} {len(texts):5d} documents {size / 1e6:6.1f} MB")
    random.Random(7).shuffle(docs)
    with open(args.out, "w", encoding="utf-8") as f:
        for doc in docs:
            f.write(json.dumps(doc) + "\n")
    print(f"{len(docs)} documents, {sum(len(t.encode()) for _, t in docs) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
