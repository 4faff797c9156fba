#!/usr/bin/env python3
"""Installs the build, copies the installed libraries to an empty folder, and loads them from there.

    installed_folder.py CMAKE BUILD_FOLDER CONFIG LIST...

The loading process has an empty environment and the empty folder as its working directory, and may
map libsimdjson only from that folder: a serving image has none of its own. Links are followed, as
in `cp -L`, because images are often made by tools that drop them.
"""

import os
import shutil
import subprocess
import sys
import tempfile

LOADER = """
import ctypes, sys
library = ctypes.CDLL("./librow_store.so")
for name in sys.argv[1:]:
    getattr(library, name)
library.row_store_error_name.restype = ctypes.c_char_p
assert library.row_store_error_name(-12345) == b"unknown"
library.row_store_open.restype = ctypes.c_void_p
library.row_store_open.argtypes = [ctypes.c_char_p] + [ctypes.c_uint64] * 4
assert library.row_store_open(b"no-such-file", 1, 0, 256, 0) is None
with open("/proc/self/maps") as maps:
    print(*sorted({line.split()[-1] for line in maps if ".so" in line}), sep="\\n")
"""


def main(cmake, build, config, *lists):
    names = []
    for path in lists:
        with open(path, encoding="ascii") as file:
            names += [line.strip() for line in file if line.startswith("row_store_")]
    with tempfile.TemporaryDirectory() as temporary:
        prefix = os.path.join(temporary, "prefix")
        folder = os.path.realpath(os.path.join(temporary, "alone"))
        os.mkdir(folder)
        subprocess.run([cmake, "--install", build, "--config", config, "--prefix", prefix],
                       check=True, stdout=subprocess.DEVNULL)
        for root, _, files in os.walk(prefix):
            for name in files:
                if ".so" in name:
                    shutil.copyfile(os.path.join(root, name), os.path.join(folder, name))
        # The real interpreter: a wrapper script would need the environment that is taken away.
        python = os.path.realpath(sys.executable)
        loaded = subprocess.run([python, "-I", "-c", LOADER, *names], cwd=folder, env={},
                                capture_output=True, text=True, check=False)
        if loaded.returncode != 0:
            sys.exit(f"the installed folder alone does not load:\n{loaded.stderr}")
        for path in loaded.stdout.split():
            ours = os.path.basename(path).startswith(("librow_store", "libsimdjson"))
            if ours and os.path.dirname(path) != folder:
                sys.exit(f"{path} was loaded, expected the copy in {folder}")
        if folder not in loaded.stdout:
            sys.exit(f"nothing was loaded from {folder}:\n{loaded.stdout}")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
