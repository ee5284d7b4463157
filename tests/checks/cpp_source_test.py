"""The reader of C++ source on the shapes that once could fool it."""

import textwrap
import unittest

import cpp_source


def found(text):
    return [(f.name, f.parameters, f.lines) for f in cpp_source.functions(textwrap.dedent(text))]


class Functions(unittest.TestCase):
    def test_definition(self):
        code = "namespace a {\nint f(int x,\n      int y) {\n  return x;\n}\n}\n"
        (function,) = cpp_source.functions(code)
        self.assertEqual((function.name, function.line), ("f", 2))
        self.assertEqual((function.parameters, function.lines), (2, 3))

    def test_declaration_counts_its_parameters(self):
        self.assertEqual(found("void f(std::map<int, int> m, int b = g(1, 2));"), [("f", 2, 0)])

    def test_members(self):
        code = """
        class A final : public B<int> {
         public:
          explicit A(int x) noexcept : x_(x), y_{x} {
            go();
          }
          ~A() = default;
          A& operator=(const A&) = delete;
          bool operator()(int a, int b) const { return a < b; }
          virtual int size() const = 0;

         private:
          int x_ = 0;
          std::vector<int> y_{1, 2};
          std::function<void(int, int)> callback_;
        };
        int after() { return 1; }
        """
        names = [name for name, _, _ in found(code)]
        expected = ["A", "~A", "operator_", "operator_", "size", "after"]
        self.assertEqual(names, expected)
        self.assertIn(("A", 1, 3), found(code))
        self.assertIn(("operator_", 2, 1), found(code))

    def test_template(self):
        head = "template <typename T, int N = (3 > 2)>\n"
        code = head + "[[nodiscard]] T f(T a) requires(N > 1) {\n}\n"
        self.assertEqual(found(code), [("f", 1, 2)])

    def test_trailing_return_and_default_braces(self):
        code = "auto f(Options o = {}, int n = 0) -> std::pair<int, int> {\n  return {n, n};\n}\n"
        self.assertEqual(found(code), [("f", 2, 3)])

    def test_braces_in_strings_comments_and_characters(self):
        code = """
        int f() {
          // }
          const char* s = "}" R"x(})x";
          const char c = '}';
          return 1'000'000 /* } */;
        }
        int g() { return 2; }
        """
        self.assertEqual(found(code), [("f", 0, 6), ("g", 0, 1)])

    def test_initialisers_and_enumerators_are_no_functions(self):
        code = """
        enum class E { kA, kB };
        constexpr std::array<int, 2> kTable = {f(1), f(2)};
        const std::vector<int> kList{1, 2};
        struct Point { int x = 0; };
        using F = std::function<void(int)>;
        static_assert(sizeof(int) == 4);
        """
        self.assertEqual(found(code), [])

    def test_lambda_at_namespace_scope(self):
        code = "const auto f = [](int a, int b) {\n  return a;\n};"
        self.assertEqual(found(code), [("lambda", 2, 3)])

    def test_gtest_macro(self):
        self.assertEqual(found("TEST(Suite, Name) {\n  EXPECT_EQ(1, 1);\n}"), [("TEST", 2, 3)])

    def test_conditional_directives_do_not_hide_what_follows(self):
        code = "#define OPEN {\n#if X\nint f() {\n}\n#endif\nint g() {\n}\n"
        self.assertEqual([name for name, _, _ in found(code)], ["f", "g"])

    def test_tables(self):
        table = "  const T t[] = {\n    {1, 2},\n    {3, 4},\n  };\n"
        code = "void f() {\n" + table + "  if (a) {\n    b();\n  }\n}"
        (function,) = cpp_source.functions(code)
        self.assertEqual((function.lines, function.table_lines), (9, 3))


class Includes(unittest.TestCase):
    def test_both_kinds_and_no_comments(self):
        code = '#include <a>\n// #include "b/b.h"\n/*\n#include "c/c.h"\n*/\n #  include "d/d.h"\n'
        self.assertEqual(list(cpp_source.includes(code)), [(1, False, "a"), (6, True, "d/d.h")])


if __name__ == "__main__":
    unittest.main()
