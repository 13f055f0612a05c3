"""The samples of every batch of an epoch."""

from __future__ import annotations

import torch

from fsnn_lava.training.batches import batch_count, epoch_batches


def test_an_epoch_sees_every_sample_once_in_an_order_of_its_own():
    epochs = [torch.cat(list(epoch_batches(103, 10, seed=3, epoch=epoch))) for epoch in (0, 1)]
    assert all(sorted(epoch.tolist()) == list(range(103)) for epoch in epochs)
    assert not torch.equal(*epochs)
    assert torch.equal(epochs[1], torch.cat(list(epoch_batches(103, 10, seed=3, epoch=1))))
    sizes = [len(chosen) for chosen in epoch_batches(101, 10, seed=3, epoch=0)]
    assert sizes == [10] * 10, "a single sample has no batch statistics"
    assert [batch_count(samples, 10) for samples in (100, 101, 102)] == [10, 10, 11]
