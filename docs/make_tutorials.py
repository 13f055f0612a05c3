"""python docs/make_tutorials.py: run the Python code of every tutorial in an empty folder; its pictures are kept in docs/figures."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main(names: list[str]) -> int:
    for page in sorted(DOCS.glob("tutorial-*.md")):
        if names and page.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            try:
                shared: dict[str, object] = {"__name__": "block"}
                for body in BLOCK.findall(page.read_text(encoding="utf-8")):
                    exec(compile(body, page.name, "exec"), shared)
            finally:
                os.chdir(before)
            for picture in sorted(Path(folder).glob("*.png")):
                with Image.open(picture) as drawn:
                    drawn.convert("RGB").quantize(64).save(picture, optimize=True)
                shutil.copy(picture, DOCS / "figures" / picture.name)
                print(f"wrote docs/figures/{picture.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
