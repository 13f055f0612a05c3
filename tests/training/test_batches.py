"""Batches and their augmentation."""

from __future__ import annotations

import torch

from fsnn_lava.training.augmentation import MARGIN, augmented, without_some_events
from fsnn_lava.training.batches import batch_count, epoch_batches
from fsnn_lava.training.random_streams import AUGMENT, DROP_EVENTS, generator


def test_an_epoch_sees_every_sample_once_in_an_order_of_its_own():
    epochs = [torch.cat(list(epoch_batches(103, 10, seed=3, epoch=epoch))) for epoch in (0, 1)]
    assert all(sorted(epoch.tolist()) == list(range(103)) for epoch in epochs)
    assert not torch.equal(*epochs)
    assert torch.equal(epochs[1], torch.cat(list(epoch_batches(103, 10, seed=3, epoch=1))))
    sizes = [len(chosen) for chosen in epoch_batches(101, 10, seed=3, epoch=0)]
    assert sizes == [10] * 10, "a single sample has no batch statistics"
    assert [batch_count(samples, 10) for samples in (100, 101, 102)] == [10, 10, 11]


def test_crop_and_flip_shifts_and_mirrors_and_nothing_else():
    images = torch.arange(1, 1 + 40 * 3 * 6 * 7).remainder(251).to(torch.uint8).view(40, 3, 6, 7)
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4))
    changed = augmented(images, generator(2, 0), margin=MARGIN, flip=True)
    shifts = set()
    for image, wide in zip(changed, padded, strict=True):
        found = {
            (top, left, mirror)
            for top in range(9)
            for left in range(9)
            for mirror in (False, True)
            if torch.equal(image.flip(2) if mirror else image, wide[:, top : top + 6, left : left + 7])
        }
        assert found
        shifts |= found
    assert {shift[2] for shift in shifts} == {False, True}
    assert len(shifts) > 20


def test_a_shift_moves_images_and_never_mirrors_them():
    images = torch.arange(1, 1 + 30 * 6 * 7).remainder(251).to(torch.uint8).view(30, 1, 6, 7)
    padded = torch.nn.functional.pad(images, (2, 2, 2, 2))
    changed = augmented(images, generator(2, 0), margin=2, flip=False)
    places = [(top, left) for top in range(5) for left in range(5)]
    for image, wide in zip(changed, padded, strict=True):
        assert any(torch.equal(image, wide[:, top : top + 6, left : left + 7]) for top, left in places)
    assert not torch.equal(changed, images)


def test_cutout_blanks_a_square_around_a_random_place_and_nothing_else():
    images = torch.full((200, 2, 9, 7), 5, dtype=torch.uint8)
    out = augmented(images, generator(2, 1), margin=0, flip=False, cutout=3)
    blank = out == 0
    assert bool(((out == 5) | blank).all())
    assert torch.equal(blank[:, 0], blank[:, 1])
    rows, columns = blank[:, 0].any(2).sum(1), blank[:, 0].any(1).sum(1)
    assert torch.equal(blank[:, 0].flatten(1).sum(1), rows * columns)
    assert set(rows.tolist()) == set(columns.tolist()) == {2, 3}  # two where the place is at a border
    share = augmented(images[50:], generator(2, 1), margin=0, flip=False, cutout=3, samples=200, mine=slice(50, None))
    assert torch.equal(share, out[50:])


def test_the_frames_of_a_sequence_are_all_shifted_and_mirrored_alike():
    frame = torch.arange(2 * 3 * 6 * 5, dtype=torch.uint8).view(2, 1, 3, 6, 5)
    sequence = frame.repeat(1, 4, 1, 1, 1)  # [B, T, C, H, W]
    changed = augmented(sequence, generator(AUGMENT, 1, 2, 3), margin=2, flip=True)
    assert torch.equal(changed, augmented(frame[:, 0], generator(AUGMENT, 1, 2, 3), margin=2, flip=True)[:, None].expand_as(sequence))
    assert not torch.equal(changed, sequence)


def test_events_are_left_out_with_their_probability_and_alike_in_a_part_of_the_batch():
    frames = torch.ones(4, 10, 2, 16, 16, dtype=torch.uint8)
    whole = without_some_events(frames.clone(), generator(DROP_EVENTS, 1, 2, 3), share=0.25)
    part = without_some_events(frames[1:3].clone(), generator(DROP_EVENTS, 1, 2, 3), share=0.25, samples=4, mine=slice(1, 3))
    assert torch.equal(part, whole[1:3]) and not torch.equal(whole[0], whole[1])
    # 20480 independent entries: six standard deviations are 6 sqrt(0.25 * 0.75 / 20480) = 0.018
    assert abs(float(whole.double().mean()) - 0.75) < 0.018
