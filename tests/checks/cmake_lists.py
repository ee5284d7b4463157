"""Reads the commands of CMake files: names and arguments, no evaluation."""

import posixpath
import re

_COMMAND = re.compile(r"^[ \t]*(\w+)[ \t]*\(([^()]*)\)", re.MULTILINE)
MODULE_KEYWORDS = {
    "HEADERS",
    "SOURCES",
    "MODULES",
    "PUBLIC_LIBS",
    "PRIVATE_LIBS",
    "TESTS",
    "SLOW_TESTS",
}
SOURCE_KEYWORDS = {"FILES", "PUBLIC", "PRIVATE", "INTERFACE", "FILE_SET", "BASE_DIRS"}


def commands(text):
    """(command, arguments) in order; comments are dropped, "a;b" is two arguments."""
    code = re.sub(r"#[^\n]*", "", text)
    for match in _COMMAND.finditer(code):
        yield match.group(1).lower(), re.sub('[";]', " ", match.group(2)).split()


def keyword_lists(arguments, keywords):
    """{keyword: arguments that follow it}; the arguments before any keyword are under ''."""
    lists = {"": []}
    current = ""
    for argument in arguments:
        if argument in keywords:
            current = argument
            lists.setdefault(current, [])
        else:
            lists[current].append(argument)
    return lists


class CMakeFile:
    """What one CMakeLists.txt registers, as paths relative to the root."""

    def __init__(self, file):
        self.path = file.path
        self.folder = posixpath.dirname(file.path)
        self.words = set()
        self.headers = set()
        self.modules = set()
        for command, arguments in commands(file.text):
            self.words |= {self._resolve(argument) for argument in arguments}
            self.modules |= {a[len("mixnet_") :] for a in arguments if a.startswith("mixnet_")}
            if command == "add_module":
                lists = keyword_lists(arguments, MODULE_KEYWORDS)
                self.headers |= {self._resolve(h) for h in lists.get("HEADERS", [])}
                self.modules |= set(lists.get("MODULES", []))
            elif command == "target_sources":
                lists = keyword_lists(arguments, SOURCE_KEYWORDS)
                self.headers |= {self._resolve(h) for h in lists.get("FILES", [])}

    def _resolve(self, argument):
        for prefix in ("${PROJECT_SOURCE_DIR}/", "${CMAKE_SOURCE_DIR}/"):
            if argument.startswith(prefix):
                return argument[len(prefix) :]
        return posixpath.normpath(posixpath.join(self.folder, argument))


def read_all(files):
    """{folder: CMakeFile} of every CMakeLists.txt, and the words of all CMake files together."""
    lists = [CMakeFile(f) for f in files if f.name == "CMakeLists.txt" or f.suffix == ".cmake"]
    by_folder = {c.folder: c for c in lists if c.path.endswith("CMakeLists.txt")}
    words = set().union(*(c.words for c in lists)) if lists else set()
    return by_folder, words


def nearest(by_folder, path):
    """The CMakeLists.txt that governs a path: of its folder, or of the closest folder above."""
    folder = posixpath.dirname(path)
    while folder not in by_folder:
        if not folder:
            return None
        folder = posixpath.dirname(folder)
    return by_folder[folder]
