"""Pairs and streams of frames."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Literal, Mapping, NamedTuple, Sequence, TypedDict

from motion_search import _native
from motion_search._field import Field

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    Luma = NDArray[numpy.uint8] | NDArray[numpy.uint16]


class Settings(TypedDict, total=False):
    """What is searched for: keywords of `search`, `fields` and `video`."""

    #: `"hierarchical"`, the default, finds vectors near the true motion, in 1/32 sample. `"full"` finds the best match of all
    #: candidates of the search range, `"three-step"` compares few of them.
    algorithm: Literal["hierarchical", "full", "three-step"]
    #: Samples on a side of a block, 8 by default: a multiple of 4 from 4 to 64; with `"hierarchical"` 4, 8, 16, 32 or 64.
    block_size: int
    #: How much `"hierarchical"` does: `"balanced"` by default.
    quality: Literal["fast", "balanced", "high"]
    #: The longest vector of the other algorithms on each axis in samples, or `(x, y)`: 16 by default.
    search_range: int | tuple[int, int]
    #: In its place the first and last displacements `(x0, x1, y0, y1)`.
    search_window: tuple[int, int, int, int]
    #: The precision of the vectors of the other algorithms: `"none"` by default, for whole samples.
    sub_sample: Literal["none", "half", "quarter"]
    #: How the other algorithms compare blocks: `"sad"` by default.
    metric: Literal["sad", "ssd"]
    #: What is outside the reference frame, for the other algorithms: `"extend"` by default.
    border: Literal["extend", "restrict"]
    #: `"median"` also predicts each vector from its neighbours.
    prediction: Literal["none", "median"]
    #: What else is computed for each block: `"zero"`, `"intra"`, `"satd"`, `"second"`, `"variance"`, `"confidence"`.
    costs: Sequence[str]
    #: Whether frames are found that begin another scene.
    scene_cut: bool
    #: Bits of the samples in arrays of uint16, if they are fewer than 16: 9 to 15.
    bit_depth: int
    #: `(black, white)`: the part of the range of deep samples that `"hierarchical"` looks at.
    levels: tuple[int, int]
    #: Where to search: `"auto"` by default, the best OpenCL GPU or else the CPU; `"native"`, the CPU without OpenCL; `"gpu"`, `"cpu"`,
    #: `"accelerator"`, `"P:D"`, a part of a name, a list as `"gpu,native"`, or `"all"`. It never changes the vectors.
    device: str
    #: Threads of the CPU; 0 by default, for one a core.
    threads: int
    #: How many frames of a stream are searched at a time, 1 to 16: a GPU needs several to be busy.
    in_flight: int


class Device(NamedTuple):
    """A device of this machine."""

    #: The name that selects it.
    device: str
    #: `"native"`, `"gpu"`, `"cpu"` or `"accelerator"`.
    kind: str
    name: str
    #: Its instruction set, or its OpenCL platform and version.
    driver: str


def devices() -> list[Device]:
    """Every device of this machine, the CPU without OpenCL first.

    A process that was forked from one that has used OpenCL has that one alone.
    """
    return [Device(*device) for device in _native.devices()]


#: The types of settings in words, and of their values and the values' parts; `None` for those without parts.
KINDS: dict[str, tuple[str, tuple[type, ...], type | None]] = {
    **dict.fromkeys(("algorithm", "quality", "sub_sample", "metric", "border", "prediction", "device"), ("a text", (str,), None)),
    **dict.fromkeys(("block_size", "bit_depth", "threads", "in_flight"), ("a whole number", (Integral,), None)),
    "search_range": ("a whole number or (x, y)", (Integral, tuple, list), Integral),
    "search_window": ("(x0, x1, y0, y1)", (tuple, list), Integral),
    "costs": ('a sequence of names, such as ("confidence",)', (tuple, list, set, frozenset), str),
    "scene_cut": ("True or False", (bool,), None),
    "levels": ("(black, white)", (tuple, list), Integral),
}

LENGTHS = {"search_range": 2, "search_window": 4, "levels": 2}


def check(name: str, value: Any) -> None:
    """Checks what the library would refuse without the name.

    Raises:
        TypeError: if the setting has a value of another type.
        ValueError: if a number is out of the library's range.
    """
    text, kinds, kind_of_parts = KINDS[name]
    if not isinstance(value, kinds):
        raise TypeError(f"{name} is a {type(value).__name__}: give {text}")
    parts = value if isinstance(value, (tuple, list, set, frozenset)) else [value]
    if name in LENGTHS and parts is value and len(parts) != LENGTHS[name]:
        raise ValueError(f"{name} has {len(parts)} parts: give {text}")
    for part in parts:
        if kind_of_parts and not isinstance(part, kind_of_parts):
            raise TypeError(f"{name} has a {type(part).__name__}: give {text}")
        if isinstance(part, Integral):
            least = -(2**31) if name == "search_window" else 0
            if not least <= int(part) < 2**31:
                raise ValueError(f"{name} has {part}: use {least} to {2**31 - 1}")


def native_settings(settings: Mapping[str, Any], earlier: int = 1, later: int = 0) -> _native.Settings:
    """The settings as the library takes them, with the defaults of this package.

    Raises:
        TypeError: for a keyword that is none, or a value of another type.
        ValueError: for a value that does not exist.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    for name, value in given.items():
        if name not in KINDS:
            raise TypeError(f"{name!r} is no setting of a search: use {', '.join(sorted(KINDS))}")
        check(name, value)
    if isinstance(given.get("search_range"), Integral):
        given["search_range"] = (given["search_range"], given["search_range"])
    given["costs"] = list(given.get("costs", ()))
    return _native.Settings(**{"algorithm": "hierarchical", "block_size": 8, **given}, earlier=earlier, later=later)


