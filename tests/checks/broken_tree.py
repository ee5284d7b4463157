"""Miniature repositories for the tests of the checks: one that passes, and ways to break it."""

import pathlib
import subprocess
import tempfile

import repository

GOOD = {
    "CMakeLists.txt": "add_subdirectory(src/core)\nadd_subdirectory(src/plan)\n",
    "src/core/CMakeLists.txt": "add_module(core\n  HEADERS a.h\n  SOURCES a.cc)\n",
    "src/core/a.h": "#pragma once\n\n#include <vector>\n\nint a();\n",
    "src/core/a.cc": '#include "core/a.h"\n\nint a() { return 1; }\n',
    "src/plan/CMakeLists.txt": (
        "add_module(plan\n  HEADERS p.h\n  SOURCES p.cc\n  MODULES core\n  TESTS p_test.cc)\n"
    ),
    "src/plan/p.h": "#pragma once\n\nint p();\n",
    "src/plan/p.cc": '#include "plan/p.h"\n\n#include "core/a.h"\n\nint p() { return a(); }\n',
    "src/plan/p_test.cc": '#include "plan/p.h"\n\nint main() { return p() - 1; }\n',
}


class Tree:
    """GOOD with some files replaced or added, in a temporary folder; None removes a file."""

    def __init__(self, changes=None, git=False):
        self._folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self._folder.name)
        for path, text in {**GOOD, **(changes or {})}.items():
            if text is not None:
                target = self.root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
        if git:
            subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._folder.cleanup()

    def findings(self, check):
        return check(repository.files(self.root))
