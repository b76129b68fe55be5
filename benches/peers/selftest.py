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


class SmoothPictures:
    """In place of pictures: smooth noise around a mean of 110."""

    def planes(self, name, width, height):
        import cv2

        random = numpy.random.default_rng(len(name))
        smooth = cv2.GaussianBlur(random.standard_normal((height, width)).astype(numpy.float32), (0, 0), 3)
        half = numpy.full((height // 2, width // 2), 128, numpy.float32)
        return [110 + smooth * (12 / smooth.std()), half, half + 20]


def check_scenes():
    """Checks that scenes of detectors have what their truth says."""
    import detect_effects as effects
    from detect_effects import CAMERAS
    from detect_scenes import Object, Scene, crossing, split

    size = 320, 180
    scene = lambda name, *changes, **more: Scene(name, "street", *size, 40, SmoothPictures(), changes, **more)
    for camera in (None, "pan with shake", "rotation", "zoom"):
        empty = scene("empty", camera=CAMERAS.get(camera))
        path = crossing((120 if camera else 90, 80), 5, (3.3, 1.1), 20)
        full = scene("full", camera=CAMERAS.get(camera), objects=[Object(24, 3.5, 40, "flat", *path)])
        for n, (without, with_it) in enumerate(zip(empty.frames(), full.frames())):
            changed = numpy.argwhere(abs(split(without)[0].astype(int) - split(with_it)[0]) > 12)
            boxes = full.truth(n)
            check(len(boxes) == (5 <= n < 25) and bool(len(changed)) == bool(boxes), f"an object is where truth says ({camera}, {n})")
            if boxes:
                (top, left), (bottom, right) = changed.min(axis=0), changed.max(axis=0) + 1
                box = boxes[0]
                sides = left - box.x, top - box.y, right - box.x - box.width, bottom - box.y - box.height
                check(numpy.abs(sides).max() < 3, f"the box is the object's ({camera}, {n}: {sides})")
                check(box.wanted, f"an object inside of the frame is wanted ({camera}, {n})")
    moved = [split(frame)[0] for frame in scene("pan", camera=lambda n: (4 * n, 2 * n, 1, 0)).frames()]
    # Two samples at 360 lines are one at 180.
    check((moved[4][:-4, :-8] == moved[2][4 - 2 : -2, 8 - 4 : -4]).all(), "a pan moves the picture as the camera")
    gray = [split(frame) for frame in scene("infrared", effects.infrared).frames()]
    check(gray[20][2].std() == 0 and gray[20][2][0, 0] > 130, "there is chroma before infrared")
    for sigma in (2, 10):
        first, second = (split(frame)[0].astype(float) for _, frame in zip(range(2), scene("noise", noise=sigma).frames()))
        check(abs((first - second).std() / 2**0.5 - sigma) < 0.05 * sigma, f"noise has a deviation of {sigma}")
    twice = [list(scene("same", effects.snow(9), effects.rain(5), noise=2).frames()) for _ in range(2)]
    check(all((a == b).all() for a, b in zip(*twice)), "a scene is the same in each run")
    coded = list(scene("coded", noise=2, codec={"crf": "30", "g": "10"}).frames())
    check(len(coded) == 40 and coded[0].shape == (270, 320), "each encoded frame comes back")


def check_judgement():
    """Checks the measures of detectors with detectors that know the truth."""
    import sys

    import detect
    from detect_scenes import Object, Scene, crossing

    # Comes at frame 60, and is half in the frame from the next one on.
    objects = [Object(32, 4, 40, "flat", *crossing((-3, 90), 60, (4, 0), 120))]
    scene = Scene("judged", "street", 640, 360, 200, SmoothPictures(), objects=objects)
    known = [[[box.x, box.y, box.width, box.height, 7] for box in scene.truth(n)] for n in range(scene.count)]
    judge = lambda boxes: detect.judge(scene, boxes, [[] for _ in boxes])
    right = judge(known)
    found = right.objects[0]
    check((found.fits, found.touches, found.delay) == (found.frames,) * 2 + (0,), "a detector that knows the truth finds all")
    check(right.false_boxes == 0 and right.alarms == 1 and found.ids == {7}, "a detector that knows the truth has no false box")
    blind = judge([[]] * scene.count)
    check((blind.objects[0].touches, blind.alarms, blind.objects[0].delay) == (0, 0, None), "a detector without boxes finds nothing")
    everywhere = judge([[[0, 0, 640, 360, 0]]] * scene.count)
    check(everywhere.objects[0].touches == 0, "a box as large as the frame finds nothing")
    check(everywhere.false_boxes == everywhere.frames, "a box as large as the frame is false")
    late = judge([boxes if n >= found.first + 5 else [] for n, boxes in enumerate(known)])
    check(late.objects[0].delay == 5, "five frames late are five frames late")
    quarter = judge([[[x, y, width / 2, height / 2, 0] for x, y, width, height, _ in boxes] for boxes in known])
    check((quarter.objects[0].fits, quarter.objects[0].touches) == (0, found.frames), "a quarter of a box touches, and does not fit")
    aside = judge([[[500, 300, 20, 20, 0]] if n in (60, 70, 120) else [] for n in range(scene.count)])
    check((aside.false_boxes, aside.alarms) == (3, 2), "alarms with a second between them are two, else one")

    program = "import sys; n = 0\nwhile sys.stdin.buffer.read(160 * 144 * 3 // 2): print({line}); n += 1"
    line = '\'{"frame": %d, "boxes": [{"id": 3, "x": %d, "y": 2, "width": 3, "height": 4}], "begin": [3]}\' % (n, n)'
    frames = [numpy.zeros((216, 160), numpy.uint8)] * 5
    command = [sys.executable, "-c", program.replace("{line}", line)]
    boxes, begun = detect.detect(command, (160, 144), iter(frames), 5)
    check(boxes[4] == [[4, 2, 3, 4, 3]] and begun == [[3]] * 5, "the protocol is read")
    for what, text in (("too few lines", "''"), ("what is no JSON", "'{'"), ("a line without boxes", '\'{"frame": 0}\'')):
        try:
            detect.detect([sys.executable, "-c", program.replace("{line}", text)], (160, 144), iter(frames), 5)
        except PeersError:
            continue
        check(False, f"a detector that writes {what} is an error")
