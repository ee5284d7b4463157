"""What the compiler does not check: registration, banned calls, sizes, leftovers.

Every message says what to write instead.
"""

import re
from typing import NamedTuple

import cmake_lists
import cpp_source
import include_table
import repository
from repository import Finding

MAX_FUNCTION_LINES = 70
MAX_PARAMETERS = 6
MAX_FILE_LINES = 600
MAX_COLUMNS = 100
MAX_BLOB_BYTES = 256 * 1024

# Files that may do what a rule bans, and why.
EXCEPTIONS = {
    ("src/core/check.cc", "print"): "a failed CHECK says where before it aborts",
    ("src/core/check.cc", "exit"): "a failed CHECK is our bug: there is nobody to return to",
}


def in_library(file):
    return file.is_cpp and file.module in include_table.ALLOWED


def in_library_itself(file):
    """Its tests are programs: they may print, and leave a child process."""
    return in_library(file) and not file.is_test


def in_clockless_code(file):
    return in_library(file) and file.module not in ("net", "ep")


def in_decisions(file):
    return file.module in ("plan", "sim") and not file.is_test


class Ban(NamedTuple):
    """Code (comments and strings blanked) that matches `pattern` is a finding."""

    name: str
    applies: object  # File -> bool
    pattern: str
    instead: str


FREE = r"(?<![\w.>:])(?:std::|::)?"  # a call of a free function, not of a member
BANS = (
    Ban("seed", lambda f: f.is_cpp, r"\brandom_device\b", "a RandomStream from the root seed"),
    Ban("rand", lambda f: f.is_cpp, FREE + r"s?rand\s*\(", "a RandomStream from the root seed"),
    Ban(
        "engine",
        lambda f: f.is_cpp,
        r"\bstd::(?:mt19937|minstd_rand|default_random_engine|\w+_distribution)\w*",
        "RandomStream: what std:: draws differs between compilers",
    ),
    Ban(
        "time",
        lambda f: f.is_cpp,
        FREE + r"time\s*\(\s*(?:nullptr|NULL|0|&)",
        "simulated time, or the clock of net",
    ),
    Ban(
        "clock",
        in_clockless_code,
        r"\b(?:system|steady|high_resolution)_clock\b",
        "simulated time, or the clock of net passed in by an adapter",
    ),
    Ban(
        "print",
        in_library_itself,
        FREE + r"(?:v?f?printf|puts|putchar)\s*\(|\bstd::(?:cout|cerr|clog)\b|\bfmt::print\b",
        "a returned value: libraries never print, cli does",
    ),
    Ban(
        "exit",
        in_library_itself,
        FREE + r"(?:_?exit|quick_exit|_Exit|abort|terminate)\s*\(",
        "a Result for what the outside did, CHECK for our bug: libraries never exit",
    ),
    Ban(
        "assert",
        lambda f: f.is_cpp,
        r"(?<!\w)assert\s*\(",
        "CHECK, which release builds keep",
    ),
    Ban(
        "namespace",
        lambda f: f.is_header,
        r"\busing\s+namespace\b",
        "qualified names: every includer would inherit the directive",
    ),
    Ban(
        "pointer key",
        in_decisions,
        r"\bstd::(?:multi)?(?:map|set)<\s*(?:const\s+)?[\w:]+\s*(?:const\s*)?\*",
        "an id as the key: the order of pointers changes from run to run",
    ),
    Ban("null", lambda f: f.is_cpp, r"\bNULL\b", "nullptr"),
    Ban("disabled", lambda f: f.is_cpp, r"(?m)^[ \t]*#[ \t]*if[ \t]+0\b", "nothing: git keeps it"),
)


def check_bans(files):
    findings = []
    for file in files:
        bans = [b for b in BANS if b.applies(file) and (file.path, b.name) not in EXCEPTIONS]
        code = cpp_source.blank(file.text) if bans else ""
        for ban in bans:
            for match in re.finditer(ban.pattern, code):
                text = f"`{match.group().strip()}` is banned; use {ban.instead}"
                findings.append(Finding(file.path, cpp_source.line_of(code, match.start()), text))
    return findings


def check_exceptions(files):
    """An exception that excuses nothing has to go."""
    findings = []
    by_path = {f.path: f for f in files}
    for path, name in EXCEPTIONS:
        ban = next(b for b in BANS if b.name == name)
        file = by_path.get(path)
        if file and not re.search(ban.pattern, cpp_source.blank(file.text)):
            findings.append(Finding(path, 1, f'needs no exception for "{name}" in tidy.py'))
    return findings


def check_unordered(files):
    """plan and sim may look things up in an unordered container if they say why it is safe."""
    findings = []
    for file in filter(in_decisions, files):
        code = cpp_source.blank(file.text).split("\n")
        for number, line in enumerate(code, 1):
            if not re.search(r"\bunordered_(?:multi)?(?:map|set)\b", line) or "#" in line:
                continue
            nearby = "\n".join(file.lines[max(0, number - 2) : number])
            if not re.search(r"// unordered: \w", nearby):
                message = (
                    "unordered container: use a sorted one, or state in a comment "
                    "`// unordered: why its order never matters`"
                )
                findings.append(Finding(file.path, number, message))
    return findings


