"""Draw questions that show whether a stranger finds their way: which file is a function in, and which sentences read oddly?

    python .ci/draw_quiz.py --seed 7             the list of files, 20 functions without their files, 30 sentences from messages and docs
    python .ci/draw_quiz.py --seed 7 --answers   the files of these functions

Somebody who has seen nothing of the code but this page should place at least 18 of 20, and find at most one sentence odd.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "fsnn_lava"
FUNCTIONS, SENTENCES = 20, 30


def modules() -> list[tuple[str, ast.Module]]:
    """Return the path and the syntax tree of every module of the library."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def functions() -> list[tuple[str, str]]:
    """Return (what is shown, file) of every public function that is defined at the top of a module."""
    found = []
    for path, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                shown = f"def {node.name}({ast.unparse(node.args)}){returns}"
                found.append((f"{shown}\n    {(ast.get_docstring(node) or '').partition(chr(10))[0]}", path))
    return found


def sentences() -> list[str]:
    """Return the sentences of the documents, of docstrings, and of the messages of errors."""
    found = [
        text for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) for text in prose(path.read_text(encoding="utf-8"))
    ]
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
                found.append(text.partition("\n")[0])
            elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                found.extend(message(argument) for argument in node.exc.args if isinstance(argument, ast.Constant | ast.JoinedStr))
    return sorted({text for text in found if len(text.split()) > 5})


def prose(markdown: str) -> Iterator[str]:
    """Yield the sentences of paragraphs and list items; tables, code and headings are left out."""
    plain = re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    prose_lines = ("" if re.match(r"\s*(\||#|<|!|    )", line) else line.strip() for line in plain.splitlines())
    for paragraph in re.split(r"\n\n+|\n(?=- )", "\n".join(prose_lines)):
        yield from re.split(r"(?<=[.!?]) (?=[A-Z])", paragraph.strip().removeprefix("- ").replace("\n", " "))


def message(node: ast.Constant | ast.JoinedStr) -> str:
    """Return the text of a message, with … for what is filled in."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--answers", action="store_true")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    drawn, read = draw.sample(functions(), FUNCTIONS), draw.sample(sentences(), SENTENCES)
    if args.answers:
        print("\n".join(f"{number}. {path}" for number, (_, path) in enumerate(drawn, 1)))
        return
    print("Files\n\n" + "\n".join(path for path, _ in modules()))
    print("\nWhich file is each of these functions in?\n")
    print("\n".join(f"{number}. {shown}" for number, (shown, _) in enumerate(drawn, 1)))
    print("\nWhich of these sentences would a native engineer not write?\n")
    print("\n".join(f"{number}. {text}" for number, text in enumerate(read, 1)))


if __name__ == "__main__":
    main()
