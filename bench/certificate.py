"""Compare the certificate of single samples (E18) with the exact distance and with the certificate of the whole network.

    python bench/certificate.py [--networks 200] [--samples 64] [--deep FILE]

random   small random networks with feedback between any layers: no bound may be below ||a - a*||, computed by dense linear algebra
digits   the shipped network: no sample may have a larger bound than the gains of the whole network give (E11)
deep     a trained network with several layers (a net.h5) on the digits: at least 90 % of the samples must be certified

The exit code is 1 if one of these conditions fails.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl
from fsnn_lava.data import load
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.models.find import find_model
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.local_certificate import LocalCertifier
from fsnn_lava.verify.checks.certificate import CertificateCheck
from fsnn_lava.verify.equilibrium import solve_equilibria
from tests.helpers.exact_equilibrium import exact_equilibrium
from tests.helpers.strategies import random_network, random_values

DEEP_SHARE = 0.9


def random_networks(number: int) -> bool:
    networks = certified = by_gains = too_low = tightest = 0
    seed = 0
    while networks < number:
        rng = np.random.default_rng([23, seed])
        chip, seed = random_network(rng), seed + 1
        if not chip.feedback:
            continue
        rate_map, values = RateMap(chip), random_values(rng, chip, 1)
        drive, rates = rate_map.drive(values), fl.run(chip, values).rates
        point = solve_equilibria(rate_map, drive, rates)
        exact = exact_equilibrium(rate_map, point.rates, drive) if point.converged[0] else None
        if exact is None:  # no equilibrium, or one with a neuron exactly at a kink of sigma
            continue
        networks += 1
        by_gains += Certificate(rate_map).certified
        parts = np.split(exact, np.cumsum([layer.size for layer in chip.layers])[:-1])
        distance = np.array([np.linalg.norm(rate.reshape(-1) - part) for rate, part in zip(rates, parts, strict=True)])
        certifier = LocalCertifier(rate_map)
        sources = np.concatenate([parts[k] for k in certifier.loop.sources])
        holds = False
        for centre in (rates, point.rates):
            found = certifier.certify(centre, rates, drive, samples=np.array([seed]))
            if found.certified[0] and np.linalg.norm(certifier.loop.join(centre)[0] - sources) <= found.unique_radius[0]:
                holds = True
                too_low += bool((distance > found.distance[:, 0]).any())
                tightest = max(tightest, float((distance / found.distance[:, 0]).max()))
        certified += holds
    print(
        f"random: {networks} networks, certified {certified} (by gains {by_gains}); bounds below the exact distance: {too_low}; "
        f"the exact distance is up to {tightest:.4f} of its bound"
    )
    return too_low == 0


def examined(chip: ChipNetwork, samples: int) -> CertificateCheck:
    values, rate_map = load("digits").test.batch(slice(0, samples)), RateMap(chip)
    batch = Batch(chip=chip, result=fl.run(chip, values), values=values, labels=None, offset=0)
    check = CertificateCheck(rate_map, Certificate(rate_map))
    check.add(batch, solve_equilibria(rate_map, batch.drive, batch.rates))
    print(check.check().summary)
    return check


def digits(samples: int) -> bool:
    check = examined(ChipNetwork.load(find_model("digits")), samples)
    shares = [own / whole for own, whole in zip(check.bounds, check.global_bounds, strict=True)]
    print(f"digits: {check.certified} of {check.samples} certified; bounds are {min(shares):.3f} … {max(shares):.3f} of those of the gains")
    return max(shares) <= 1.0 and check.certified == check.samples


def deep(path: Path, samples: int) -> bool:
    chip = ChipNetwork.load(path)
    gains = Certificate(RateMap(chip))
    check = examined(chip, samples)
    print(
        f"deep: {len(chip.layers)} layers, {check.certified} of {check.samples} certified; "
        f"the spectral radius of the gains is at most {gains.radius:.3f}; largest bound {max(check.bounds, default=np.inf):.4g}"
    )
    return check.certified >= DEEP_SHARE * check.samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--deep", type=Path, metavar="net.h5")
    args = parser.parse_args()
    held = [random_networks(args.networks), digits(args.samples)]
    if args.deep is not None:
        held.append(deep(args.deep, args.samples))
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