def search(current: Luma, reference: Luma, **settings: Unpack[Settings]) -> Field:
    """Finds for each block of `current` where it is in `reference`.

    Args:
        current: `(height, width)` of uint8 or uint16.
        reference: the same, for example the frame before.
        **settings: see `Settings`.

    Raises:
        TypeError: for arrays of another kind.
        ValueError: for arrays of different sizes, and for settings that do not exist or do not go together.
        RuntimeError: if a device fails.
    """
    return Field._of(_native.search(current, reference, native_settings(settings)))


def references_of(references: int, direction: str) -> tuple[int, int]:
    """The numbers of earlier and later frames."""
    if direction not in ("backward", "forward", "both"):
        raise ValueError(f'direction={direction!r} is not known: use "backward", "forward", "both"')
    if not 1 <= references <= 4:
        raise ValueError(f"references is {references}: use 1 to 4")
    return (references if direction != "forward" else 0, references if direction != "backward" else 0)


def fields(
    frames: Iterable[Luma],
    *,
    references: int = 1,
    direction: Literal["backward", "forward", "both"] = "backward",
    **settings: Unpack[Settings],
) -> Iterator[Field]:
    """Searches each frame of a stream in other frames of it: by default in the one before it.

    The fields come as soon as their frames are there. With each frame come those of it in earlier frames, the nearest first, then those
    of earlier frames in it. `Field.frame` is the number of the current frame, `Field.offset` tells the reference frame.

    Args:
        frames: arrays `(height, width)` of uint8 or uint16, all of one size and type. An array that can be written into is copied, so
            that it may be used again for the next frame; a read-only one is kept.
        references: how many frames are searched each way, 1 to 4.
        direction: `"backward"` for earlier frames, `"forward"` for later ones.
        **settings: see `Settings`.

    Raises:
        TypeError, ValueError, RuntimeError: as `search`, with the number of the frame.
    """
    native = native_settings(settings, *references_of(references, direction))
    return _fields(iter(frames), native)


def _fields(frames: Iterator[Luma], settings: _native.Settings) -> Iterator[Field]:
    stream = _native.Stream(settings)
    try:
        for number, frame in enumerate(frames):
            stream.start(frame, f"frame {number}")
            while not stream.has_room() and (found := stream.finish()) is not None:
                yield Field._of(found)
        while (found := stream.finish()) is not None:
            yield Field._of(found)
    finally:
        stream.close()
