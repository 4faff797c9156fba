#!/usr/bin/env python3
"""What the finished library may show and need: each command compares it with a list in abi/.

    check_abi.py exports LIBRARY LIST...     exported symbols are exactly those listed
    check_abi.py header HEADER MAP LIST...   prototypes, version script and lists name the same
    check_abi.py needed LIBRARY NEEDED [NOT] DT_NEEDED (also without NOT), DT_SONAME and link flags
    check_abi.py floor LIBRARY FLOOR         symbol versions; exit 77 if only a newer toolchain's
    check_abi.py confined OBJECT...          only base/fatal.cpp prints or stops the process
"""

import re
import subprocess
import sys

SKIPPED = 77
SONAME = "librow_store.so.1"
VERSION_NODE = "ROW_STORE_1"

# How a process is stopped or its standard streams written from C or C++. pwrite is not here: it
# cannot write to a terminal or a pipe.
STOP_OR_PRINT = {
    "abort", "exit", "_exit", "_Exit", "quick_exit", "raise", "kill", "__assert_fail",
    "write", "writev", "dprintf", "__dprintf_chk", "vdprintf", "__vdprintf_chk",
    "stdout", "stderr", "printf", "__printf_chk", "vprintf", "__vprintf_chk", "puts", "putchar",
    "perror", "psignal", "syslog", "error", "err", "errx", "warn", "warnx",
    "_ZSt4cout", "_ZSt4cerr", "_ZSt4clog",
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def words(path):
    with open(path, encoding="ascii") as file:
        lines = [line.split("#")[0].split() for line in file]
    return [line for line in lines if line]


def listed(paths):
    return {line[0] for path in paths for line in words(path)}


def complain(*faults):
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def differences(what, found, expected, where):
    return [f"{what}: {name} is missing, {where} has it" for name in sorted(expected - found)] + [
        f"{what}: {name} is there, {where} lacks it" for name in sorted(found - expected)
    ]


def exports(library, *lists):
    found = set()
    faults = []
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind == "A" and name == VERSION_NODE:
            continue
        symbol, _, version = name.partition("@@")
        found.add(symbol)
        if version != VERSION_NODE:
            faults.append(f"{library}: {name} is not a default version of {VERSION_NODE}")
    faults += differences(library, found, listed(lists), " + ".join(lists))
    return complain(*faults)


def prototypes(header, drm):
    with open(header, encoding="ascii") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    if not drm:
        text = re.sub(r"#ifdef DSV41_ROW_STORE_DRM.*?#endif", "", text, flags=re.S)
    return set(re.findall(r"^ROW_STORE_API\b[^;(]*?\b(\w+)\s*\(", text, flags=re.M))


def header(header_path, map_path, *lists):
    expected = listed(lists)
    with open(map_path, encoding="ascii") as file:
        mapped = set(re.findall(r"^\s+(row_store_\w+);", file.read(), flags=re.M))
    drm = "row_store_next_cache_on_drm" in expected
    where = " + ".join(lists)
    return complain(*differences(header_path, prototypes(header_path, drm), expected, where),
                    *differences(map_path, mapped, expected, where))


def needed(library, needed_path, *without):
    dynamic = run("readelf", "--dynamic", "--wide", library)
    allowed = listed([needed_path]) - set(without)
    faults = []
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if name.split(".so")[0] not in allowed:
            faults.append(f"{library} needs {name}, which this build may not")
    for tag, expected in (("SONAME", SONAME), ("RUNPATH", "$ORIGIN")):
        found = re.findall(rf"\({tag}\).*\[(.*)\]", dynamic)
        if found != [expected]:
            faults.append(f"{library}: DT_{tag} is {found}, expected {expected}")
    for flag in ("NOW", "NODELETE"):
        if not re.search(rf"\(FLAGS_1\).*\b{flag}\b", dynamic):
            faults.append(f"{library} is not linked with -z {flag.lower()}")
    if "GNU_RELRO" not in run("readelf", "--segments", "--wide", library):
        faults.append(f"{library} is not linked with -z relro")
    return complain(*faults)


def version(text):
    return tuple(int(part) for part in text.split("."))


def floor(library, floor_path):
    limits = {line[0]: (version(line[1]), version(line[2])) for line in words(floor_path)}
    highest = {}
    faults = []
    forced = []
    for line in run("nm", "-D", "--undefined-only", library).splitlines():
        symbol = line.split()[-1]
        match = re.fullmatch(r".*@([A-Z]+)_([0-9.]+)", symbol)
        if not match:
            if "@" in symbol:
                faults.append(f"{symbol}: a family of versions that {floor_path} does not list")
            continue
        family, wanted = match[1], version(match[2])
        if family not in limits:
            faults.append(f"{symbol}: {floor_path} has no line for {family}")
            continue
        highest[family] = max(highest.get(family, (0,)), wanted)
        allowed, offered = limits[family]
        if wanted > offered:
            forced.append(f"{symbol}: put there by a toolchain newer than the floor's")
        elif wanted > allowed:
            faults.append(f"{symbol}: above the floor of {family}")
    for family, wanted in sorted(highest.items()):
        print(f"highest {family} {'.'.join(map(str, wanted))}")
    print(*forced, sep="\n", end="\n" if forced else "")
    return complain(*faults) or (SKIPPED if forced else 0)


def confined(*objects):
    faults = []
    fatal_stops = False
    for path in objects:
        names = {line.split()[-1] for line in run("nm", "--undefined-only", path).splitlines()}
        found = sorted(names & STOP_OR_PRINT)
        if path.endswith("base/fatal.cpp.o"):
            fatal_stops = "abort" in found and "write" in found
        elif found:
            faults.append(f"{path} uses {', '.join(found)}; only base/fatal.cpp may")
    if not fatal_stops:
        faults.append("base/fatal.cpp.o does not use abort and write: is this check blind?")
    return complain(*faults)


if __name__ == "__main__":
    commands = {check.__name__: check for check in (exports, header, needed, floor, confined)}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
