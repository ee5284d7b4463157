"""Every rule of the tidy check fails on a tree that breaks it, and passes beside it."""

import unittest

import tidy
from broken_tree import GOOD, Tree


CLI = {"src/cli/CMakeLists.txt": "add_library(mixnet_cli STATIC m.cc)\n"}


def body(lines, name="long_one"):
    return f"int {name}() {{\n" + "  go();\n" * (lines - 2) + "}\n"


class Tidy(unittest.TestCase):
    def expect(self, path, text, part, line=None):
        """The file with this text gives exactly one finding, which says `part`."""
        with Tree({path: text}) as tree:
            found = [f for f in tree.findings(tidy.check) if f.path == path]
        self.assertEqual(len(found), 1, f"{path}: {text[:200]!r}: {found}")
        self.assertIn(part, found[0].message)
        if line is not None:
            self.assertEqual(found[0].line, line)

    def passes(self, path, text, also=None):
        with Tree({path: text, **(also or {})}) as tree:
            self.assertEqual(tree.findings(tidy.check), [], text)

    def test_good_tree_passes(self):
        with Tree() as tree:
            self.assertEqual(tree.findings(tidy.check), [])
        with Tree(git=True) as tree:
            self.assertEqual(tree.findings(tidy.check), [])

    def test_unregistered(self):
        with Tree({"src/plan/q_test.cc": "", "src/plan/q.cc": ""}) as tree:
            messages = {f.path: f.message for f in tree.findings(tidy.check)}
        self.assertIn("never runs", messages["src/plan/q_test.cc"])
        self.assertIn("dead", messages["src/plan/q.cc"])
        self.expect("src/plan/q.h", "#pragma once\n", "dead")

    def test_registered_in_a_comment_only(self):
        text = GOOD["src/plan/CMakeLists.txt"].replace("  TESTS p_test.cc", "  # p_test.cc\n")
        with Tree({"src/plan/CMakeLists.txt": text}) as tree:
            (finding,) = tree.findings(tidy.check)
        self.assertEqual(finding.path, "src/plan/p_test.cc")

    def test_registered_in_a_list_with_semicolons(self):
        text = GOOD["src/plan/CMakeLists.txt"] + 'add_tests(x fast "q_test.cc;r_test.cc")\n'
        with Tree({"src/plan/CMakeLists.txt": text, "src/plan/r_test.cc": ""}) as tree:
            self.assertEqual(tree.findings(tidy.check), [])

    def test_same_name_in_another_module_does_not_count(self):
        self.expect("src/core/p.cc", "", "dead")

    def test_header_outside_of_the_header_set(self):
        text = GOOD["src/core/CMakeLists.txt"].replace("HEADERS a.h\n  SOURCES", "SOURCES a.h")
        with Tree({"src/core/CMakeLists.txt": text}) as tree:
            (finding,) = tree.findings(tidy.check)
        self.assertIn("under HEADERS", finding.message)

    def test_support_of_tests(self):
        support = {"tests/support/s.h": "#pragma once\n"}
        self.passes("src/plan/p_test.cc", '#include "support/s.h"\n', support)
        self.expect("tests/support/s.h", "#pragma once\n", "dead")
        lists = GOOD["src/plan/CMakeLists.txt"].replace("p_test.cc", "p_test.cc p_test_support.h")
        beside = {"src/plan/p_test_support.h": "#pragma once\n"}
        self.passes("src/plan/CMakeLists.txt", lists, beside)

    def test_banned_calls(self):
        for code, part in (
            ("std::random_device d;", "RandomStream"),
            ("int x = rand();", "RandomStream"),
            ("std::srand(1);", "RandomStream"),
            ("std::mt19937_64 e;", "RandomStream"),
            ("std::normal_distribution<double> d;", "RandomStream"),
            ("auto t = std::time(nullptr);", "simulated time"),
            ("auto t = time(0);", "simulated time"),
            ("int* x = NULL;", "nullptr"),
            ("std::chrono::system_clock c;", "clock of net"),
            ("std::chrono::steady_clock c;", "clock of net"),
            ('void f() { printf("x"); }', "never print"),
            ('void f() { std::fprintf(stderr, "x"); }', "never print"),
            ("void f() { std::cout << 1; }", "never print"),
            ('void f() { fmt::print("x"); }', "never print"),
            ("void f() { std::exit(1); }", "never exit"),
            ("void f() { abort(); }", "never exit"),
            ("void f() { assert(true); }", "CHECK"),
            ("std::map<const Node*, int> m;", "an id as the key"),
            ("#if 0\n#endif", "git keeps it"),
        ):
            self.expect("src/plan/p.cc", code + "\n", part, 1)

    def test_harmless_namesakes(self):
        for code in (
            "int strand(int x);",
            "SimTime time() const;",
            "auto t = event.time(0);",
            "void f() { std::snprintf(a, n, s); }",
            "static_assert(true);",
            "std::map<int, const Node*> m;",
            "// printf( and rand() and std::cout are only talked about",
            'const char* s = "rand()";',
        ):
            self.passes("src/plan/p.cc", code + "\n")

    def test_adapters_print_and_exit(self):
        self.passes("src/cli/m.cc", 'void f() { printf("x"); exit(1); }\n', CLI)

    def test_exception_that_excuses_nothing(self):
        with Tree({"src/core/check.cc": "int c();\n"}) as tree:
            messages = [f.message for f in tree.findings(tidy.check)]
        self.assertEqual(sum("needs no exception" in m for m in messages), 2)

    def test_headers(self):
        self.expect("src/plan/p.h", "int p();\n", "#pragma once")
        self.expect("src/plan/p.h", "#pragma once\nusing namespace std;\n", "qualified", 2)

    def test_unordered(self):
        self.expect("src/plan/p.cc", "std::unordered_map<int, int> m;\n", "sorted one")
        self.passes(
            "src/plan/p.cc",
            "#include <unordered_map>\n// unordered: looked up only\n"
            "std::unordered_map<int, int> m;\n",
        )
        self.passes("src/core/a.cc", "std::unordered_map<int, int> m;\n")

    def test_function_length(self):
        self.passes("src/plan/p.cc", body(70))
        self.expect("src/plan/p.cc", "\n" + body(71), "71 lines", 2)
        self.expect("src/plan/p_test.cc", body(71), "71 lines")

    def test_tables_of_tests_do_not_count(self):
        table = "void f() {\n  const T t[] = {\n" + "    {1, 2},\n" * 80 + "  };\n  go(t);\n}\n"
        self.passes("src/plan/p_test.cc", table)
        self.expect("src/plan/p.cc", table, "85 lines")

    def test_parameters(self):
        self.passes("src/plan/p.cc", "int f(int a, int b, int c, int d, int e, int g);\n")
        self.expect(
            "src/plan/p.cc", "int f(int a, int b, int c, int d, int e, int g, int h);\n", "7 param"
        )

    def test_sizes(self):
        self.passes("src/plan/p.cc", "int x;\n" * 600)
        self.expect("src/plan/p.cc", "int x;\n" * 601, "601 lines")
        self.passes("src/plan/p.cc", "// " + "é" * 97 + "\n")
        self.expect("src/plan/p.cc", "// " + "x" * 98 + "\n", "101 columns")
        self.expect("catalog/big.csv", "x\n" * (128 * 1024 + 1), "262146 bytes")

    def test_commented_out_code(self):
        for code in (
            "// return x + 1;",
            "  // if (x) {",
            "// const int x = 1;",
            "// queue.push(x);",
            "// x = y;",
            "// int x;",
            "// }",
            '// #include "core/a.h"',
        ):
            self.expect("src/plan/p.cc", code + "\n", "commented-out", 1)

    def test_prose(self):
        for code in (
            "// The problem is valid (square, finite, non-negative);",
            "// if nothing fits, the pair waits;",
            "// Uniform in [0, bound), without modulo bias; bound > 0.",
            "// time = bytes / rate",
            "// unless stated;",
        ):
            self.passes("src/plan/p.cc", code + "\n")

    def test_nolint(self):
        self.expect("src/plan/p.cc", "int x;  // NOLINT\n", "NOLINT(check)")
        self.expect("src/plan/p.cc", "int x;  // NOLINT(some-check)\n", "reason")
        self.passes("src/plan/p.cc", "int x;  // NOLINT(some-check): it is needed\n")

    def test_leftovers(self):
        self.expect("docs/a.md", "x\nTO" + "DO: y\n", "do it now", 2)
        self.expect("docs/a.md", "see /wo" + "rk/x\n", "one machine")
        self.expect("scripts/a.sh", "cd /ro" + "ot\n", "one machine")
        self.passes("docs/a.md", "a net/wo" + "rk/x and https://a.b/workflow and /rooted\n")


if __name__ == "__main__":
    unittest.main()
