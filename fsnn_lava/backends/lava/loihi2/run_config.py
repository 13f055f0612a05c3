"""Select the model of each process on the chip. A neuron without a neuro-core model is an error: Lava would silently run it on the CPU."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

from lava.magma.core.run_configs import AbstractNcProcessModel, Loihi2HwCfg
from lava.proc.atrlif.process import ATRLIF
from lava.proc.conv.process import Conv
from lava.proc.dense.process import Dense
from lava.proc.lif.process import LIFReset
from lava.proc.sdn.process import SigmaDelta
from lava.proc.sparse.process import Sparse

from fsnn_lava.errors import BackendMissing, BadArgument

ON_CHIP = (LIFReset, ATRLIF, SigmaDelta, Dense, Sparse, Conv)
MODEL_VARIABLE = "FSNN_NEURON_MODEL"


class OnChip(Loihi2HwCfg):
    """Loihi2HwCfg as the public tutorials use it, except that our own processes are selected by tag and there is no fallback."""

    def __init__(self, *, callbacks: Sequence[Any] = ()) -> None:
        super().__init__(select_sub_proc_model=True, exception_proc_model_map=_named_models(), callback_fxs=list(callbacks))

    def select(self, process: Any, proc_models: list[Any]) -> Any:
        """Select a model for Lava: our own processes get the one with their tag, others the one that Loihi2HwCfg selects."""
        tag = process.proc_params.get("tag")
        tagged = [model for model in proc_models if tag is not None and tag in getattr(model, "tags", ())]
        model = tagged[0] if tagged else super().select(process, proc_models)
        if isinstance(process, ON_CHIP) and not issubclass(model, AbstractNcProcessModel):
            raise BackendMissing(_no_model_message(type(process).__name__))
        return model


def _no_model_message(name: str) -> str:
    start = f"backend 'loihi2': this lava-loihi has no neuro-core model of {name}"
    if name == "ATRLIF":
        return f"{start}, which resets by subtraction; set {MODEL_VARIABLE} to your own model (module:Class), or export with --reset zero"
    if name == "DelayDense":
        return f"{start}, which holds back dense skips; set FSNN_RELAYS=1 to use relay neurons instead"
    return f"{start}; use a version of lava-loihi that has one"


def _named_models() -> dict[Any, Any]:
    """Return the user's own model of ATRLIF, FSNN_NEURON_MODEL=module:Class."""
    text = os.environ.get(MODEL_VARIABLE)
    if not text:
        return {}
    module, _, name = text.partition(":")
    try:
        return {ATRLIF: getattr(importlib.import_module(module), name)}
    except (ImportError, AttributeError, ValueError) as error:
        raise BadArgument(f"{MODEL_VARIABLE} must name a process model of ATRLIF as module:Class, got {text!r}: {error}") from error
