"""The checks that call clang's tools fail when the tools find something, or find nothing to do."""

import contextlib
import io
import json
import unittest

import layout
import second_compiler
from broken_tree import Tree


def quietly(function, *arguments):
    """(return value, what it printed)"""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        value = function(*arguments)
    return value, output.getvalue()


class Layout(unittest.TestCase):
    STYLE = {".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n"}

    def test_good_tree_passes(self):
        with Tree(self.STYLE) as tree:
            self.assertEqual(quietly(layout.main, tree.root)[0], 0)

    def test_badly_laid_out(self):
        with Tree({**self.STYLE, "src/core/a.cc": "int  a( ){return 1 ;}\n"}) as tree:
            self.assertNotEqual(quietly(layout.main, tree.root)[0], 0)


class SecondCompiler(unittest.TestCase):
    def check(self, source):
        with Tree({"a.cc": source}) as tree:
            command = f"/usr/bin/c++ -std=c++20 -Wall -Werror -o a.o -c {tree.root / 'a.cc'}"
            entry = {"directory": str(tree.root / "build"), "command": command}
            (tree.root / "build").mkdir()
            entries = [{**entry, "file": str(tree.root / "a.cc")}]
            database = tree.root / "build" / "compile_commands.json"
            database.write_text(json.dumps(entries), encoding="utf-8")
            code, output = quietly(second_compiler.main, tree.root / "build")
            self.assertFalse((tree.root / "build" / "a.o").exists())
        return code, output

    def test_passes(self):
        self.assertEqual(self.check("int f() { return 1; }\n")[0], 0)

    def test_source_that_only_gcc_takes(self):
        code, output = self.check("struct A { int x; int y; };\nstatic_assert((A(1, 2).x) == 1);\n")
        self.assertEqual(code, 1)
        self.assertIn("a.cc: does not pass clang++-14", output)

    def test_warning(self):
        self.assertEqual(self.check("static int f() { return 1; }\n")[0], 1)

    def test_launcher_before_the_compiler(self):
        command = "ccache /usr/bin/c++ -DX=1 -fsanitize=address -MD -MT x.o -o x.o -c x.cc"
        entry = {"file": "x.cc", "command": command}
        command = second_compiler.clang_command(entry)
        self.assertEqual(command, ["clang++-14", "-fsyntax-only", "-DX=1"])

    def test_names_of_one_library_do_not_clash(self):
        source = "namespace {\nconstexpr int kMost = 1;\n}\nint FUNCTION() { return kMost; }\n"
        with Tree({}) as tree:
            folder = tree.root / "build" / "lib.dir" / "Unity"
            folder.mkdir(parents=True)
            entries = []
            for name in ("f", "g"):
                file = folder / f"unit_{name}.cxx"
                file.write_text(source.replace("FUNCTION", name), encoding="utf-8")
                command = f"/usr/bin/c++ -std=c++20 -o {name}.o -c {file}"
                entries.append({"directory": str(folder), "command": command, "file": str(file)})
            database = tree.root / "build" / "compile_commands.json"
            database.write_text(json.dumps(entries), encoding="utf-8")
            code, output = quietly(second_compiler.main, tree.root / "build")
        self.assertEqual(code, 1)
        self.assertIn("redefinition of 'kMost'", output)

    def test_generated_sources_are_left_out(self):
        self.assertFalse(second_compiler.is_own({"directory": "/a/b", "file": "/a/b/c/x.h.cxx"}))
        self.assertTrue(second_compiler.is_own({"directory": "/a/b", "file": "/a/src/x.cc"}))


if __name__ == "__main__":
    unittest.main()
