"""A small reader of C++ source: good enough for formatted code, no preprocessing, no types."""

import re
from typing import NamedTuple

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_TOKEN = re.compile(
    r"""
      (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
    | (?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<number>\b\d[\w.']*)
    | (?P<char>'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_SPECIFIER = re.compile(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+")
_TYPE = re.compile(r"^\s*(?:typedef\s+)?(?:class|struct|union|enum)\b")
_NOT_A_NAME = {"decltype", "noexcept", "alignas", "requires", "explicit", "__attribute__"}
_STATEMENTS = {"static_assert", "if", "for", "while", "switch", "return", "catch"}


class Function(NamedTuple):
    """A definition (`lines` of its body, braces included) or a declaration (0 lines)."""

    name: str
    line: int
    parameters: int
    lines: int
    table_lines: int  # of `lines`, those inside of brace initialisers: data, not statements


def includes(text):
    """(line, quoted, path) of every #include that is not inside of a comment."""
    code = blank(text, strings=False)
    for match in INCLUDE.finditer(code):
        yield line_of(code, match.start()), match.group(1) == '"', match.group(2)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


def blank(text, strings=True):
    """The text with comments, and with strings and characters if asked, turned into spaces."""

    def replace(match):
        if match.group("comment"):
            return _spaces(match.group())
        if match.group("number") or not strings:
            return match.group()
        return '"' + _spaces(match.group()[1:-1]) + '"'

    return _TOKEN.sub(replace, text)


def functions(text):
    """Every function that is defined or declared at namespace or class scope."""
    code = _DIRECTIVE.sub(lambda m: _spaces(m.group()), blank(text))
    return _Scanner(code).run()


class _Scanner:
    """One walk over the braces. A frame is (kind, position of '{', header, line)."""

    def __init__(self, code):
        self.code = code
        self.found = []
        self.stack = []
        self.start = 0  # where the declaration being read begins
        self.parens = 0
        self.body = None  # (header, start, position of '{', depth) of the function being read

    def run(self):
        for match in re.finditer(r"[{}();]", self.code):
            at = match.start()
            if self.body is not None:
                self._inside_body(match.group(), at)
            elif match.group() == "{":
                self._open(at)
            elif match.group() == "}":
                self._close(at)
            elif match.group() == ";":
                self._end_of_declaration(at)
            else:
                self.parens += 1 if match.group() == "(" else -1
        return self.found

    def _header(self, at):
        header = self.code[self.start : at]
        lead = _SPECIFIER.match(header)
        return header[lead.end() :] if lead else header

    def _open(self, at):
        header = self._header(at)
        kind = "init" if self.parens or "init" in self.stack else _kind_of_brace(header)
        if kind == "function":
            self.body = (header, at - len(header), at, 0)
            return
        self.stack.append(kind)
        if kind == "scope":
            self.start = at + 1

    def _close(self, at):
        kind = self.stack.pop() if self.stack else "scope"
        if kind == "scope":
            self.start = at + 1

    def _end_of_declaration(self, at):
        if self.parens or "init" in self.stack:
            return
        header = self._header(at)
        self._add(header, at - len(header), None)
        self.start = at + 1

    def _inside_body(self, token, at):
        header, start, opened, depth = self.body
        if token not in "{}":
            return
        depth += 1 if token == "{" else -1
        self.body = (header, start, opened, depth)
        if depth < 0:
            self._add(header, start, (opened, at))
            self.body = None
            self.start = at + 1

    def _add(self, header, start, body):
        name, parameters = _signature(header)
        if name is None:
            return
        line = line_of(self.code, start + len(header) - len(header.lstrip()))
        if body is None:
            self.found.append(Function(name, line, parameters, 0, 0))
            return
        inside = self.code[body[0] : body[1] + 1]
        lines = inside.count("\n") + 1
        self.found.append(Function(name, line, parameters, lines, _table_lines(inside)))


def _kind_of_brace(header):
    """'scope' (namespace, class), 'function' or 'init' (enumerators, initialisers)."""
    text = _strip_template(header)
    if re.match(r"\s*(?:inline\s+)?namespace\b", text) or re.match(r'\s*extern\s*"', text):
        return "scope"
    if _TYPE.match(text) and not re.search(r"\)\s*(?:const|noexcept)?\s*$", text):
        return "init" if re.match(r"\s*enum\b", text) else "scope"
    name, _ = _signature(header)
    if name is None:
        return "init" if text.strip() else "scope"
    in_member_list = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", text)
    if in_member_list and re.search(r"[\w>]\s*$", text):
        return "init"
    return "function"


def _strip_template(text):
    """Without leading template<...> and [[attributes]]."""
    text = re.sub(r"\[\[.*?\]\]", "", text)
    while re.match(r"\s*template\s*<", text):
        begin = text.index("<")
        text = text[_closing(text, begin) + 1 :]
    return text


def _closing(text, begin):
    """Position of the bracket that closes the one at `begin`; the end if there is none."""
    depth = 0
    for at in range(begin, len(text)):
        if text[at] in "(<[{":
            depth += 1
        elif text[at] in ")]}" or (text[at] == ">" and text[at - 1] != "-"):
            depth -= 1
            if depth == 0:
                return at
    return len(text)


def _signature(header):
    """(name, number of parameters), or (None, 0) when the header declares no function."""
    text = re.sub(r"\boperator\s*(\(\s*\)|[^\s\w(]+)", "operator_", _strip_template(header))
    at = 0
    while at < len(text):
        if text[at] == "=" or (text[at] == "[" and "=" not in text[:at]):
            return _lambda_signature(text[at:])
        if text[at] == "<":
            at = _closing(text, at)
        elif text[at] == "(":
            word = re.search(r"([~\w:]+)\s*$", text[:at])
            if word is None or word.group(1) in _STATEMENTS:
                return None, 0
            if word.group(1) not in _NOT_A_NAME:
                return word.group(1), _count(text[at + 1 : _closing(text, at)])
            at = _closing(text, at)
        at += 1
    return None, 0


def _lambda_signature(text):
    match = re.match(r"=\s*\[[^\]]*\]\s*\(", text)
    if match is None:
        return None, 0
    return "lambda", _count(text[match.end() : _closing(text, match.end() - 1)])


def _count(parameters):
    """Commas at depth 0, plus one."""
    if parameters.strip() in ("", "void"):
        return 0
    depth = count = 0
    for before, char in zip(" " + parameters, parameters):
        if char in "(<[{":
            depth += 1
        elif char in ")]}" or (char == ">" and before != "-"):
            depth -= 1
        elif char == "," and depth == 0:
            count += 1
    return count + 1


def _table_lines(body):
    """Lines after the first of the outermost brace pairs that hold data: no ';' inside."""
    total = 0
    opened = []
    for match in re.finditer(r"[{};]", body):
        if match.group() == "{":
            opened.append([match.start(), 0, False])
        elif match.group() == ";":
            for frame in opened:
                frame[2] = True
        else:
            begin, inner, has_statement = opened.pop()
            lines = inner if has_statement else body.count("\n", begin, match.start())
            if opened:
                opened[-1][1] += lines
            else:
                total = lines
    return total
