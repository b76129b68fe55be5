"""The command: `python -m motion_search`."""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import numpy

import motion_search as ms

if TYPE_CHECKING:
    from numpy.typing import NDArray


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="motion-search",
        description="Finds the motion in a video: of each frame in the frame before it.",
        epilog="The .npz file has `vectors` (fields, rows, columns, 2), `costs` (fields, rows, columns), `frame`, `time` in seconds, "
        "`block_size`, `shape` of the frames, and each cost of --costs.",
    )
    parser.add_argument("video", nargs="?", help="a file that FFmpeg decodes")
    parser.add_argument("--out", metavar="FILE.npz", help="write the vectors and their costs")
    parser.add_argument("--draw", metavar="FILE.mp4", help="write the video with the vectors as arrows")
    parser.add_argument("--color", action="store_true", help="draw the motion as colours")
    parser.add_argument("--block-size", type=int, metavar="N", help="samples on a side of a block: 8 by default")
    parser.add_argument("--algorithm", choices=("hierarchical", "full", "three-step"), help="hierarchical by default")
    parser.add_argument("--quality", choices=("fast", "balanced", "high"), help="of the algorithm hierarchical")
    parser.add_argument("--search-range", type=int, metavar="N", help="of the other algorithms: 16 by default")
    parser.add_argument("--costs", metavar="NAME,...", help="further costs, such as confidence")
    parser.add_argument("--device", metavar="NAME", help="where to search: auto by default")
    parser.add_argument("--devices", action="store_true", help="list the devices of this machine")
    parser.add_argument("--version", action="version", version=ms.__version__)
    return parser


class Arrays:
    """Arrays whose first axis grows, until they are written as one `.npz` file. They wait in files of their own: those of long
    videos do not fit into memory."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[IO[bytes], numpy.dtype[Any], tuple[int, ...]]] = {}
        self.count = 0

    def append(self, **parts: NDArray[Any]) -> None:
        for name, part in parts.items():
            if name not in self.files:
                self.files[name] = (TemporaryFile(), part.dtype, part.shape)
            self.files[name][0].write(numpy.ascontiguousarray(part).tobytes())
        self.count += 1

    def write(self, path: str, **others: Any) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, value in others.items():
                with archive.open(f"{name}.npy", "w") as member:
                    numpy.lib.format.write_array(member, numpy.asarray(value))
            for name, (file, kind, shape) in self.files.items():
                file.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    header = {
                        "descr": numpy.lib.format.dtype_to_descr(kind),
                        "fortran_order": False,
                        "shape": (self.count, *shape),
                    }
                    numpy.lib.format.write_array_header_1_0(member, header)
                    while chunk := file.read(1 << 20):
                        member.write(chunk)


class Movie:
    """A video file that pictures are added to."""

    def __init__(self, path: str, rate: Any) -> None:
        import av

        self.container: Any = av.open(path, "w")
        self.stream: Any = self.container.add_stream("libx264", rate=rate, options={"crf": "18"})
        self.stream.pix_fmt = "yuv420p"
        # The first picture says which.
        self.stream.width = self.stream.height = 0

    def add(self, picture: NDArray[numpy.uint8]) -> None:
        import av

        if not self.stream.width:
            # Of 4:2:0 both sides are even.
            self.stream.height, self.stream.width = (side // 2 * 2 for side in picture.shape[:2])
        even = numpy.ascontiguousarray(picture[: self.stream.height, : self.stream.width])
        self.container.mux(self.stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")))

    def close(self) -> None:
        self.container.mux(self.stream.encode(None))
        self.container.close()


def run(options: argparse.Namespace) -> None:
    names = ("block_size", "algorithm", "quality", "search_range", "device")
    settings = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.costs:
        settings["costs"] = tuple(options.costs.split(","))
    arrays, movie, field = Arrays(), None, None
    try:
        for frame, field in ms.video(options.video, **settings):
            if options.out:
                time = numpy.array(numpy.nan if frame.time is None else frame.time)
                arrays.append(vectors=field.vectors, costs=field.costs, frame=numpy.array(field.frame), time=time, **field.further_costs)
            if options.draw:
                movie = movie or Movie(options.draw, rate_of(options.video))
                picture: Any = frame.to_ndarray(format="rgb24")
                movie.add(field.color() if options.color else field.draw(picture))
    finally:
        if movie:
            movie.close()
    if field is None:
        raise ValueError(f"{options.video} has fewer than two frames")
    if options.out:
        arrays.write(options.out, block_size=field.block_size, shape=field.shape)
        print(f"{options.out}: {arrays.count} fields of {' x '.join(map(str, field.records.shape))} blocks")
    if options.draw:
        print(f"{options.draw}: the motion of {field.frame + 1} frames")


def rate_of(path: str) -> Any:
    """The frame rate of a video."""
    import av

    with av.open(path) as container:
        return container.streams.video[0].average_rate or 25


def main() -> None:
    parser = arguments()
    options = parser.parse_args()
    if options.devices:
        for device in ms.devices():
            print(f"{device.device:8}{device.kind:13}{device.name}  ({device.driver})")
        return
    if options.video is None:
        parser.error("a video is missing")
    if not options.out and not options.draw:
        parser.error("nothing is to be written: use --out, --draw or both")
    for path in filter(None, (options.out, options.draw)):
        if not Path(path).absolute().parent.is_dir():
            parser.error(f"{path} cannot be written: there is no such folder")
    try:
        run(options)
    except (OSError, ImportError, TypeError, ValueError, RuntimeError) as error:
        sys.exit(f"motion-search: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
