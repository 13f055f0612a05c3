"""mkdocs hook: includes pages from elsewhere in the repository, and sets indices and exponents in formulas."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "deploy/README.md": "loihi2.md",
    "train/README.md": "results.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
BLOCK = re.compile(r"<pre(?=[ >])(?=[^>]*>(?:<span></span>)?<code)")
WIDE_PICTURE = re.compile(r'<p>(?=<img [^>]*\.svg")')
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
FORMULAS = ("equations.md", "theory.md")
RAISED = re.compile(r"\^(?:\{([^{}]+)\}|(\w+))")
LOWERED = re.compile(r"(?<=[\w⟩*])_(?:\{([^{}]+)\}|([A-Za-z0-9τρ]+))")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Resolve links relative to the page's place in the repository; links to files outside the site become plain text."""
    source = next((source for source, name in PAGES.items() if name == page.file.src_uri), f"docs/{page.file.src_uri}")
    return LINK.sub(lambda link: _moved(*link.groups(), folder=os.path.dirname(source)), markdown)


def on_page_content(html: str, page: Any, **options: Any) -> str:
    """Set the indices of A_n and the exponents of λ^{T−τ} as subscripts and superscripts; inline code is left unchanged."""
    if page.file.src_uri not in FORMULAS:
        return html
    parts = re.split(r"((?<!<pre>)<code>.*?</code>|<[^>]*>)", html)
    for i in range(0, len(parts), 2):
        for _ in range(2):  # an index may itself have an index
            parts[i] = LOWERED.sub(_index("sub"), RAISED.sub(_index("sup"), parts[i]))
    return "".join(parts)


def on_post_page(output: str, **_: Any) -> str:
    """What the theme lacks for keyboard and screen readers: code and pictures that can be scrolled, and a name for the search dialog."""
    output = WIDE_PICTURE.sub('<p tabindex="0">', BLOCK.sub('<pre tabindex="0"', output))
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')


def _index(tag: str) -> Any:
    return lambda found: f"<{tag}>{found[1] or found[2]}</{tag}>"


def _moved(text: str, target: str, *, folder: str) -> str:
    if target.startswith(("http://", "https://", "#", "mailto:")):
        return f"[{text}]({target})"
    path, mark, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(folder, path))
    notebook = re.fullmatch(r"examples/(\w+)\.ipynb", path)
    if notebook:  # notebook_pages.py makes a page of it
        return f"[{text}](notebook-{notebook[1]}.md)"
    inside = PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
    return f"[{text}]({inside}{mark}{anchor})" if inside else text
