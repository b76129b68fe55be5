"""How far vectors are from the true motion: the mean end-point error of `algorithm=hierarchical` and of OpenCV's
optical flow on pairs of frames whose motion is known, as they are and with noise or another brightness.

A pair is a folder with two frames and the motion from the first to the second as Middlebury's `.flo`. More pairs are
made: a frame, and the same frame moved, zoomed or turned by a known amount. The error is the mean length of the
difference between both vectors over all samples whose motion is known and leads into the frame.
"""

from dataclasses import dataclass

import cv2
import numpy

import opencv
import ours
from common import PeersError
from report import markdown

# The second frame, disturbed; both frames get noise.
DISTURBANCES = {
    "as it is": lambda frame, noise: frame,
    "noise 5": lambda frame, noise: frame + 5 * noise,
    "noise 10": lambda frame, noise: frame + 10 * noise,
    "5 % darker": lambda frame, noise: frame * 0.95,
    "5 % brighter": lambda frame, noise: frame * 1.05,
    "6 levels brighter": lambda frame, noise: frame + 6,
}
NOISY = ("noise 5", "noise 10")

OPENCV = ("DIS ultrafast", "DIS medium", "Farneback")

# Shifts in samples, zooms as factors, turns in degrees.
SHIFTS = ((1 / 32, 0), (-0.25, 0.5), (3.3, -2.7), (-17, 9.5), (64, -40))
ZOOMS = (1.02, 0.9)
TURNS = (1, -5)


@dataclass
class Pair:
    """Two frames, and the motion from the first to the second: one vector a sample, known where `known` is."""

    name: str
    frames: tuple
    motion: numpy.ndarray
    known: numpy.ndarray


def read_pair(folder):
    """The pair in `folder`."""
    frames, motions = sorted(folder.glob("*.png")), sorted(folder.glob("*.flo"))
    if len(frames) != 2 or len(motions) != 1:
        raise PeersError(f"{folder} must hold two frames as .png and their motion as .flo")
    frames = tuple(cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) for path in frames)
    data = motions[0].read_bytes()
    width, height = numpy.frombuffer(data, "<i4", 2, 4) if len(data) >= 12 else (0, 0)
    if data[:4] != b"PIEH" or len(data) != 12 + 8 * width * height or frames[0].shape != (height, width):
        raise PeersError(f"{motions[0]} is no .flo file of the frames beside it")
    motion = numpy.frombuffer(data, "<f4", offset=12).reshape(height, width, 2)
    # Unknown motion has huge values.
    known = (numpy.abs(motion) < 1e6).all(-1)
    return Pair(folder.name, frames, numpy.where(known[..., None], motion, 0), known)


def pairs_in(folders):
    """The pairs in `folders` and the folders in them."""
    found = [path.parent for folder in folders for path in sorted(folder.rglob("*.flo"))]
    if folders and not found:
        raise PeersError(f"no .flo file in {', '.join(map(str, folders))}")
    return [read_pair(folder) for folder in found]


def made_pairs(frame):
    """Pairs of `frame` and what it looked like before it moved."""
    height, width = frame.shape
    y, x = numpy.mgrid[0:height, 0:width].astype(numpy.float32)
    right, down = x - (width - 1) / 2, y - (height - 1) / 2
    motions = {f"shift {dx:g}, {dy:g}": (0 * x + dx, 0 * y + dy) for dx, dy in SHIFTS}
    motions |= {f"zoom {zoom:g}": (right * (zoom - 1), down * (zoom - 1)) for zoom in ZOOMS}
    for turn in TURNS:
        cos, sin = numpy.cos(numpy.radians(turn)), numpy.sin(numpy.radians(turn))
        motions[f"turn {turn:g}"] = (right * (cos - 1) - down * sin, right * sin + down * (cos - 1))
    for name, motion in motions.items():
        to_x, to_y = (x + motion[0]).astype(numpy.float32), (y + motion[1]).astype(numpy.float32)
        first = cv2.remap(frame, to_x, to_y, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REPLICATE)
        yield Pair(name, (first, frame), numpy.stack(motion, -1), numpy.ones(frame.shape, bool))


