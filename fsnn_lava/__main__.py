"""Run `python -m fsnn_lava COMMAND …` as `fsnn COMMAND …`."""

from __future__ import annotations

import sys

from fsnn_lava.cli.fsnn import main

if __name__ == "__main__":
    sys.exit(main())
