"""clang-format over every C++ file, in the version whose output is the reference."""

import pathlib
import subprocess
import sys

import repository

TOOL = "clang-format-14"


def main(root):
    paths = [f.path for f in repository.files(root) if f.is_cpp]
    if not paths:
        return repository.report("layout", [], 0)
    command = [TOOL, "--dry-run", "-Werror", *paths]
    code = subprocess.run(command, cwd=root, check=False).returncode
    print(f"layout: {len(paths)} files")
    if code:
        print(f"layout: run {TOOL} -i on the files above")
    return code


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