def disturbed(pair, disturbance):
    """The frames of `pair`, disturbed."""
    change, random = DISTURBANCES[disturbance], numpy.random.default_rng(1)
    frames = []
    for index, frame in enumerate(pair.frames):
        is_changed = index == 1 or disturbance in NOISY
        noise = random.standard_normal(frame.shape)
        changed = change(frame.astype(float), noise) if is_changed else frame
        frames.append(numpy.clip(numpy.rint(changed), 0, 255).astype(numpy.uint8))
    return frames


def dense(vectors, shape, block_size):
    """One vector a sample, from those of blocks at their middles."""
    height, width = shape
    middle = (block_size - 1) / 2
    x = ((numpy.arange(width) - middle) / block_size).astype(numpy.float32)
    y = ((numpy.arange(height) - middle) / block_size).astype(numpy.float32)
    to_x, to_y = numpy.meshgrid(x, y)
    components = [numpy.ascontiguousarray(vectors[..., axis], dtype=numpy.float32) for axis in (0, 1)]
    edges = cv2.BORDER_REPLICATE
    return numpy.stack([cv2.remap(c, to_x, to_y, cv2.INTER_LINEAR, borderMode=edges) for c in components], -1)


def methods(device):
    """The names of what is compared, with functions from two frames to a vector a sample."""

    def hierarchical(quality, block_size):
        settings = {
            "algorithm": "hierarchical", "quality": quality, "block-size": block_size, "device": device,
        }  # fmt: skip
        return lambda first, second: dense(
            # The reference is the frame that comes before.
            ours.vectors_of_pair(second, first, settings), first.shape, block_size
        )

    found = {f"{quality}, 8 x 8": hierarchical(quality, 8) for quality in ("fast", "balanced", "high")}
    found["balanced, 4 x 4"] = hierarchical("balanced", 4)
    for name in OPENCV:
        found[name] = opencv.make_flow(name)
    return found


def error(pair, motion):
    """The mean end-point error of `motion`."""
    height, width = pair.known.shape
    y, x = numpy.mgrid[0:height, 0:width]
    to_x, to_y = x + pair.motion[..., 0], y + pair.motion[..., 1]
    counts = pair.known & (to_x >= 0) & (to_x <= width - 1) & (to_y >= 0) & (to_y <= height - 1)
    return numpy.linalg.norm(motion - pair.motion, axis=-1)[counts].mean()


def compare(folders, frame, device, progress):
    """Prints the errors on the pairs in `folders` and on pairs made of their first frames, or of `frame`."""
    contestants = methods(device)
    given = pairs_in(folders)
    made = [pair for source in given or [None] for pair in made_pairs(source.frames[0] if source else frame)]
    groups = [("pairs with known motion", given)] * bool(given) + [("made pairs", made)]
    for title, pairs in groups:
        errors = {}
        for disturbance in DISTURBANCES:
            progress(f"{title}, {disturbance}")
            for index, pair in enumerate(pairs):
                frames = disturbed(pair, disturbance)
                for name, flow in contestants.items():
                    errors[name, disturbance, index] = error(pair, flow(*frames))
        progress("")

        def mean(name, disturbance, indices):
            return f"{numpy.mean([errors[name, disturbance, index] for index in indices]):.3f}"

        every = range(len(pairs))
        print(f"\nMean end-point error in samples, {len(pairs)} {title}:\n")
        head = ["", *DISTURBANCES, "most of DIS medium's"]
        body = []
        for name in contestants:
            ratios = [errors[name, "as it is", i] / errors["DIS medium", "as it is", i] for i in every]
            body.append([name, *(mean(name, d, every) for d in DISTURBANCES), f"{max(ratios):.2f} times"])
        print(markdown(head, body))
        names = list(dict.fromkeys(pair.name for pair in pairs))
        print("\nBy pair, as it is:\n")
        body = []
        for name in contestants:
            of = {n: [i for i in every if pairs[i].name == n] for n in names}
            body.append([name, *(mean(name, "as it is", of[n]) for n in names)])
        print(markdown(["", *names], body), flush=True)
