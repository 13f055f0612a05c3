"""Make a bundle, a folder to copy to a machine with a board: network, inputs, this package, versions, and a check of the results."""

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

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.errors import BadArgument, BadFile, CheckFailed
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.run_arguments import check_values_argument, checked_steps
from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.placement.chip_bias import sample_bias_obstacle
from fsnn_lava.placement.placement import place
from fsnn_lava.running.run import run
from fsnn_lava.version import __version__

NETWORK, INPUTS, EXPECTED, MANIFEST = "network.h5", "inputs.npz", "expected.json", "manifest.json"
CHECKED_SAMPLES = 8
_NEEDED = ("numpy", "h5py", "numba", "scipy", "scikit-learn", "tqdm", "matplotlib", "torch", "nir", "tonic")
_RUN = """\
#!/bin/sh
# sh run.sh --check   check that the files are unchanged and that this machine computes the same results
# sh run.sh [OPTIONS] run on the chip; PARTITION, BOARD, NXSDKHOST and LOIHI_GEN select the board (deploy/README.md)
set -eu
cd "$(dirname "$0")"
PYTHONPATH="$PWD/lib${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
if [ "${1:-}" = --check ]; then
    exec "${PYTHON:-python3}" -m fsnn_lava.running.bundle .
fi
FSNN_PROFILE="$PWD/results.profile.json" export FSNN_PROFILE
set -- network.h5 --backend loihi2 --data inputs.npz --steps @STEPS@ --no-compare --out results.h5 "$@"
exec "${PYTHON:-python3}" -m fsnn_lava.cli.run "$@"
"""
_CHIP_PYTHON = "3.10"  # on the machines with boards; lava-loihi is built for it
_READ_ME = """\
Made by fsnn-run --package on Python @MADE@, to be run on Python @CHIP@. It has not been run on silicon.

    pip install -r requirements.txt      once, on Python @CHIP@; then Intel's lava-loihi
    sh run.sh --check                    checks the files and the emulator's results, lists what the backend is missing
    PARTITION=oheogulch sh run.sh        writes results.h5; copy it back, then: fsnn-compare results.h5

network.h5 is the network, inputs.npz its inputs (x) and labels (y), expected.json the emulator's results, lib/ the package.
"""


def write_bundle(
    chip_path: str | Path,
    values: NDArray[np.uint8],
    out_dir: str | Path,
    *,
    labels: NDArray[np.int64] | None = None,
    steps: int | None = None,
    board: str | Path = "oheo-gulch",
) -> Path:
    """Write the bundle to `out_dir`, a folder that must not exist yet; it appears when it is complete. Unknown labels are written as 0.

    Raises CheckFailed if `board` cannot run the network on these values (placement/obstacles.py).
    """
    chip = ChipNetwork.load(chip_path)
    if chip.delta is not None:
        raise BadArgument("a package contains the emulator's results, which Lava's sigma-delta neurons cannot match: use encoding 'rate'")
    steps = checked_steps(chip, steps)
    check_values_argument(chip, values, steps)
    _check_board(chip, values, board, steps)
    target = Path(out_dir)
    if target.exists():
        raise BadArgument(f"{target} already exists: choose a new folder")
    known = np.zeros(len(values), dtype=np.int64) if labels is None else labels
    if known.shape != (len(values),):
        raise BadArgument(f"labels must be one per sample, [{len(values)}], got {list(known.shape)}")
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


def _check_board(chip: ChipNetwork, values: NDArray[np.uint8], board: str | Path, steps: int) -> None:
    placement = place(chip, board=board, steps=steps)
    if not placement.runs:
        raise CheckFailed(f"no package was made: on {placement.board.name} this network {placement.verdict}")
    refused = sample_bias_obstacle(stock_equivalent(chip)[0], values)
    if refused:
        raise CheckFailed(f"no package was made: the chip cannot take these samples. {refused}")


def _fill(folder: Path, chip: ChipNetwork, chip_path: str | Path, values: NDArray[np.uint8], labels: NDArray[np.int64], steps: int) -> None:
    shutil.copyfile(chip_path, folder / NETWORK)
    np.savez_compressed(folder / INPUTS, x=values, y=labels)
    (folder / EXPECTED).write_text(json.dumps(_expected_results(chip, values, steps), indent=1) + "\n", encoding="utf-8")
    (folder / "requirements.txt").write_text(bundle_requirements(), encoding="utf-8")
    (folder / "run.sh").write_text(_RUN.replace("@STEPS@", str(steps)), encoding="utf-8")
    (folder / "README.txt").write_text(
        _READ_ME.replace("@MADE@", platform.python_version()).replace("@CHIP@", _CHIP_PYTHON), encoding="utf-8"
    )
    unneeded = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc", "*.h5", "*.pt")  # this includes the shipped networks
    shutil.copytree(Path(__file__).parents[1], folder / "lib" / "fsnn_lava", ignore=unneeded)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {str(path.relative_to(folder)): _sha256(path) for path in files}
    (folder / MANIFEST).write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


