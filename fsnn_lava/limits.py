"""What the chip's arithmetic can hold (E9). Every number names its bits."""

from __future__ import annotations

STATE_FRACTION_BITS = 6  # a potential is an integer in units of 2**-6 weight units
STATE_MAX = 2**23 - 1  # a potential is clipped to +-STATE_MAX (24 bit signed), and every clip is counted
DECAY_UNIT = 4096  # decay is given in 1/4096
WEIGHT_BITS = range(2, 9)  # signed weights the exporter may be asked for
WEIGHT_MAX = 127  # int8, symmetric: -128 is never written
THRESHOLD_MAX = 2**17 - 1  # weight units: 2**6 * threshold must fit the state
BIAS_MAX = 2**17 - 1  # weight units: 2**6 * bias must fit the state
CURRENT_MAX = 2**17 - 1  # weight units per step: 2**6 * current must fit the state
SUM_MAX = 2**23 - 1  # of weight * message over one synapse, before it is shifted (24 bit signed)
MESSAGE_MAX = 255  # a graded input message (a raw pixel) is 8 bit unsigned
EXPONENT_RANGE = range(-24, 13)  # of a synapse: current = 2**exponent * (weight @ message)
STEPS_MAX = 65535  # counts are kept in 16 bits in files
