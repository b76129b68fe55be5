"""Measures motionestimate beside FFmpeg's mestimate and OpenCV's optical flow: `scripts/peers --help`."""

import argparse
import datetime
import os
import pathlib
import platform
import sys
import tempfile
import time
from dataclasses import dataclass

try:
    import av
    import gi  # noqa: F401
    import numpy
except ImportError as error:
    sys.exit(f"peers: {error}: run scripts/deps peers, and Debian's own Python (/usr/bin/python3)")
try:
    import cv2
except ImportError:
    cv2 = None

import contest
import drawing
import report
import selftest
from common import PeersError, progress
from frames import decode
from prediction import share_unchanged

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_CLIP = ROOT / "media" / "big_buck_bunny.mp4"


@dataclass
class Clip:
    """The decoded frames of a clip; `frames` is how many of them are searched."""

    name: str
    samples: numpy.ndarray
    # How many frames of the clip come before `samples`.
    skipped: int

    @classmethod
    def read(cls, path, options):
        return cls(path.name, *decode(path, options.skip, options.frames + 2))

    @property
    def frames(self):
        # The first is only a reference; the last is only needed for FFmpeg's other direction.
        return len(self.samples) - 2

    @property
    def height(self):
        return self.samples.shape[1]

    @property
    def width(self):
        return self.samples.shape[2]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/peers",
        description="Speed and prediction PSNR of motionestimate, FFmpeg's mestimate and OpenCV's optical "
        "flow, on the same frames. Prints a table; writes peers.csv and peers.svg.",
    )
    parser.add_argument("--clip", nargs="+", type=pathlib.Path, default=[DEFAULT_CLIP], metavar="FILE")
    parser.add_argument("--range", type=int, default=16, metavar="R", help="search range (default: 16)")
    parser.add_argument("--block", type=int, default=16, metavar="B", help="block size (default: 16)")
    parser.add_argument("--frames", type=int, metavar="N", help="frames to search in each clip (default: 10)")
    parser.add_argument("--skip", type=int, metavar="N", help="frames to skip first (default: up to the middle)")
    parser.add_argument("--seconds", type=float, help="least time of each measurement (default: 2)")
    parser.add_argument(
        "--flow",
        nargs="*",
        type=pathlib.Path,
        metavar="FOLDER",
        help="instead: how far vectors are from the true motion, on the pairs in FOLDER (two .png and a .flo "
        "each), and on pairs made of their frames or of the first clip's",
    )
    parser.add_argument(
        "--interpolate",
        action="store_true",
        help="instead: how near made frames are to those that were left out, with times (of 41 frames unless --frames says)",
    )
    parser.add_argument(
        "--triplets",
        nargs="+",
        type=pathlib.Path,
        metavar="FOLDER",
        help="instead: how near a frame between the first and the third image is to the second, of the folders in FOLDER with "
        "three .png each, as in Middlebury, UCF101, Vimeo-90K or SNU-FILM",
    )
    parser.add_argument(
        "--denoise",
        action="store_true",
        help="instead: how many bits an encoder needs behind motiondenoise and FFmpeg's denoisers, with times (41 frames)",
    )
    parser.add_argument("--noise", type=float, default=0, metavar="S", help="with --denoise: add noise of this deviation")
    parser.add_argument("--encoder", choices=("x264", "x265"), default="x264", help="with --denoise (default: x264)")
    parser.add_argument("--device", default="native", metavar="D", help="our device with --flow (default: native)")
    parser.add_argument("--quick", action="store_true", help="two frames and few repetitions")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out", metavar="FOLDER")
    options = parser.parse_args()
    options.made_from = options.frames or (9 if options.quick else 41)
    options.frames = options.frames or (2 if options.quick else 10)
    if options.seconds is None:
        options.seconds = 0.1 if options.quick else 2
    # The limits of mestimate: a power of two, and a range of at least four.
    if options.block not in (8, 16, 32, 64):
        parser.error("--block: mestimate supports 8, 16, 32 and 64")
    if not 4 <= options.range <= 1024:
        parser.error("--range: from 4 to 1024")
    if options.frames < 1 or (options.skip or 0) < 0 or options.seconds < 0:
        parser.error("--frames must be at least 1; --skip and --seconds must not be negative")
    return options


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
        return next(names, platform.machine())


def describe_machine():
    """One line about the machine and the programs."""
    filters = ".".join(map(str, av.library_versions["libavfilter"]))
    opencv = f", OpenCV {cv2.__version__}" if cv2 else ""
    return f"{cpu_name()}, {len(contest.cpus())} cores; libavfilter {filters}{opencv}"


