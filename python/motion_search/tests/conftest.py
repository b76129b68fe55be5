"""Frames that tests search."""

import os
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent))


def texture(height, width, depth=8, seed=1):
    """A picture with detail of several sizes."""
    random = numpy.random.default_rng(seed)
    picture = numpy.zeros((height, width))
    for side in (1, 2, 4, 8, 16):
        coarse = random.uniform(-1, 1, (height // side + 1, width // side + 1))
        picture += coarse.repeat(side, 0).repeat(side, 1)[:height, :width] * side**0.5
    picture = (picture - picture.min()) / (picture.max() - picture.min()) * (2**depth - 1)
    return picture.round().astype(numpy.uint8 if depth == 8 else numpy.uint16)


def moving(count, height, width, depth=8, step=(1, -3)):
    """Frames of a texture that moves, `step` samples down and to the right with each, and of a noise of their own."""
    border = 8 * count
    picture = texture(height + 2 * border, width + 2 * border, depth).astype(numpy.int32)
    random = numpy.random.default_rng(2)
    frames = []
    for index in range(count):
        down, right = border - index * step[0], border - index * step[1]
        noise = random.normal(0, 2 ** (depth - 7), (height, width)).round().astype(numpy.int32)
        frame = picture[down : down + height, right : right + width] + noise
        frames.append(frame.clip(0, 2**depth - 1).astype(numpy.uint8 if depth == 8 else numpy.uint16))
    return frames


@pytest.fixture(scope="session")
def clip():
    """A film of 640 x 360 pixels."""
    return Path(program("MOTION_CLIP"))


def program(variable):
    """The path in an environment variable, which `scripts/check-wheel` sets."""
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} is not set: scripts/check-wheel sets it")
    return path
