"""Holds every #include, and every MODULES list of CMake, against the table of modules.

The compiler accepts an inline function of a forbidden module, and the link test does not see it:
only this table does.
"""

import re

import cmake_lists
import cpp_source
import repository
from repository import Finding

# module -> modules that it may include besides itself.
ALLOWED = {
    "core": set(),
    "scenario": {"core"},
    "plan": {"core"},
    "sim": {"core"},
    "report": {"core"},
    "net": {"core"},
    "ocs": {"core", "net"},
    "ep": {"core", "net"},
}
ADAPTERS = {"cli", "daemon", "python"}
KNOWN = set(ALLOWED) | ADAPTERS
# tests/support/ holds what the tests of several modules share; it may include core.
SUPPORT = "support"
SUPPORT_FOLDER = "tests/support/"

SLOW_HEADERS = {"iostream", "regex", "filesystem"}
# plan holds pure decisions: no clock, no thread, no input or output.
IMPURE_HEADERS = {"chrono", "cstdio", "ctime", "filesystem", "fstream", "iostream", "thread"}


def may_include(module, target):
    return module in ADAPTERS or target == module or target in ALLOWED[module]


def _quoted(file, path):
    """The complaint about #include "path", or None."""
    target = path.split("/")[0]
    if path.startswith(".") or "/../" in path or "/" not in path:
        return f'"{path}" is relative: name it from src/, as in "core/units.h"'
    if target == SUPPORT:
        return None if file.is_test else f'"{path}" is for tests only'
    if target not in KNOWN:
        return f'"{path}": there is no module "{target}"; libraries go in <>'
    if file.path.startswith(SUPPORT_FOLDER) and target != "core":
        return f"{SUPPORT_FOLDER} serves the tests of all modules: it may include core only"
    if file.module and not may_include(file.module, target):
        allowed = ", ".join(sorted(ALLOWED[file.module])) or "nothing"
        return (
            f'{file.module} may not include {target} (only {allowed}): let types of core carry '
            "the data, or join the two in cli"
        )
    return None


def _angled(file, path):
    """The complaint about #include <path>, or None."""
    if path.split("/")[0] in KNOWN and "/" in path:
        return f"<{path}>: headers of modules go in quotes"
    if file.is_header and path.startswith("fmt/"):
        return "fmt is for .cc files: it costs every includer half a second"
    if file.module == "core" and file.is_header and path in SLOW_HEADERS:
        return f"<{path}> is too slow to compile for a header of core"
    if file.module == "core" and not file.is_test and not re.fullmatch(r"[a-z_0-9]+", path):
        return f"<{path}>: core uses the standard library only"
    if file.module == "plan" and not file.is_test and path in IMPURE_HEADERS:
        return f"<{path}>: plan holds pure functions, without clock, threads or files"
    return None


def check_includes(files):
    findings = []
    for file in files:
        if not file.is_cpp or (file.module and file.module not in KNOWN):
            continue
        for line, quoted, path in cpp_source.includes(file.text):
            complaint = (_quoted if quoted else _angled)(file, path)
            if complaint:
                findings.append(Finding(file.path, line, complaint))
    return findings


def check_folders(files):
    folders = {f.module: f.path for f in reversed(files) if f.module}
    return [
        Finding(path, 1, f'unknown module "{module}": add it to ALLOWED in include_table.py')
        for module, path in folders.items()
        if module not in KNOWN
    ]


def check_cmake(files):
    """The table covers the MODULES of CMake, and these cover the includes."""
    findings = []
    by_folder, _ = cmake_lists.read_all(files)
    for module in ALLOWED:
        sources = [f for f in files if f.module == module and f.is_cpp]
        if not sources:
            continue
        listed = by_folder.get(f"src/{module}")
        if listed is None:
            findings.append(Finding(sources[0].path, 1, f"src/{module} has no CMakeLists.txt"))
            continue
        for named in sorted(listed.modules & KNOWN - {module}):
            if not may_include(module, named):
                message = f"{module} may not link {named}: see ALLOWED in include_table.py"
                findings.append(Finding(listed.path, 1, message))
        findings += _unlisted(module, sources, listed.modules)
    return findings


def _unlisted(module, sources, listed):
    findings = []
    for file in sources:
        for line, quoted, path in cpp_source.includes(file.text):
            target = path.split("/")[0]
            if quoted and "/" in path and target not in listed | {module, SUPPORT}:
                message = f'add "{target}" to MODULES in src/{module}/CMakeLists.txt'
                findings.append(Finding(file.path, line, message))
    return findings


def check(files):
    return check_folders(files) + check_includes(files) + check_cmake(files)


if __name__ == "__main__":
    repository.main("include table", check, lambda f: f.is_cpp)
