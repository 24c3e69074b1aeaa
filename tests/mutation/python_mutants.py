# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes of Python files.

Messages (docstrings and strings with whitespace), annotations, imports and decorators are not changed, because tests
need not notice most of these changes.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Sequence

from mutation.mutants import Mutant, make

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "//"),
    ast.FloorDiv: (r"//", "*"),
    ast.Div: (r"/", "*"),
    ast.BitOr: (r"\|", "&"),
    ast.BitAnd: (r"&", "|"),
}
TYPES = frozenset({"Any", "bool", "bytes", "Callable", "dict", "float", "frozenset", "int", "Iterable", "Iterator"})
TYPES |= {"list", "Literal", "Mapping", "Sequence", "set", "str", "tuple", "type"}
"""Names of types. Every alias of a type contains at least one of them."""
CHANGED_TEXT = "mutated"
_COMMA = re.compile(r"\s*,")


def find(path: str, text: str) -> list[Mutant]:
    """Return all changes of a Python file.

    Args:
        path: the path of the file in the mutants.
        text: its text.
    """
    finder = _Finder(path, text)
    finder.visit(ast.parse(text))
    # Some changes are found twice, such as those of `return x` with a constant.
    return sorted({(found.start, found.end, found.replacement): found for found in finder.found}.values())


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.found: list[Mutant] = []
        self._lines = [""]
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(line)
            self._starts.append(self._starts[-1] + len(line))
        # starts[n] is where line n + 1 begins; ast counts bytes.

    # Places

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line].encode()[:column].decode())

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def _source(self, node: ast.expr) -> str:
        return self.text[self._start(node) : self._end(node)]

    def _add(self, start: int, end: int, replacement: str, operator: str) -> None:
        self.found.append(make(self.path, self.text, start, end, replacement, operator))

    def _replace(self, node: ast.expr | ast.stmt, replacement: str, operator: str) -> None:
        self._add(self._start(node), self._end(node), replacement, operator)

    def _between(self, left: ast.expr, right: ast.expr, rule: tuple[str, str], operator: str) -> None:
        """Replace the operator between two expressions."""
        pattern, replacement = rule
        begin = self._end(left)
        if at := re.search(pattern, self.text[begin : self._start(right)]):
            self._add(begin + at.start(), begin + at.end(), replacement, operator)

    # Expressions

    def visit_Compare(self, node: ast.Compare) -> None:  # the names of ast.NodeVisitor
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, node.comparators, strict=False):
            self._between(left, right, COMPARISONS[type(operator)], "comparison")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        rule = (r"\band\b", "or") if isinstance(node.op, ast.And) else (r"\bor\b", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, rule, "and/or")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if rule := ARITHMETIC.get(type(node.op)):
            self._between(node.left, node.right, rule, "arithmetic")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(node, f"({self._source(node.operand)})", "drop not")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace(node, str(not value), "boolean")
        elif isinstance(value, int):
            self._replace(node, str(value + 1), "number")
        elif isinstance(value, float) and math.isfinite(value * 2 + 1):
            # The new value is never the same, not even after rounding.
            self._replace(node, repr(value * 2 + 1), "number")
        elif isinstance(value, bytes):
            self._replace(node, repr(value + CHANGED_TEXT.encode()), "text")
        elif isinstance(value, str) and not re.search(r"\s", value):
            changed = value + CHANGED_TEXT if value else CHANGED_TEXT
            self._replace(node, json.dumps(changed, ensure_ascii=False), "text")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Do not change f-strings, because their parts do not have positions of their own before Python 3.12."""

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._negate(condition)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        # Other rules make an equivalent change of these expressions.
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.NamedExpr):
            self._replace(test, f"(not {self._source(test)})", "negate")

    # Lists and the like

    def visit_List(self, node: ast.List) -> None:
        self._drop_each(node.elts, "drop item")
        self.generic_visit(node)

    def visit_Set(self, node: ast.Set) -> None:
        if len(node.elts) > 1:
            self._drop_each(node.elts, "drop item")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self._drop(self._start(key), self._end(value), "drop entry")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg is not None:
                start = self._offset(keyword.lineno, keyword.col_offset)
                self._drop(start, self._end(keyword.value), "drop argument")
        # The first argument of a cast is a type.
        is_cast = self._source(node.func) in ("cast", "t.cast", "typing.cast")
        self._visit_all([node.func, *node.args[is_cast:], *node.keywords])

    def _drop_each(self, items: Sequence[ast.expr], operator: str) -> None:
        for item in items:
            self._drop(self._start(item), self._end(item), operator)

    def _drop(self, start: int, end: int, operator: str) -> None:
        """Drop the text between two commas, and the comma after it."""
        # An item in parentheses cannot be removed at these offsets. An item after a comment is not removed either.
        if not self.text[max(0, start - 200) : start].rstrip().endswith((",", "[", "{", "(")):
            return
        comma = _COMMA.match(self.text, end)
        self._add(start, comma.end() if comma else end, "", operator)

    # Statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        self._replace(node, "pass", "drop statement")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass", "drop statement")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "pass", "drop statement")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break", "continue/break")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue", "continue/break")

    def visit_Return(self, node: ast.Return) -> None:
        # False has its own change, and in a condition, None is the same as False.
        is_false = isinstance(node.value, ast.Constant) and (node.value.value is None or node.value.value is False)
        if node.value is not None and not is_false:
            self._replace(node, "return None", "return none")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in self._source(node.test):
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    # Nodes with annotations: the annotations are not visited.

    def visit_Module(self, node: ast.Module) -> None:
        self._visit_all([statement for statement in node.body if not _is_alias(statement)])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all([node.value] if node.value else [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if not names & {"__all__", "__metaclass__"}:
            self._visit_all([node.value])

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all([*node.args.defaults, *(default for default in node.args.kw_defaults if default), *node.body])

    def _visit_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


def _is_alias(statement: ast.stmt) -> bool:
    """Return whether a statement defines a type alias: `Find = Callable[..., str]`, `Tree: TypeAlias = "..."`."""
    if isinstance(statement, ast.AnnAssign):
        return "TypeAlias" in _names(statement.annotation)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    is_named_so = isinstance(target, ast.Name) and target.id.lstrip("_")[:1].isupper()
    return is_named_so and _is_type(statement.value) and bool(_names(statement.value) & TYPES)


def _is_type(node: ast.expr) -> bool:
    """Return whether an expression consists only of parts that a type may have."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and _is_type(node.left) and _is_type(node.right)
    if isinstance(node, ast.Subscript):
        return _is_type(node.value) and _is_type(node.slice)
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(_is_type, node.elts))
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is ... or isinstance(node.value, str)
    return isinstance(node, ast.Name | ast.Attribute)


def _names(node: ast.expr) -> set[str]:
    found = (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
    return {part.id if isinstance(part, ast.Name) else part.attr for part in found}
