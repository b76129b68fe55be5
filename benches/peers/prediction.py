"""How well vectors predict a frame: the measure that is applied to every contestant.

A frame is a `height x width` array of 8-bit luma. A vector `(x, y)` predicts the sample at `(i, j)` of the
current frame from `(i + x, j + y)` in the reference; `x` to the right, `y` down, in samples. Outside the
frame the reference repeats its edge samples. Only blocks that lie completely inside the frame are
counted, because not every program returns vectors for partial blocks.
"""

import math
from dataclasses import dataclass

import numpy


@dataclass
class Score:
    """Sums over all predicted samples of all frames."""

    squared: float = 0.0
    absolute: float = 0.0
    samples: int = 0

    def add(self, current, predicted):
        """Adds the errors of `predicted`, which covers the upper left part of `current`."""
        height, width = predicted.shape
        difference = current[:height, :width].astype(float) - predicted
        self.squared += float(numpy.square(difference).sum())
        self.absolute += float(numpy.abs(difference).sum())
        self.samples += difference.size

    @property
    def psnr(self):
        """Peak signal-to-noise ratio over all samples, in dB; infinite if all are equal."""
        if self.squared == 0:
            return math.inf
        return 10 * math.log10(255**2 * self.samples / self.squared)

    @property
    def mean_difference(self):
        """Mean absolute difference per sample: what block matching minimises."""
        return self.absolute / self.samples


def grid(frame, block_size):
    """Rows and columns of the blocks that lie completely inside the frame."""
    height, width = frame.shape
    return height // block_size, width // block_size


def share_unchanged(frames, block_size):
    """The share of whole blocks that equal those of the previous frame."""
    rows, columns = grid(frames[0], block_size)
    area = frames[:, : rows * block_size, : columns * block_size]
    equal = (area[1:] == area[:-1]).reshape(-1, rows, block_size, columns, block_size)
    return equal.all(axis=(2, 4)).mean()


def predict_blocks(reference, vectors, block_size):
    """The prediction by a `rows x columns x 2` array of whole-sample vectors."""
    dense = numpy.repeat(numpy.repeat(vectors.astype(int), block_size, axis=0), block_size, axis=1)
    height, width = dense.shape[:2]
    x = numpy.arange(width) + dense[..., 0]
    y = numpy.arange(height)[:, None] + dense[..., 1]
    return reference[y.clip(0, reference.shape[0] - 1), x.clip(0, reference.shape[1] - 1)]


def predict_dense(reference, flow):
    """The prediction by one vector a sample (`height x width x 2`), interpolated bilinearly and
    rounded."""
    height, width = flow.shape[:2]
    bottom, right = reference.shape[0] - 1, reference.shape[1] - 1
    x = (numpy.arange(width) + flow[..., 0]).clip(0, right)
    y = (numpy.arange(height)[:, None] + flow[..., 1]).clip(0, bottom)
    x0, y0 = x.astype(int), y.astype(int)
    x1, y1 = (x0 + 1).clip(max=right), (y0 + 1).clip(max=bottom)
    fx, fy = x - x0, y - y0
    above = reference[y0, x0] * (1 - fx) + reference[y0, x1] * fx
    below = reference[y1, x0] * (1 - fx) + reference[y1, x1] * fx
    return numpy.rint(above * (1 - fy) + below * fy)


def block_means(flow, block_size):
    """One whole-sample vector a block: the mean of its samples' vectors, rounded."""
    rows, columns = grid(flow[..., 0], block_size)
    blocks = flow[: rows * block_size, : columns * block_size]
    blocks = blocks.reshape(rows, block_size, columns, block_size, 2)
    return numpy.rint(blocks.mean(axis=(1, 3))).astype(int)


def score_blocks(frames, fields, block_size):
    """The score of the block vectors `fields`; `fields[0]` belongs to `frames[1]`."""
    score = Score()
    for reference, current, field in zip(frames, frames[1:], fields):
        score.add(current, predict_blocks(reference, field, block_size))
    return score


def score_dense(frames, flows, block_size):
    """The score of `flows` over the same samples as `score_blocks`: those of whole blocks."""
    score = Score()
    for reference, current, flow in zip(frames, frames[1:], flows):
        rows, columns = grid(current, block_size)
        score.add(current, predict_dense(reference, flow[: rows * block_size, : columns * block_size]))
    return score
