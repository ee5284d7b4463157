"""Checks that every compiled unit also passes clang, with the warnings of the build.

Only the syntax and the types are checked: nothing is generated and no sanitizer is applied. The
commands come from compile_commands.json of the build folder in argv[1].
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

COMPILER = "clang++-14"


def clang_command(entry):
    """The entry's command with clang in place of its compiler, without output and sanitizers."""
    words = shlex.split(entry["command"])
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    kept = []
    skip = False
    for word in words[first:]:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word != "-c" and "-fsanitize" not in word and "-fno-sanitize" not in word:
            kept.append(word)
    return [COMPILER, "-fsyntax-only", *kept]


def is_own(entry):
    """Not the generated files, except the units that several of our sources are compiled in."""
    file = pathlib.Path(entry["file"])
    return file.parent.name == "Unity" or pathlib.Path(entry["directory"]) not in file.parents


def run(entry):
    done = subprocess.run(
        clang_command(entry),
        cwd=entry["directory"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return entry["file"], done.returncode, done.stdout


def main(build):
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    unique = {e["file"]: e for e in entries if is_own(e)}
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, code, output in pool.map(run, unique.values()):
            if code:
                failed += 1
                print(f"{file}: does not pass {COMPILER}\n{output}")
    print(f"second compiler: {len(unique)} units, {failed} failed")
    return 1 if failed or not unique else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
