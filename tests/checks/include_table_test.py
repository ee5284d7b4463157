"""Every rule of the include table fails on a tree that breaks it, and only there."""

import pathlib
import unittest

import include_table
from broken_tree import GOOD, Tree


class IncludeTable(unittest.TestCase):
    def expect(self, path, text, part):
        """Replacing one file gives findings in that file, the first of which says `part`."""
        with Tree({path: text}) as tree:
            findings = tree.findings(include_table.check)
        self.assertTrue(findings, f"nothing found in {path}: {text}")
        self.assertIn(part, findings[0].message)
        self.assertEqual({f.path for f in findings}, {path})

    def test_good_tree_passes(self):
        with Tree() as tree:
            self.assertEqual(tree.findings(include_table.check), [])

    def test_forbidden_module(self):
        self.expect("src/core/a.cc", '#include "plan/p.h"\n', "core may not include plan")
        self.expect("src/plan/p.cc", '#include "sim/engine.h"\n', "plan may not include sim")

    def test_tests_beside_the_code_are_held_too(self):
        self.expect("src/plan/p_test.cc", '#include "scenario/trace.h"\n', "plan may not include")

    def test_relative(self):
        for path in ("a.h", "../core/a.h", "./a.h", "core/../plan/p.h"):
            self.expect("src/core/a.cc", f'#include "{path}"\n', "is relative")

    def test_unknown_module(self):
        self.expect("src/core/a.cc", '#include "extra/e.h"\n', 'no module "extra"')
        self.expect("src/extra/e.cc", "int e();\n", 'unknown module "extra"')

    def test_angle_brackets_do_not_evade(self):
        self.expect("src/core/a.cc", "#include <plan/p.h>\n", "go in quotes")

    def test_libraries(self):
        self.expect("src/plan/p.h", "#pragma once\n#include <fmt/format.h>\n", "fmt is for .cc")
        self.expect("src/core/a.h", "#pragma once\n#include <iostream>\n", "too slow")
        self.expect("src/core/a.cc", "#include <nlohmann/json.hpp>\n", "standard library only")
        self.expect("src/plan/p.cc", "#include <chrono>\n", "pure functions")

    def test_cmake_names_too_much(self):
        text = GOOD["src/plan/CMakeLists.txt"].replace("core", "core sim")
        self.expect("src/plan/CMakeLists.txt", text, "plan may not link sim")
        text = GOOD["src/plan/CMakeLists.txt"] + "target_link_libraries(x mixnet_scenario)\n"
        self.expect("src/plan/CMakeLists.txt", text, "plan may not link scenario")

    def test_cmake_names_too_little(self):
        text = GOOD["src/plan/CMakeLists.txt"].replace("MODULES core", "")
        with Tree({"src/plan/CMakeLists.txt": text}) as tree:
            (finding,) = tree.findings(include_table.check)
        self.assertEqual((finding.path, finding.line), ("src/plan/p.cc", 3))
        self.assertIn('add "core" to MODULES', finding.message)

    def test_support_of_tests(self):
        use = '#include "support/s.h"\n'
        with Tree({"src/plan/p_test.cc": use}) as tree:
            self.assertEqual(tree.findings(include_table.check), [])
        self.expect("src/plan/p.cc", use, "for tests only")
        self.expect("tests/support/s.h", '#include "plan/p.h"\n', "may include core only")

    def test_adapters_may_include_everything(self):
        changes = {"src/cli/main.cc": '#include "plan/p.h"\n#include "sim/engine.h"\n'}
        with Tree(changes) as tree:
            self.assertEqual(tree.findings(include_table.check), [])

    def test_every_module_on_disk_is_in_the_table(self):
        source = pathlib.Path(__file__).parents[2] / "src"
        folders = {p.name for p in source.iterdir() if p.is_dir()}
        self.assertEqual(folders - include_table.KNOWN, set())


if __name__ == "__main__":
    unittest.main()
