"""`motiondenoise` beside MVTools' and MVUtensils' `Degrain`: PSNR of luma and of chroma, and the time of a frame.

Run it by itself, with a Python that has what these packages of the Python package index are: numpy, vapoursynth,
vapoursynth-mvtools and vapoursynth-mvutensils (Python 3.12 or later):

    python benches/peers/mvtools.py [--plugin FOLDER] [--frames N] [--radius 2] CLIP...

White noise is added to all planes of the clean clip. Ours has its default settings. Theirs has blocks of 8 x 8 samples that
overlap by 4, quarter samples, no detection of scenes, and the best of some thresholds and search clips, chosen for each
clip by its clean frames. All run in one thread.
"""

import argparse
import itertools
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import numpy
import vapoursynth

core = vapoursynth.core
# Sums of absolute differences of a block with noise of 5, up to which frames are averaged; noise of 10 has twice as much.
THRESHOLDS = (220, 300, 400, 600)
# No scene cuts: more than a block's difference can be.
NO_SCENES = 16320


def pipeline(*parts):
    """Runs it, and returns what gst-launch-1.0 says of caps and messages."""
    line = " ! ".join(parts)
    command = ["gst-launch-1.0", "-m", "-v", *line.split()]
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def decoded(path, folder):
    """The frames of a clip as I420 in rows without padding, and its width and height."""
    raw = folder / "raw"
    said = pipeline(
        f"filesrc location={path}", "decodebin", "videoconvert", "video/x-raw,format=I420", f"filesink location={raw}"
    )
    caps = next(line for line in reversed(said.splitlines()) if "format=(string)I420" in line)
    width, height = (int(re.search(rf"{side}=\(int\)(\d+)", caps)[1]) for side in ("width", "height"))
    if width % 8 or height % 2:
        raise SystemExit(f"{path}: frames of {width} x {height} are not compared; the width must be a multiple of 8, the height even")
    samples = numpy.fromfile(raw, numpy.uint8)
    return samples.reshape(-1, height * width * 3 // 2), width, height


def psnr(made, clean, luma):
    """The mean over frames, of luma and of both planes of chroma."""
    errors = (made.astype(float) - clean) ** 2
    return [10 * numpy.log10(255**2 / part.mean(axis=1)).mean() for part in (errors[:, :luma], errors[:, luma:])]


def ours(frames, width, height, radius, folder):
    noisy, made = folder / "noisy", folder / "made"
    frames.tofile(noisy)
    said = pipeline(
        f"filesrc location={noisy}",
        f"rawvideoparse format=i420 width={width} height={height} framerate=25/1",
        f"motiondenoise device=native threads=1 past={radius} future={radius}",
        f"filesink location={made}",
    )
    times = [re.search(rf"{name}=\(guint64\)(\d+)", said)[1] for name in ("load-time", "denoise-time")]
    return numpy.fromfile(made, numpy.uint8).reshape(frames.shape), sum(map(int, times)) / 1e9


def as_clip(frames, width, height):
    blank = core.std.BlankClip(width=width, height=height, format=vapoursynth.YUV420P8, length=len(frames), fpsnum=25, fpsden=1)

    def fill(n, f):
        out, at = f.copy(), 0
        for plane in range(3):
            shape = (height, width) if plane == 0 else (height // 2, width // 2)
            numpy.copyto(numpy.asarray(out[plane]), frames[n, at : at + shape[0] * shape[1]].reshape(shape))
            at += shape[0] * shape[1]
        return out

    # Cached, so that it costs nothing that is timed.
    return core.std.ModifyFrame(blank, blank, fill)


def by_mvtools(clip, search, threshold, radius):
    analysed = core.mv.Super(search, pel=4)
    vectors = []
    for delta, backward in itertools.product(range(1, radius + 1), (1, 0)):
        vectors.append(core.mv.Analyse(analysed, blksize=8, overlap=4, delta=delta, isb=backward, truemotion=0))
    degrain = getattr(core.mv, f"Degrain{radius}")
    return degrain(clip, core.mv.Super(clip, pel=4), *vectors, thsad=threshold, thscd1=NO_SCENES, thscd2=255)


def by_mvutensils(clip, search, threshold, radius):
    blocks = {"blksize": [8, 8], "overlap": [4, 4]}
    analysed = core.mvu.Super(search, pel=4, **blocks)
    vectors = core.mvu.AnalyseMany(analysed, radius=radius, **blocks)
    degrain = getattr(core.mvu, f"Degrain{radius}")
    return degrain(clip, core.mvu.Super(clip, pel=4, **blocks), vectors, thsad=[threshold], thscd1=NO_SCENES, thscd2=100.0)


def theirs(clean, frames, width, height, radius, noise):
    """The name and settings, PSNR and seconds of a frame of the best."""
    best = None
    for make, is_blurred, threshold in itertools.product((by_mvtools, by_mvutensils), (False, True), THRESHOLDS):
        clip = as_clip(frames, width, height)
        search = core.std.Convolution(clip, [1, 2, 1, 2, 4, 2, 1, 2, 1]) if is_blurred else clip
        threshold = threshold * noise / 5
        began = time.monotonic()
        planes = []
        for frame in make(clip, search, round(threshold), radius).frames():
            planes.append(numpy.concatenate([numpy.asarray(frame[plane]).reshape(-1) for plane in range(3)]))
        spent = (time.monotonic() - began) / len(frames)
        quality = psnr(numpy.stack(planes), clean, width * height)
        if best is None or quality[0] > best[1][0]:
            name = f"{make.__name__[3:]}, {'blurred' if is_blurred else 'as it is'}, {threshold:g}"
            best = name, quality, spent
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default="target/release", help="where libgstmotionestimate.so is (default: %(default)s)")
    parser.add_argument("--frames", type=int, default=14, help="frames of each clip (default: %(default)s)")
    parser.add_argument("--radius", type=int, default=2, choices=(1, 2, 3), help="frames before and after (default: %(default)s)")
    parser.add_argument("--noise", type=float, nargs="+", default=[5, 10], help="deviations of the noise (default: 5 10)")
    parser.add_argument("clips", nargs="+")
    asked = parser.parse_args()
    core.num_threads = 1
    os.environ["GST_PLUGIN_PATH"] = asked.plugin
    print("| clip, noise | motiondenoise | ms | theirs | ms | settings |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        os.environ["GST_REGISTRY"] = str(folder / "registry.bin")
        for path in asked.clips:
            clean, width, height = decoded(path, folder)
            clean = clean[: asked.frames]
            for noise in asked.noise:
                random = numpy.random.default_rng(1)
                frames = numpy.clip(numpy.round(random.normal(clean, noise)), 0, 255).astype(numpy.uint8)
                made, spent = ours(frames, width, height, asked.radius, folder)
                quality = psnr(made, clean, width * height)
                name, best, best_spent = theirs(clean, frames, width, height, asked.radius, noise)
                cells = ["{:.2f} / {:.2f}".format(*quality), f"{1e3 * spent:.0f}"]
                cells += ["{:.2f} / {:.2f}".format(*best), f"{1e3 * best_spent:.0f}", name]
                print(f"| {Path(path).stem}, {noise:g} | {' | '.join(cells)} |", flush=True)


main()
