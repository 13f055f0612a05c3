"""A folder to copy to a machine with a board: network, inputs, this program, versions, and a check that it computes the same there."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fsnn_lava
from fsnn_lava.chip.network import ChipNetwork
from fsnn_lava.chip.run_arguments import check_values, checked_steps
from fsnn_lava.chip.stock import stock_equivalent
from fsnn_lava.errors import BadArgument, BadFile, CheckFailed
from fsnn_lava.result import Result
from fsnn_lava.run import run

NETWORK, INPUTS, EXPECTED, MANIFEST = "network.h5", "inputs.npz", "expected.json", "manifest.json"
CHECKED_SAMPLES = 8
_NEEDED = ("numpy", "h5py", "numba", "scipy", "scikit-learn", "tqdm", "matplotlib", "torch", "nir", "tonic")
_RUN = """\
#!/bin/sh
# sh run.sh --check   are these the files that left home, and does this machine compute the same?
# sh run.sh [OPTIONS] run them on the chip; PARTITION, BOARD, NXSDKHOST and LOIHI_GEN say where (deploy/README.md)
set -eu
cd "$(dirname "$0")"
PYTHONPATH="$PWD/lib${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
if [ "${1:-}" = --check ]; then
    exec "${PYTHON:-python3}" -m fsnn_lava.package .
fi
FSNN_PROFILE="$PWD/results.profile.json" export FSNN_PROFILE
set -- network.h5 --backend loihi2 --data inputs.npz --steps @STEPS@ --no-compare --out results.h5 "$@"
exec "${PYTHON:-python3}" -m fsnn_lava.cli.run "$@"
"""
_CHIP_PYTHON = "3.10"  # of the boards' machines: lava-loihi is made for it
_READ_ME = """\
Made by fsnn-run --package on Python @MADE@, to be run on Python @CHIP@. Not run on silicon before it left home.

    pip install -r requirements.txt      once, on Python @CHIP@; then Intel's lava-loihi
    sh run.sh --check                    files, versions, the emulator's results, what the chip's backend lacks here
    PARTITION=oheogulch sh run.sh        writes results.h5; copy it home, then: fsnn-compare results.h5

