"""Proves that the three module checks each catch what the other two, and the build, let through.

A miniature project with our own add_module() is broken in three ways. The expected outcome of
every check on every violation is the table below; a check that stops failing fails here. argv[1]
is the root of the repository, argv[2] an empty folder to build in.
"""

import pathlib
import shutil
import subprocess
import sys

import include_table
import repository

TOP = """cmake_minimum_required(VERSION 3.25)
project(miniature LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
include(cmake/Warnings.cmake)
include(cmake/AddModule.cmake)
enable_testing()
add_subdirectory(src/core)
add_subdirectory(src/plan)
add_subdirectory(src/sim)
add_executable(program src/cli/main.cc)
target_link_libraries(program PRIVATE mixnet_sim mixnet_plan)
"""
MAIN = '#include "plan/p.h"\n#include "sim/s.h"\nint main() { return s() + p(); }\n'
GOOD = {
    "CMakeLists.txt": TOP,
    "src/core/CMakeLists.txt": "add_module(core HEADERS c.h SOURCES c.cc)\n",
    "src/core/c.h": "#pragma once\n#include <vector>\nint c(const std::vector<int>& v);\n",
    "src/core/c.cc": '#include "core/c.h"\nint c(const std::vector<int>& v) { return v[0]; }\n',
    "src/plan/CMakeLists.txt": "add_module(plan HEADERS p.h SOURCES p.cc MODULES core)\n",
    "src/plan/p.h": "#pragma once\nint p();\ninline int q() { return 1; }\n",
    "src/plan/p.cc": '#include "plan/p.h"\nint p() { return 1; }\n',
    "src/sim/CMakeLists.txt": "add_module(sim HEADERS s.h SOURCES s.cc MODULES core)\n",
    "src/sim/s.h": "#pragma once\nint s();\n",
    "src/sim/s.cc": '#include "sim/s.h"\nint s() { return 2; }\n',
    "src/cli/main.cc": MAIN,
}
INLINE = '#include "sim/s.h"\n#include "plan/p.h"\nint s() { return q(); }\n'
FORWARD = '#include "sim/s.h"\nint p();\nint s() { return p(); }\n'
HEADER = "#pragma once\nint c(const std::vector<int>& v);\n"
SOURCE = "#include <vector>\n" + GOOD["src/core/c.cc"]

# violation: changed files, and the only check that may fail
VIOLATIONS = {
    "nothing": ({}, None),
    "header that does not stand alone": (
        {"src/core/c.h": HEADER, "src/core/c.cc": SOURCE},
        "headers",
    ),
    "inline function of a forbidden module": ({"src/sim/s.cc": INLINE}, "includes"),
    "forward-declared function of a forbidden module": ({"src/sim/s.cc": FORWARD}, "link"),
}


def write(root, changes):
    """Writes GOOD with the changes, leaving equal files alone so that the build is short."""
    for path, text in {**GOOD, **changes}.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def passes(*command):
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode == 0, done.stdout


def outcomes(root):
    """{check: (passed, output)}; `program` is what an ordinary build would have shown."""
    build = ("cmake", "--build", str(root / "build"), "--target")
    table = include_table.check(repository.files(root))
    return {
        "program": passes(*build, "program"),
        "headers": passes(*build, "all_verify_interface_header_sets"),
        "link": passes(*build, "mixnet_core_link", "mixnet_plan_link", "mixnet_sim_link"),
        "includes": (not table, "\n".join(f.message for f in table)),
    }


def prepare(source, root):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for path in ("cmake/Warnings.cmake", "cmake/AddModule.cmake", "tests/link/empty_main.cc"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / path, root / path)
    write(root, {})
    configured, output = passes("cmake", "-G", "Ninja", "-S", str(root), "-B", str(root / "build"))
    if not configured:
        sys.exit(f"enforcement: the miniature project does not configure\n{output}")


def main(source, root):
    prepare(source, root)
    wrong = 0
    for name, (changes, culprit) in VIOLATIONS.items():
        write(root, changes)
        for check, (passed, output) in outcomes(root).items():
            as_expected = passed == (check != culprit)
            wrong += not as_expected
            verdict = "passes" if passed else "fails"
            print(f"{name}: {check} {verdict}{'' if as_expected else ', UNEXPECTED'}")
            if not as_expected:
                print(output)
    print(f"enforcement: {len(VIOLATIONS)} trees, {wrong} unexpected outcomes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
