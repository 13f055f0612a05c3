"""Small wrong changes to a source file, one at a time: another comparison, sign, shift, constant or condition."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str  # below the package
    line: int
    text: str  # of the line, without its comment and its messages
    before: str
    after: str
    number: int  # among all changes of the file

    @property
    def change(self) -> str:
        return f"{self.before} → {self.after}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}    in: {self.text}"


def mutants(path: Path, name: str) -> Iterator[Mutant]:
    """Every change of the file. Texts, messages of errors, annotations and imports are left alone."""
    content = path.read_text()
    lines = content.splitlines()
    for number, (line, before, after) in enumerate(_made(ast.parse(content))):
        yield Mutant(name, line, _line(lines[line - 1]), before, after, number)


def broken(path: Path, number: int) -> str:
    """The whole file with that change."""
    tree = ast.parse(path.read_text())
    changes = _made(tree)
    next(islice(changes, number, None))
    return ast.unparse(tree)


def _made(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, before and after of every change, which is in the tree until the next one is asked for."""
    for node in list(_code(tree)):
        for field, new in _changes(node):
            before, old = _short(node), getattr(node, field)
            setattr(node, field, new)
            after = _short(node)
            if before != after:
                yield node.lineno, before, after  # type: ignore[attr-defined]
            setattr(node, field, old)


def _line(line: str) -> str:
    """Without what may be reworded: its comment and the content of its f-strings."""
    return re.sub(r'f"[^"]*"', 'f"…"', re.sub(r"  # .*", "", line)).strip()


def _short(node: ast.AST) -> str:
    """The node as text, the same on every Python; of an `if` or `while` only the condition, so that it outlives changes of the body."""
    text = f"{type(node).__name__.lower()} {ast.unparse(node.test)}" if isinstance(node, (ast.If, ast.While)) else ast.unparse(node)
    text = re.sub(r"\bfor \(([\w, ]+)\) in ", r"for \1 in ", " ".join(text.split()))  # Python 3.10 writes the parentheses
    return text[:100]


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute something."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
                yield child
                yield from _code(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Field of the node, and what it could be instead."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            if type(operator) in _COMPARE:
                operators = copy.copy(node.ops)
                operators[at] = _COMPARE[type(operator)]()
                yield "ops", operators
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _ARITHMETIC:
        yield "op", _ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "op", ast.UAdd()
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "test", ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield "value", not node.value if isinstance(node.value, bool) else node.value + 1
