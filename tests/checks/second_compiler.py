"""Checks that every source also passes clang, with the warnings of the build.

Only the syntax and the types are checked: nothing is generated and no sanitizer is applied. The
commands come from compile_commands.json of the build folder in argv[1].

All sources of a library are one unit here. That saves time, and it keeps the names of its unnamed
namespaces apart: the build puts a few sources into each unit, and a new file moves the others.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

COMPILER = "clang++-14"


def clang_command(entry):
    """The entry's command with clang in place of its compiler: no output, source or sanitizers."""
    words = shlex.split(entry["command"])
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    kept = []
    skip = False
    for word in words[first:]:
        if skip:
            skip = False
        elif word in ("-o", "-MT", "-MF"):
            skip = True
        elif word not in ("-c", "-MD", entry["file"]) and "sanitize" not in word:
            kept.append(word)
    return [COMPILER, "-fsyntax-only", *kept]


def is_united(entry):
    """Whether it is a unit that the build made of several sources."""
    return pathlib.Path(entry["file"]).parent.name == "Unity"


def is_own(entry):
    """Not the generated files, except units of several of our sources."""
    return is_united(entry) or pathlib.Path(entry["directory"]) not in pathlib.Path(
        entry["file"]).parents


def library_of(entry):
    """What is compiled together. The programs of a "_link" target have a main() each."""
    folder = str(pathlib.Path(entry["file"]).parent)
    return folder if is_united(entry) and "_link.dir" not in folder else entry["file"]


def run(entries):
    name = library_of(entries[0])
    with tempfile.NamedTemporaryFile("w", suffix=".cxx") as unit:
        unit.writelines(f'#include "{entry["file"]}"\n' for entry in entries)
        unit.flush()
        done = subprocess.run(
            [*clang_command(entries[0]), unit.name],
            cwd=entries[0]["directory"],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return name, done.returncode, done.stdout


def main(build):
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    libraries = collections.defaultdict(dict)
    for entry in filter(is_own, commands):
        libraries[library_of(entry)][entry["file"]] = entry
    units = [list(files.values()) for files in libraries.values()]
    units.sort(key=len, reverse=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, output in pool.map(run, units):
            if code:
                failed += 1
                print(f"{name}: does not pass {COMPILER}\n{output}")
    print(f"second compiler: {len(units)} units, {failed} failed")
    return 1 if failed or not units else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
