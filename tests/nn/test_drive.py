"""The drive of an image is the same in every step, that of a sequence is the current of each frame."""

from __future__ import annotations

import torch

from fsnn_lava.nn.current import Current
from fsnn_lava.nn.drive import ConstantDrive, SequenceDrive
from fsnn_lava.nn.operators import Dense

OPERATOR = Dense(in_shape=(4,), channels=3)


def sequence(*, masked: bool) -> SequenceDrive:
    torch.manual_seed(0)
    mask = torch.randint(0, 2, (5, 3)) * 1.25 if masked else None
    return SequenceDrive(torch.randn(5, 7, 4), (Current(operator=OPERATOR, weight=torch.randn(3, 4), bias=torch.randn(3), mask=mask),))


def test_all_frames_at_once_are_the_frames_one_by_one():
    for masked in (False, True):
        drive = sequence(masked=masked)
        torch.testing.assert_close(drive.over(6), torch.stack([drive.at(step) for step in range(6)], dim=1))


def test_a_part_of_the_batch_keeps_its_own_frames_and_masks():
    drive = sequence(masked=True)
    torch.testing.assert_close(drive.part(slice(1, 4)).over(7), drive.over(7)[1:4])


def test_several_connections_from_the_input_add_up():
    torch.manual_seed(1)
    frames, currents = torch.randn(5, 7, 4), [Current(operator=OPERATOR, weight=torch.randn(3, 4)) for _ in range(2)]
    both = SequenceDrive(frames, tuple(currents))
    apart = [SequenceDrive(frames, (one,)).over(7) for one in currents]
    torch.testing.assert_close(both.over(7), apart[0] + apart[1])
    torch.testing.assert_close(both.at(3), apart[0][:, 3] + apart[1][:, 3])


def test_a_constant_drive_ignores_the_step():
    drive = ConstantDrive(torch.arange(6.0).view(3, 2))
    assert torch.equal(drive.at(0), drive.at(9)) and torch.equal(drive.over(4), drive.values)
    assert torch.equal(drive.part(slice(2, 3)).at(1), torch.tensor([[4.0, 5.0]]))