network.h5 is the network, inputs.npz its inputs (x) and labels (y), expected.json what the emulator gave at home, lib/ the program.
"""


def package(
    chip_path: str | Path,
    values: NDArray[np.uint8],
    out_dir: str | Path,
    *,
    labels: NDArray[np.int64] | None = None,
    steps: int | None = None,
) -> Path:
    """Afterwards `out_dir` is that folder, whole; an existing one is not touched. Labels that are not known are written as 0."""
    chip = ChipNetwork.load(chip_path)
    steps = checked_steps(chip, steps)
    check_values(chip, values, steps)
    target = Path(out_dir)
    if target.exists():
        raise BadArgument(f"{target} is already there: give the name of a new folder")
    known = np.zeros(len(values), dtype=np.int64) if labels is None else labels
    if known.shape != (len(values),):
        raise BadArgument(f"{len(values)} samples need as many labels, got {known.shape}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise BadFile(f"cannot make {target}: {error.strerror or error}") from error
    try:
        _fill(temporary, chip, chip_path, values, known, steps)
        temporary.chmod(0o755)
        os.replace(temporary, target)
    except OSError as error:
        raise BadFile(f"cannot make {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _fill(folder: Path, chip: ChipNetwork, chip_path: str | Path, values: NDArray[np.uint8], labels: NDArray[np.int64], steps: int) -> None:
    shutil.copyfile(chip_path, folder / NETWORK)
    np.savez_compressed(folder / INPUTS, x=values, y=labels)
    (folder / EXPECTED).write_text(json.dumps(expected(chip, values, steps), indent=1) + "\n", encoding="utf-8")
    (folder / "requirements.txt").write_text(requirements(), encoding="utf-8")
    (folder / "run.sh").write_text(_RUN.replace("@STEPS@", str(steps)), encoding="utf-8")
    (folder / "README.txt").write_text(
        _READ_ME.replace("@MADE@", platform.python_version()).replace("@CHIP@", _CHIP_PYTHON), encoding="utf-8"
    )
    shutil.copytree(
        Path(fsnn_lava.__file__).parent, folder / "lib" / "fsnn_lava", ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    )
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {str(path.relative_to(folder)): _sha256(path) for path in files}
    (folder / MANIFEST).write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


def requirements() -> str:
    """The versions here if this is the boards' Python; on any other pip chooses, since newer versions may not exist for that one."""
    here = platform.python_version()
    pinned = here.startswith(f"{_CHIP_PYTHON}.")
    lines = [f"# for Python {_CHIP_PYTHON}; then Intel's lava-loihi, which is not public", "lava-nc==0.10.0"]
    if not pinned:
        lines.insert(1, f"# made on Python {here}, whose versions may not exist for Python {_CHIP_PYTHON}: pip chooses")
    for name in _NEEDED:
        try:
            version = importlib.metadata.version(name).split("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
        lines.append(f"{name}=={version}" if pinned else name)
    return "\n".join(lines) + "\n"


def expected(chip: ChipNetwork, values: NDArray[np.uint8], steps: int) -> dict[str, Any]:
    """What the emulator says of the first samples, on the network itself and on the one that stock processes run."""
    first = values[:CHECKED_SAMPLES]
    equivalent, said = stock_equivalent(chip)
    return {
        "fsnn_lava": fsnn_lava.__version__,
        "python": platform.python_version(),
        "steps": steps,
        "samples": len(first),
        "network": fingerprint(run(chip, first, backend="emu", steps=steps)),
        "stock": fingerprint(run(equivalent, first, backend="emu", steps=steps)),
        "stock_differs": said,
    }


def fingerprint(result: Result) -> dict[str, Any]:
    """Hashes of every count and potential, predictions to read."""
    arrays = [*result.counts, *result.potentials, result.readout]
    hashes = [hashlib.sha256(np.ascontiguousarray(array, dtype="<i8").tobytes()).hexdigest() for array in arrays]
    return {
        "digest": result.digest,
        "sha256": hashlib.sha256("".join(hashes).encode()).hexdigest(),
        "predictions": result.predictions.tolist(),
    }


def check(folder: str | Path) -> list[str]:
    """What holds of a package that arrived, a line each; CheckFailed names the first thing that does not."""
    base = Path(folder)
    try:
        sums = json.loads((base / MANIFEST).read_text(encoding="utf-8"))
        wanted = json.loads((base / EXPECTED).read_text(encoding="utf-8"))
        with np.load(base / INPUTS) as file:
            values = file["x"]
    except (OSError, ValueError, KeyError) as error:
        raise BadFile(f"{base} is not a package of fsnn-run: {error}") from error
    wrong = [name for name, value in sums.items() if not (base / name).is_file() or _sha256(base / name) != value]
    if wrong:
        raise CheckFailed(f"{len(wrong)} of {len(sums)} files are missing or changed, the first is {wrong[0]}: copy the folder again")
    lines = [f"{len(sums)} files are as they left home"]
    found = expected(ChipNetwork.load(base / NETWORK), values, wanted["steps"])
    for name in ("network", "stock"):
        if found[name] != wanted[name]:
            raise CheckFailed(f"the emulator gives other results here than at home ({name}): are the versions those of requirements.txt?")
    lines.append(f"the emulator gives the results of home on {wanted['samples']} samples, {wanted['steps']} steps")
    return [*lines, f"made on Python {wanted['python']}, this is {platform.python_version()}; the boards' machines run {_CHIP_PYTHON}"]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(argv: list[str]) -> int:
    """python -m fsnn_lava.package FOLDER: check it, and say what the chip's backend lacks here."""
    from fsnn_lava.backends import lacking
    from fsnn_lava.errors import FsnnError

    try:
        for line in check(argv[0] if argv else "."):
            print(f"check: {line}")
    except FsnnError as error:
        print(f"check: {error}")
        return error.exit_code
    missing = lacking("loihi2")
    print("check: backend loihi2 " + (f"lacks here: {'; '.join(missing)}" if missing else "has what it needs here"))
    return 3 if missing else 0


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
