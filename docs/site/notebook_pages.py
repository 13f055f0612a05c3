"""mkdocs hook: the notebooks of examples/ as pages of the site, with the outputs that are stored in them. No notebook is executed."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours of a terminal


def notebooks() -> dict[str, Path]:
    """The page of every notebook, and its file."""
    return {f"notebook-{path.stem}.md": path for path in sorted((ROOT / "examples").glob("*.ipynb"))}


def on_files(files: Files, config: Any, **_: Any) -> Files:
    for page, path in notebooks().items():
        text, pictures = page_of(path)
        files.append(File.generated(config, page, content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, name, content=content))
    return files


def page_of(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by name."""
    pictures: dict[str, bytes] = {}
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source:
            parts.append(_fenced("python", source))
            parts += [text for output in _joined(cell["outputs"]) for text in _output(output, path.stem, pictures)]
    title, _, rest = "\n\n".join(parts).partition("\n")
    note = f"*From `examples/{path.name}`, with the outputs stored in it; a test runs every notebook.*"
    return f"{title}\n\n{note}\n{rest}\n", pictures


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Consecutive pieces of what a cell printed as one."""
    found: list[dict[str, Any]] = []
    for output in outputs:
        if found and output["output_type"] == found[-1]["output_type"] == "stream":
            found[-1] = {"output_type": "stream", "text": [*found[-1]["text"], *output["text"]]}
        else:
            found.append(output)
    return found


def _output(output: dict[str, Any], stem: str, pictures: dict[str, bytes]) -> list[str]:
    """What a cell printed, returned or drew."""
    if output["output_type"] == "stream":
        return [_fenced("text", ESCAPES.sub("", "".join(output["text"])))]
    data = output.get("data", {})
    if "image/png" in data:
        name = f"notebook-{stem}-{len(pictures) + 1}.png"
        pictures[name] = base64.b64decode("".join(data["image/png"]))
        return [f"![A figure that the cell above draws]({name})"]
    if "text/html" in data:
        return ["".join(data["text/html"]).strip()]
    return [_fenced("text", "".join(data["text/plain"]))] if "text/plain" in data else []


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text.rstrip()}\n```"
