"""Checks on frames of known motion, before anything is measured, that all contestants use the same vector
convention."""

import math

import numpy

from common import PeersError
from prediction import Score, block_means, grid, predict_blocks, predict_dense, score_blocks

MOTION = numpy.array([-5, 3])
BLOCK, RANGE = 16, 16


def check(holds, what):
    if not holds:
        raise PeersError(f"self-test: {what}")


def moving(count, smooth):
    """Frames of 144 x 112 samples, each moved by `MOTION` against the previous one: noise, or noise that
    is smooth enough for a gradient-like search."""
    noise = numpy.random.default_rng(7).integers(0, 256, (400, 400)).astype(float)
    if smooth:
        for axis in (0, 1):
            for _ in range(3):
                noise = sum(numpy.roll(noise, shift, axis) for shift in range(-4, 5)) / 9
        noise = (noise - noise.min()) / (noise.max() - noise.min()) * 255
    noise = noise.astype(numpy.uint8)
    x, y = MOTION
    return numpy.stack([noise[100 + y * i :, 200 + x * i :][:112, :144] for i in range(count)])


def inner(frames, fields):
    """The score of the blocks that are not at the edge: their content exists in the previous frame."""
    score = Score()
    for reference, current, field in zip(frames, frames[1:], fields):
        rows, columns = grid(current, BLOCK)
        area = slice(BLOCK, (rows - 1) * BLOCK), slice(BLOCK, (columns - 1) * BLOCK)
        score.add(current[area], predict_blocks(reference, field, BLOCK)[area])
    return score


def check_prediction():
    """Checks the measure itself on cases with known results."""
    frames = moving(2, smooth=False)
    reference, current = frames
    rows, columns = grid(current, BLOCK)
    still = numpy.zeros((rows, columns, 2), int)
    check(math.isinf(score_blocks([current, current], [still], BLOCK).psnr), "a still frame is predicted")
    off_by_one = Score()
    off_by_one.add(current, current.astype(float) + 1)
    check(abs(off_by_one.psnr - 48.1308) < 1e-4, "the PSNR of a difference of one is 48.13 dB")
    check(off_by_one.mean_difference == 1, "the mean difference of one is one")
    true = numpy.broadcast_to(MOTION, still.shape)
    check(math.isinf(inner(frames, [true]).psnr), "the true motion predicts")
    check(inner(frames, [-true]).psnr < 20, "the reverse motion does not")
    flow = numpy.broadcast_to(MOTION, (*current.shape, 2))
    check((block_means(flow, BLOCK) == true).all(), "the mean of equal vectors is that vector")
    dense = predict_dense(reference, flow)[: rows * BLOCK, : columns * BLOCK]
    check((dense == predict_blocks(reference, true, BLOCK)).all(), "a vector a sample predicts as one a block")
    ramp = numpy.tile(numpy.arange(0, 200, 2, dtype=numpy.uint8), (32, 1))
    half = predict_dense(ramp, numpy.full((32, 100, 2), 0.5))
    check((half[:, :-1] == ramp[:, :-1] + 1).all(), "half a sample is between two")


def check_vectors(kernels, with_opencv):
    """Checks each contestant's vectors on known motion."""
    import ffmpeg
    import ours

    noise, smooth = moving(4, smooth=False), moving(4, smooth=True)
    settings = {"device": "native", "block-size": BLOCK, "search-range": RANGE}
    for kernel in kernels:
        fields, _ = ours.search(noise[:-1], {**settings, "kernel": kernel}, BLOCK)
        check(math.isinf(inner(noise, fields).psnr), f"ours, {kernel}, finds the motion of noise")
    fields = ffmpeg.search(noise, "esa", RANGE, BLOCK)
    check(math.isinf(inner(noise, fields).psnr), "FFmpeg's esa finds the motion of noise")
    for method in ffmpeg.METHODS:
        fields = numpy.stack(ffmpeg.search(smooth, method, RANGE, BLOCK))
        right = (fields == MOTION).all(axis=-1).mean()
        check(right > 0.4, f"FFmpeg's {method} finds smooth motion (in {right:.0%} of the blocks)")
    if with_opencv:
        import opencv

        for method in opencv.METHODS:
            flow = opencv.make_flow(method)(smooth[1], smooth[0])
            middle = numpy.median(flow[32:-32, 32:-32], axis=(0, 1))
            check(abs(middle - MOTION).max() < 0.3, f"OpenCV's {method} finds smooth motion ({middle})")


def check_against_esa(frames, search_range):
    """Checks that two independent exhaustive searches find the same costs. Both search the same window
    only if all blocks are whole, so `frames` are cropped to whole blocks, and to a small size."""
    import ffmpeg
    import ours

    rows, columns = (min(count, 30) for count in grid(frames[0], BLOCK))
    frames = numpy.ascontiguousarray(frames[:, : rows * BLOCK, : columns * BLOCK])
    settings = {"device": "native", "block-size": BLOCK, "search-range": search_range, "border": "restrict"}
    _, costs = ours.search(frames[:-1], settings, BLOCK)
    theirs = ffmpeg.search(frames, "esa", search_range, BLOCK)
    for index, (cost, field) in enumerate(zip(costs, theirs)):
        predicted = predict_blocks(frames[index], field, BLOCK).astype(int)
        difference = numpy.abs(frames[index + 1].astype(int) - predicted)
        blocks = difference.reshape(rows, BLOCK, columns, BLOCK).sum(axis=(1, 3))
        check((blocks == cost).all(), f"ours and esa find the same costs in frame {index + 1}")