def quoted_includes(file):
    if not file.is_cpp:
        return []
    return [path for _, quoted, path in cpp_source.includes(file.text) if quoted]


def check_registration(files):
    """Every source, header and test is named by a CMake list; nothing lies about unbuilt."""
    findings = []
    by_folder, words = cmake_lists.read_all(files)
    headers = set().union(*(c.headers for c in by_folder.values())) if by_folder else set()
    # Test support belongs to no library: being included is what keeps it alive.
    words |= {"tests/" + path for f in files if f.is_test for path in quoted_includes(f)}
    for file in files:
        if not file.is_cpp:
            continue
        near = cmake_lists.nearest(by_folder, file.path)
        where = near.path if near else "a CMakeLists.txt"
        if file.path not in words:
            kind = "test, it never runs" if file.name.endswith("_test.cc") else "file, it is dead"
            message = f"unregistered {kind}: name it in {where} or delete it"
            findings.append(Finding(file.path, 1, message))
        elif file.is_header and file.module and not file.is_test and file.path not in headers:
            message = f"list it under HEADERS in {where}, so that it is compiled on its own"
            findings.append(Finding(file.path, 1, message))
    return findings


def check_functions(files):
    findings = []
    for file in files:
        if not file.is_cpp:
            continue
        for function in cpp_source.functions(file.text):
            lines = function.lines
            if file.is_test:
                lines -= function.table_lines
            if lines > MAX_FUNCTION_LINES:
                message = f"{function.name}: {lines} lines, at most {MAX_FUNCTION_LINES}: split it"
                findings.append(Finding(file.path, function.line, message))
            if function.parameters > MAX_PARAMETERS:
                message = (
                    f"{function.name}: {function.parameters} parameters, at most "
                    f"{MAX_PARAMETERS}: pass a struct"
                )
                findings.append(Finding(file.path, function.line, message))
    return findings


def check_headers(files):
    return [
        Finding(f.path, 1, "add #pragma once")
        for f in files
        if f.is_header and not re.search(r"(?m)^#pragma once$", f.text)
    ]


def check_sizes(files):
    findings = []
    for file in files:
        size = file.absolute.stat().st_size
        if size > MAX_BLOB_BYTES:
            message = f"{size} bytes, at most {MAX_BLOB_BYTES}: generate or fetch it instead"
            findings.append(Finding(file.path, 1, message))
        if not file.is_code:
            continue
        if len(file.lines) - 1 > MAX_FILE_LINES:
            message = f"{len(file.lines) - 1} lines, at most {MAX_FILE_LINES}: split it"
            findings.append(Finding(file.path, 1, message))
        for number, line in enumerate(file.lines, 1):
            if len(line) > MAX_COLUMNS:
                message = f"{len(line)} columns, at most {MAX_COLUMNS}"
                findings.append(Finding(file.path, number, message))
    return findings


# A comment line that a compiler would take for a statement or the head of a block.
STATEMENT_IN_COMMENT = re.compile(
    r"""^\s*//\s*(?:
        \#\s*include\b.*
      | (?:return|break|continue|delete|throw|using|goto)\b[^.]*;
      | (?:if|for|while|switch|else)\b.*\{
      | (?:[\w:<>,*&]+\s+){0,2}[\w:.\[\]*\->]+\s*[+*/|&-]?=\s*\S.*;
      | (?:[\w:<>,*&]+\s+)?[\w:.\->]+\(.*\);
      | (?:const\s+)?(?:int|bool|double|auto|u?int\d+_t|std::[\w:<>,\s]+)[*&]?\s+\w+;
      | \}[;,]?
    )\s*$""",
    re.VERBOSE,
)


def check_comments(files):
    findings = []
    for file in files:
        if not file.is_cpp:
            continue
        for number, line in enumerate(file.lines, 1):
            if STATEMENT_IN_COMMENT.match(line):
                findings.append(Finding(file.path, number, "commented-out code: delete it"))
            if "NOLINT" in line and "NOLINTEND" not in line:
                if not re.search(r"NOLINT(?:NEXTLINE|BEGIN)?\([\w.,\- ]+\): \S", line):
                    message = "write NOLINT(check): reason"
                    findings.append(Finding(file.path, number, message))
    return findings


# Written in two halves, so that this file does not find itself.
LEFTOVER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE_PATH = re.compile(
    r"(?<![\w.$}~-])/(?:wo" + r"rk|tmp/w" + r"t|ro" + r"ot|home/\w+)(?![\w.-])"
)


def check_text(files):
    findings = []
    for file in files:
        if not file.is_text:
            continue
        for number, line in enumerate(file.lines, 1):
            if LEFTOVER.search(line):
                findings.append(Finding(file.path, number, "do it now, or file it elsewhere"))
            if MACHINE_PATH.search(line):
                message = "path of one machine: take it as an argument"
                findings.append(Finding(file.path, number, message))
    return findings


CHECKS = (
    check_bans,
    check_exceptions,
    check_unordered,
    check_registration,
    check_functions,
    check_headers,
    check_sizes,
    check_comments,
    check_text,
)


def check(files):
    return [finding for one in CHECKS for finding in one(files)]


if __name__ == "__main__":
    repository.main("tidy", check, lambda f: True)