def describe(clip, options):
    """One line about the frames that are searched."""
    first = clip.skipped + 1
    unchanged = share_unchanged(clip.samples[:-1], options.block)
    return (
        f"{clip.name}, {clip.width} x {clip.height}, frames {first} to {first + clip.frames - 1}, "
        f"{options.block} x {options.block} blocks ({unchanged:.0%} of them unchanged), "
        f"range {options.range}:"
    )


def load():
    return f"{os.getloadavg()[0]:.2f}"


def measure_clip(options, clip, entrants):
    """Measures every contestant on one clip. Returns the rows of the clip."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "frames.npy"
        numpy.save(path, clip.samples)
        for index, contestant in enumerate(entrants):
            progress(f"[{index + 1}/{len(entrants)}] {clip.name}: {contestant}")
            measured = contest.measure(contestant, path, options.block, options.seconds)
            if measured is not None:
                results.append((contestant, measured))
    progress("")
    return list(report.rows(clip, options.block, options.range, results))


def main():
    options = parse_arguments()
    began, load_before = time.monotonic(), load()
    if options.interpolate or options.triplets or options.denoise:
        if cv2 is None:
            raise PeersError("--interpolate, --triplets and --denoise need python3-opencv: run scripts/deps peers")
        print(f"{datetime.date.today()}, {describe_machine()}")
    if options.interpolate:
        import smooth

        return smooth.compare(options.clip, options.skip or 0, options.made_from, options.quick, progress)
    if options.triplets:
        import triplets

        return triplets.compare(options.triplets, options.quick, progress)
    if options.denoise:
        import denoise

        arguments = (options.skip or 0, options.made_from, options.noise, options.encoder, options.quick)
        return denoise.compare(options.clip, *arguments, progress)
    kernels = contest.in_process(contest.our_kernels)
    clips = [Clip.read(path, options) for path in options.clip]
    for clip in clips:
        if min(clip.width, clip.height) < 4 * options.block:
            raise PeersError(f"{clip.name} is too small: it needs four blocks in each direction")
        if clip.frames < options.frames:
            print(f"peers: {clip.name} has only {clip.frames} frames to search", file=sys.stderr)
    if options.flow is not None:
        if cv2 is None:
            raise PeersError("--flow needs python3-opencv: run scripts/deps peers")
        import flow

        print(f"{datetime.date.today()}, {describe_machine()}")
        return flow.compare(options.flow, clips[0].samples[0], options.device, progress)
    if cv2 is None:
        print("peers: **** OpenCV is not measured: python3-opencv is not installed ****", file=sys.stderr)

    progress("self-test")
    selftest.check_prediction()
    contest.in_process(selftest.check_vectors, kernels, cv2 is not None)
    contest.in_process(selftest.check_against_esa, clips[0].samples[:4], min(options.range, 16))

    entrants = contest.contestants(options.block, options.range, kernels, cv2 is not None)
    print(f"{datetime.date.today()}, {describe_machine()}")
    clips_rows = []
    for clip in clips:
        rows = measure_clip(options, clip, entrants)
        clips_rows.append(rows)
        print(f"\n{describe(clip, options)}\n\n{report.table(rows)}\n\n{report.targets(rows)}", flush=True)
        if words := report.disturbed(rows):
            print(words, flush=True)
    if len(clips_rows) > 1:
        print(f"\nAll clips (in brackets: one vector a sample):\n\n{report.summary(clips_rows)}")
    if not any(row["where"] == contest.GPU for rows in clips_rows for row in rows):
        print("\nNo OpenCL GPU was found: there are no GPU rows.")
    print(f"\nLoad average {load_before} before, {load()} after; {time.monotonic() - began:.0f} s.")

    try:
        options.out.mkdir(parents=True, exist_ok=True)
        report.write_csv(options.out / "peers.csv", [row for rows in clips_rows for row in rows])
        caption = f"{datetime.date.today()}, {describe_machine()}"
        drawing.write_svg(options.out / "peers.svg", clips_rows, caption)
    except OSError as error:
        raise PeersError(f"cannot write the results: {error}") from error
    print(f"Wrote {options.out}/peers.csv and peers.svg")


if __name__ == "__main__":
    try:
        main()
    except PeersError as error:
        progress("")
        sys.exit(f"peers: {error}")
    except KeyboardInterrupt:
        sys.exit("\npeers: interrupted")
