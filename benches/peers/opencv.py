"""OpenCV's dense optical flow. OpenCV has no block matching any more: `calcOpticalFlowBM` was removed with
the C interface after version 2.4, and StereoBM searches along rows only.

The flow from the current frame to the reference is one vector a sample, as defined in prediction.py, with
fractions and without a search window. It is scored as it is (`dense`) and, for comparison with block
vectors, as the mean of each block, rounded to whole samples (`blocks`).
"""

import cv2

from common import Measured, PeersError, Stopwatch, repeat
from prediction import block_means, score_blocks, score_dense

# The values of OpenCV's own example.
FARNEBACK = {
    "pyr_scale": 0.5,
    "levels": 3,
    "winsize": 15,
    "iterations": 3,
    "poly_n": 5,
    "poly_sigma": 1.2,
    "flags": 0,
}
PRESETS = {
    "DIS ultrafast": cv2.DISOpticalFlow_PRESET_ULTRAFAST,
    "DIS fast": cv2.DISOpticalFlow_PRESET_FAST,
    "DIS medium": cv2.DISOpticalFlow_PRESET_MEDIUM,
}
METHODS = (*PRESETS, "Farneback")


def make_flow(method):
    """Returns a function that takes the current frame and the reference and returns the flow."""
    if method in PRESETS:
        dis = cv2.DISOpticalFlow_create(PRESETS[method])
        return lambda current, reference: dis.calc(current, reference, None)
    return lambda current, reference: cv2.calcOpticalFlowFarneback(current, reference, None, **FARNEBACK)


def measure(frames, method, threads, block_size, least_seconds):
    """The time per flow and the scores of its vectors, per block and per sample."""
    cv2.setNumThreads(threads)
    flow, stopwatch = make_flow(method), Stopwatch()
    pairs = list(zip(frames, frames[1:]))

    def one_pass():
        with stopwatch:
            return [flow(current, reference) for reference, current in pairs]

    try:
        flows, passes = repeat(one_pass, least_seconds)
    except cv2.error as error:
        raise PeersError(f"OpenCV's {method} fails on this clip: {error}") from error
    seconds = stopwatch.seconds / len(pairs) / passes
    fields = [block_means(field, block_size) for field in flows]
    blocks = score_blocks(frames, fields, block_size)
    dense = score_dense(frames, flows, block_size)
    return Measured(seconds, blocks, stopwatch.share, dense=dense)
