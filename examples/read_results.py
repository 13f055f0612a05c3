"""Read results.h5 with fsnn_lava, which checks its contents, or with any HDF5 reader.

    python examples/read_results.py results.h5

`fsnn-run digits --backend emu --out results.h5` writes such a file.
"""

from __future__ import annotations

import sys

import h5py
import numpy as np

from fsnn_lava.formats import results


def main(path: str) -> None:
    found = results.read_results(path)  # raises BadFile, with a message, if the file is damaged or not a results file
    origin = found.provenance
    print(f"{found.samples} samples on {origin.backend}, {origin.steps} steps, {origin.date}: {origin.command}")
    rows = found.rows  # one entry per sample
    print(f"{np.mean(rows['predictions'] == rows['labels']):.2%} correct, {rows['operations'].mean():,.0f} operations per sample")
    result = found.result  # the samples that were kept in detail, with every neuron, as fl.run returns them
    for layer, rates, potentials in zip(found.chip.layers, result.rates, result.potentials, strict=True):
        print(f"{layer.name} {layer.shape}: mean rate {rates.mean():.4f}, potentials up to {potentials.max() / 64:.1f} weight units")

    with h5py.File(path) as file:  # without fsnn_lava; docs/formats.md describes the layout
        print(f"/rows contains {', '.join(file['rows'])}")
        print(f"logits of the first sample: {file['rows/logits'][0].round(2)}")


if __name__ == "__main__":
    main(sys.argv[1])
