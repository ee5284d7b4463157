"""The files of the repository, and the report that every check ends with."""

import pathlib
import subprocess
import sys
from typing import NamedTuple

SKIPPED_FOLDERS = {".git", "build", "out", "node_modules", "__pycache__"}
CPP = {".cc", ".h"}
CODE = CPP | {".py", ".sh", ".cmake"}
TEXT = CODE | {".md", ".toml", ".json", ".txt", ".js", ".html", ".css", ".csv", ".yml"}


class Finding(NamedTuple):
    """One violation: where it is, and what to do instead."""

    path: str
    line: int
    message: str


class File:
    """One file: its path relative to the root, with '/', and its text, read when asked for."""

    def __init__(self, root, path):
        self.path = path
        self.absolute = pathlib.Path(root) / path
        self.suffix = self.absolute.suffix
        self.name = self.absolute.name
        self._text = None

    @property
    def text(self):
        if self._text is None:
            self._text = self.absolute.read_text(encoding="utf-8", errors="replace")
        return self._text

    @property
    def lines(self):
        return self.text.split("\n")

    @property
    def module(self):
        """'plan' for src/plan/wire.h; empty outside of src/."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else ""

    @property
    def is_cpp(self):
        return self.suffix in CPP

    @property
    def is_header(self):
        return self.suffix == ".h"

    @property
    def is_test(self):
        """A test, or a helper of tests: beside the code (*_test_support.h) or in tests/."""
        name = self.absolute.stem
        return name.endswith(("_test", "_test_support")) or self.path.startswith("tests/")

    @property
    def is_code(self):
        return self.suffix in CODE or self.name == "CMakeLists.txt"

    @property
    def is_text(self):
        return self.suffix in TEXT or self.suffix == ""


def files(root):
    """Every file that is tracked or would be added; without git, every file outside of builds."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        # A checkout that belongs to somebody else is normal in a container; it is only read here.
        command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z"]
        command += ["--cached", "--others", "--exclude-standard"]
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        paths = set(listing.split("\0")) - {""}
    else:
        found = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
        paths = {p.as_posix() for p in found if not SKIPPED_FOLDERS & set(p.parts)}
    return [File(root, path) for path in sorted(paths) if (root / path).is_file()]


def report(name, findings, count):
    """Prints the findings as file:line: message; returns the exit code."""
    for finding in sorted(findings):
        print(f"{finding.path}:{finding.line}: {finding.message}")
    print(f"{name}: {count} files, {len(findings)} findings")
    if count == 0:
        print(f"{name}: there was nothing to check: wrong root?")
    return 1 if findings or count == 0 else 0


def main(name, check, selected):
    """Runs check(files of the root in argv[1]) and exits; `selected` says which files it reads."""
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    every = files(root)
    sys.exit(report(name, check(every), sum(1 for f in every if selected(f))))
