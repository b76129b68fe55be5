from typing import Any, Sequence

import numpy
from numpy.typing import NDArray

class Settings:
    def __new__(
        cls,
        *,
        algorithm: str,
        block_size: int,
        search_range: tuple[int, int] | None = None,
        search_window: tuple[int, int, int, int] | None = None,
        quality: str | None = None,
        sub_sample: str = "none",
        metric: str | None = None,
        border: str | None = None,
        prediction: str = "none",
        costs: list[str] = ...,
        scene_cut: bool = False,
        bit_depth: int | None = None,
        levels: tuple[int, int] | None = None,
        earlier: int = 1,
        later: int = 0,
        device: str = "auto",
        threads: int = 0,
        in_flight: int = 1,
    ) -> Settings: ...

class Stream:
    def __new__(cls, settings: Settings) -> Stream: ...
    def start(self, frame: NDArray[Any], name: str) -> None: ...
    def has_room(self) -> bool: ...
    def finish(self) -> dict[str, Any] | None: ...
    def close(self) -> None: ...

class Denoise:
    def __new__(
        cls,
        *,
        strength: float,
        noise_level: float | None,
        spatial: bool,
        past: int,
        future: int,
        bit_depth: int | None,
        levels: tuple[int, int] | None,
        device: str,
        threads: int,
    ) -> Denoise: ...
    def take(self, frame: Any, name: str) -> list[tuple[Any, int]]: ...
    def finish(self) -> list[tuple[Any, int]]: ...

def search(current: NDArray[Any], reference: NDArray[Any], settings: Settings) -> dict[str, Any]: ...
def devices() -> list[tuple[str, str, str, str]]: ...
def interpolate(
    frames: Sequence[Any],
    names: Sequence[str],
    phases: Sequence[tuple[int, int]],
    *,
    quality: str,
    scene_cut: float,
    bit_depth: int | None,
    levels: tuple[int, int] | None,
    device: str,
    threads: int,
) -> list[Any]: ...
def dense(vectors: NDArray[numpy.float32], shape: tuple[int, int], block_size: int) -> NDArray[numpy.float32]: ...
def motion_colors(vectors: NDArray[numpy.float32], longest: float) -> NDArray[numpy.uint8]: ...
def draw_arrows(picture: NDArray[numpy.uint8], vectors: NDArray[numpy.float32], block_size: int, every: int) -> None: ...
