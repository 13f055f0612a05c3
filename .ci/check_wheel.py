"""python .ci/check_wheel.py: build the wheel into dist/, install it into an empty environment, and use it in an empty folder.

A release has to pass this as well as `make test`. The environment is temporary; TORCH names the version of torch to install in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = (
    *(
        "models/digits.h5",
        "models/digits.pt",
        "models/cifar10.h5",
        "models/catalogue.toml",
        "training/recipes/digits.toml",
        "placement/boards/loihi2.toml",
    ),
    *("report/style.css", "backends/lava/pins/lava-nc.txt", "py.typed"),
)
COMMANDS = (
    ("fsnn-doctor",),
    ("fsnn-run", "digits", "--backend", "emu", "--out", "results.h5", "--report", "report.html"),
    ("fsnn-compare", "results.h5"),
    ("fsnn-export", "--help"),
    ("fsnn-import", "--help"),
    ("fsnn", "--version"),
    ("fsnn", "train", "--list"),
    ("fsnn", "train", "--init", "my.toml"),
    ("fsnn", "train", "my.toml", "--set", "epochs=1", "--out", "run"),
    ("fsnn", "train", "digits", "--set", "epochs=1"),
    ("fsnn", "export", "runs/digits/last.pt", "net.h5"),
    ("fsnn", "run", "net.h5", "--backend", "emu", "--model", "runs/digits/last.pt"),
    ("fsnn", "run", "net.h5", "--backend", "emu", "--limit", "50", "--out", "other.h5"),
    ("fsnn", "compare", "results.h5", "other.h5", "--limit", "50", "--report", "both.html"),
    ("fsnn", "map", "mnist"),
    ("fsnn", "get", "--list"),
)


def main() -> int:
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", "dist", ".", cwd=ROOT)
    (wheel,) = (ROOT / "dist").glob("*.whl")
    check_content(wheel)
    with tempfile.TemporaryDirectory() as folder:
        environment, work = Path(folder) / "environment", Path(folder) / "work"
        venv.create(environment, with_pip=True)
        work.mkdir()
        run(environment / "bin" / "python", "-m", "pip", "install", "-q", os.environ.get("TORCH") or "torch==2.13.0", wheel, cwd=work)
        for command, *arguments in COMMANDS:
            run(environment / "bin" / command, *arguments, cwd=work)
    print(f"\n{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB, installed and used in an empty environment")
    return 0


def check_content(wheel: Path) -> None:
    """Check that the wheel contains only the library, including its data files; the networks are links in the source tree."""
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    strangers = sorted({name.split("/")[0] for name in names if not name.startswith(("fsnn_lava/", "fsnn_lava-"))})
    missing = [name for name in NEEDED if f"fsnn_lava/{name}" not in names]
    if strangers or missing:
        sys.exit(f"{wheel}: must contain only the library, but also contains {strangers}, and lacks {missing}")
    texts = [name for name in names if name.endswith(".h5") and not archive.read(name).startswith(b"\x89HDF")]
    if texts:
        sys.exit(f"{wheel}: not HDF5 files: {', '.join(texts)}; check that they are links in the source tree, not texts")


def run(*command: str | Path, cwd: Path) -> None:
    print("$", *(Path(word).name if Path(word).is_absolute() else word for word in command), flush=True)
    done = subprocess.run([str(word) for word in command], cwd=cwd, check=False)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
