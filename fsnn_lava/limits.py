"""The limits of the chip's arithmetic (E9). Every limit states its bits or unit; compiled functions contain these numbers as constants."""

from __future__ import annotations

STATE_FRACTION_BITS = 6  # a potential is an integer in units of 2**-6 weight units
STATE_MAX = 2**23 - 1  # a potential is clipped to +-STATE_MAX (24 bits signed), and every clip is counted
DECAY_UNIT = 4096  # decay is in units of 1/4096
WEIGHT_BITS = range(2, 9)  # bits of the signed weights that can be exported
WEIGHT_MAX = 127  # int8, symmetric: -128 is never written
THRESHOLD_MAX = 2**17 - 1  # weight units: 2**6 * threshold must fit the state
BIAS_MAX = 2**17 - 1  # weight units: 2**6 * bias must fit the state
CURRENT_MAX = 2**17 - 1  # weight units per step: 2**6 * current must fit the state
SUM_MAX = 2**23 - 1  # weight @ messages before the shift: 24 bits signed
MESSAGE_MAX = 255  # a graded input message (a raw pixel) is 8 bits unsigned
EXPONENT_RANGE = range(-24, 13)  # of a synapse: current = 2**exponent * (weight @ message)
STOCK_CURRENT_MAX = 2**17 - 1  # weight units: the current of Lava's own neurons wraps around above this
STOCK_BIAS_MANTISSA_MAX = 2**15 - 1  # Lava's own neurons store a bias mantissa in 16 bits
STOCK_SHIFT_MAX = 2**3 - 1  # Lava's own sigma-delta neurons declare their shift, state_exp, with 3 bits
CHIP_BIAS_MANTISSA_MAX = 2**12 - 1  # a Loihi 2 neuron stores a bias mantissa in 13 bits, signed …
CHIP_BIAS_EXPONENT_MAX = 2**3 - 1  # … and a bias exponent in 3 bits
CHIP_ATRLIF_THRESHOLD_MAX = 2 * (2**12 - 1)  # weight units: ATRLIF's theta, half of the threshold, has 12 bits
RATE_BITS = range(6, 13)  # q of delta encoding: a rate of 1 is 2**q, so a message has up to 13 bits with its sign
CHANGE_MAX = 2**15 - 1  # a message of delta encoding is 16 bits signed
FRAME_BITS = 12  # p of delta encoding: the weights of all frames of an event input add up to 2**p
STEPS_MAX = 65535  # files store counts in 16 bits
INT32_MAX = 2**31 - 1  # where a sum may exceed it, the emulators compute in 64 bits
