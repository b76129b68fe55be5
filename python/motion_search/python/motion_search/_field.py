"""What a search finds."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy

from motion_search import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A vector and its cost, as the library and the metadata of the GStreamer elements have them: x to the right and y down, in units of
#: 1 / scale sample.
RECORD = numpy.dtype([("x", "i2"), ("y", "i2"), ("cost", "u4")])


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    """A motion field: for each block of the current frame, where the reference frame has it.

    The block in `row` and `column` begins at the sample `(column * block_size, row * block_size)`. It is matched by the block of the
    reference frame that begins at this place plus its vector.
    """

    #: Height and width of the frame in samples.
    shape: tuple[int, int]
    #: Samples on a side of a block.
    block_size: int
    #: Units of the records per sample: 32 for hierarchical search, else 4.
    scale: int
    #: `(rows, columns)` records: int16 `x` and `y` in units of 1 / scale sample, and uint32 `cost`.
    records: NDArray[Any]
    #: The number of the current frame in its stream, from 0.
    frame: int = 0
    #: Frames from the current to the reference frame: -1 for the one before, +1 for the one after.
    offset: int = -1
    #: The time of the current frame in nanoseconds, where it is known: of fields from files.
    pts: int | None = None
    #: Whether the current frame begins another scene than the frame before; `None` if `scene_cut` did not ask for it.
    is_scene_cut: bool | None = None
    #: `(rows, columns, 2)` int16 in units of 1 / scale sample: what each vector is predicted to be from its neighbours; `None` if
    #: `prediction` did not ask for it.
    predictors: NDArray[numpy.int16] | None = None
    #: Further costs by name, `(rows, columns)` uint32: those that `costs` asked for.
    further_costs: dict[str, NDArray[numpy.uint32]] = field(default_factory=dict)

    @classmethod
    def _of(cls, found: dict[str, Any]) -> Field:
        """The field of what the library has found."""
        grid, names = found.pop("grid"), found.pop("cost_names")
        found["records"] = found["records"].view(RECORD).reshape(grid)
        if found["predictors"] is not None:
            found["predictors"] = found["predictors"].reshape(*grid, 2)
        costs = found.pop("costs").reshape(*grid, len(names))
        found["further_costs"] = {name: numpy.ascontiguousarray(costs[..., index]) for index, name in enumerate(names)}
        return cls(**found)

    def __repr__(self) -> str:
        rows, columns = self.records.shape
        height, width = self.shape
        return (
            f"<Field {rows} x {columns} blocks of {self.block_size} samples, frame {self.frame} of {width} x {height} "
            f"in frame {self.frame + self.offset}>"
        )

    @functools.cached_property
    def vectors(self) -> NDArray[numpy.float32]:
        """`(rows, columns, 2)` float32: the vectors in samples, x to the right, y down."""
        vectors = numpy.empty((*self.records.shape, 2), numpy.float32)
        scale = numpy.float32(self.scale)
        numpy.divide(self.records["x"], scale, out=vectors[..., 0])
        numpy.divide(self.records["y"], scale, out=vectors[..., 1])
        return vectors

    @functools.cached_property
    def costs(self) -> NDArray[numpy.uint32]:
        """`(rows, columns)` uint32: the difference of each block and its match, by the metric of the search."""
        return numpy.ascontiguousarray(self.records["cost"])

    def cost(self, name: str) -> NDArray[numpy.uint32]:
        """`(rows, columns)` uint32: a cost that `costs` asked for, such as `"confidence"`: 64 and more is to be trusted.

        Raises:
            KeyError: if the search was not asked for it.
        """
        if name not in self.further_costs:
            known = ", ".join(map(repr, self.further_costs)) or "none"
            raise KeyError(f'the field has no cost "{name}", but {known}: ask for it by costs=("{name}",)')
        return self.further_costs[name]

    def flow(self, smooth: bool = True) -> NDArray[numpy.float32]:
        """`(height, width, 2)` float32: a vector for each sample, as OpenCV's optical flow from the current to the reference frame.

        `cv2.remap(reference, x + flow[..., 0], y + flow[..., 1], cv2.INTER_LINEAR)`, with `y, x = numpy.indices(shape,
        numpy.float32)`, is the current frame as the reference frame shows it.

        Args:
            smooth: between the middles of blocks the vectors change linearly. Otherwise all samples of a block have its vector.
        """
        if smooth:
            return _native.dense(self.vectors, self.shape, self.block_size)
        height, width = self.shape
        blocks = self.vectors.repeat(self.block_size, 0)[:height]
        return blocks.repeat(self.block_size, 1)[:, :width]

    def color(self, longest: float | None = None) -> NDArray[numpy.uint8]:
        """`(height, width, 3)` uint8: the motion as colours. Red is to the right, green-yellow down, cyan to the left, violet up.

        Args:
            longest: the length in samples that has the brightest colour; by default the longest vector's.
        """
        if longest is None:
            longest = float(numpy.hypot(self.vectors[..., 0], self.vectors[..., 1]).max())
        height, width = self.shape
        # Without motion everything is black, whatever the longest is.
        colors = _native.motion_colors(self.vectors, max(longest, 1e-6))
        return colors.repeat(self.block_size, 0)[:height].repeat(self.block_size, 1)[:, :width]

    def draw(self, picture: NDArray[numpy.uint8], every: int | None = None) -> NDArray[numpy.uint8]:
        """`(height, width, 3)` uint8: the picture with arrows from the middles of blocks to where the reference frame has them.

        Args:
            picture: `(height, width)` or `(height, width, 3)` uint8, of the size of the frame. It stays as it is.
            every: draw the vectors of every so many blocks on each axis; by default so many that arrows begin 16 samples apart.

        Raises:
            ValueError: for a picture of another size or type.
        """
        picture = numpy.asarray(picture)
        if picture.dtype != numpy.uint8 or picture.shape not in (self.shape, (*self.shape, 3)):
            raise ValueError(
                f"the picture has the shape {picture.shape} of {picture.dtype}: give {self.shape} or {(*self.shape, 3)} of uint8"
            )
        if every is None:
            every = max(1, 16 // self.block_size)
        elif every < 1:
            raise ValueError(f"every is {every}: use 1 or more")
        drawn = numpy.repeat(picture[..., None], 3, -1) if picture.ndim == 2 else picture.copy("C")
        _native.draw_arrows(drawn, self.vectors, self.block_size, every)
        return drawn
