"""The HTML document around a page: one self-contained file without scripts, whose policy forbids the browser from fetching anything."""

from __future__ import annotations

from html import escape
from importlib import resources

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document_html(title: str, body: str, *, kind: str = "one") -> str:
    """Return a complete HTML document; `title` is escaped, `body` is HTML, `kind` is the CSS class of the page."""
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n<style>\n{style}</style>\n</head>\n'
        f'<body class="{kind}">\n{body}\n</body>\n</html>\n'
    )