def bundle_requirements() -> str:
    """Return the bundle's requirements.txt: installed versions on the boards' Python, otherwise unpinned, as they may not exist there."""
    here = platform.python_version()
    pinned = here.startswith(f"{_CHIP_PYTHON}.")
    lines = [f"# for Python {_CHIP_PYTHON}; then Intel's lava-loihi, which is not public", "lava-nc==0.10.0"]
    if not pinned:
        lines.insert(1, f"# made on Python {here}, whose package versions may not exist for Python {_CHIP_PYTHON}: not pinned")
    for name in _NEEDED:
        try:
            version = importlib.metadata.version(name).split("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
        lines.append(f"{name}=={version}" if pinned else name)
    return "\n".join(lines) + "\n"


def _expected_results(chip: ChipNetwork, values: NDArray[np.uint8], steps: int) -> dict[str, Any]:
    """Return the emulator's results on the first samples, for the network itself and for its stock equivalent."""
    first = values[:CHECKED_SAMPLES]
    equivalent, said = stock_equivalent(chip)
    return {
        "fsnn_lava": __version__,
        "python": platform.python_version(),
        "steps": steps,
        "samples": len(first),
        "network": _fingerprint(run(chip, first, backend="emu", steps=steps)),
        "stock": _fingerprint(Emulator(equivalent, stock=True).run(first, steps=steps)),
        "stock_differs": said,
    }


def _fingerprint(result: Result) -> dict[str, Any]:
    """Return hashes of all counts and potentials, and the predictions."""
    arrays = [*result.counts, *result.potentials, result.readout]
    hashes = [hashlib.sha256(np.ascontiguousarray(array, dtype="<i8").tobytes()).hexdigest() for array in arrays]
    return {
        "digest": result.digest,
        "sha256": hashlib.sha256("".join(hashes).encode()).hexdigest(),
        "predictions": result.predictions.tolist(),
    }


def check_bundle(folder: str | Path) -> list[str]:
    """Check a copied bundle; return a line per passed check, or raise CheckFailed, which names the first one that fails."""
    base = Path(folder)
    try:
        sums = json.loads((base / MANIFEST).read_text(encoding="utf-8"))
        wanted = json.loads((base / EXPECTED).read_text(encoding="utf-8"))
        with np.load(base / INPUTS) as file:
            values = file["x"]
    except (OSError, ValueError, KeyError) as error:
        raise BadFile(f"{base} is not a folder made by fsnn-run --package: {error}") from error
    wrong = [name for name, value in sums.items() if not (base / name).is_file() or _sha256(base / name) != value]
    if wrong:
        raise CheckFailed(f"{len(wrong)} of {len(sums)} files are missing or changed; the first is {wrong[0]}: copy the folder again")
    lines = [f"all {len(sums)} files are unchanged"]
    found = _expected_results(ChipNetwork.load(base / NETWORK), values, wanted["steps"])
    for name in ("network", "stock"):
        if found[name] != wanted[name]:
            raise CheckFailed(
                f"the emulator gives different results here ({name}): check that the installed versions match requirements.txt"
            )
    lines.append(f"the emulator gives the expected results on {wanted['samples']} samples, {wanted['steps']} steps")
    return [*lines, f"made on Python {wanted['python']}, this is {platform.python_version()}; the boards' machines run {_CHIP_PYTHON}"]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _main(argv: list[str]) -> int:
    """Check a copied bundle and print what backend loihi2 is missing here: python -m fsnn_lava.running.bundle FOLDER."""
    from fsnn_lava.backends.availability import missing_for_backend
    from fsnn_lava.errors import FsnnError

    try:
        for line in check_bundle(argv[0] if argv else "."):
            print(f"check: {line}")
    except FsnnError as error:
        print(f"check: {error}")
        return error.exit_code
    missing = missing_for_backend("loihi2")
    print("check: backend loihi2 " + (f"cannot run here; missing: {'; '.join(missing)}" if missing else "has everything it needs here"))
    return 3 if missing else 0


if __name__ == "__main__":
    import sys

    sys.exit(_main(sys.argv[1:]))
