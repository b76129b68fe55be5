"""Fields are those of the Rust library and of the GStreamer element, byte for byte."""

import numpy
import pytest

import motion_search as ms
from compared import by_elements, by_library
from conftest import moving, texture

#: Settings, the bits of the samples, and the size of the frames.
TABLE = [
    ({}, 8, (96, 128)),
    ({"block_size": 4}, 8, (61, 83)),
    ({"block_size": 16, "quality": "fast"}, 8, (96, 128)),
    ({"block_size": 32, "quality": "high"}, 8, (130, 200)),
    ({"block_size": 64, "quality": "balanced", "prediction": "median"}, 8, (130, 200)),
    ({"costs": ["zero", "intra", "satd", "variance", "confidence"]}, 8, (61, 83)),
    ({"quality": "high"}, 10, (61, 83)),
    ({"algorithm": "full", "block_size": 16}, 8, (96, 128)),
    ({"algorithm": "full", "search_range": (7, 3)}, 8, (61, 83)),
    ({"algorithm": "full", "search_window": (-5, 4, -2, 6), "sub_sample": "half"}, 8, (61, 83)),
    ({"algorithm": "full", "sub_sample": "quarter", "metric": "ssd", "block_size": 12}, 8, (61, 83)),
    ({"algorithm": "full", "border": "restrict", "block_size": 24, "search_range": (40, 40)}, 8, (61, 83)),
    ({"algorithm": "full", "costs": ["second", "confidence"], "prediction": "median"}, 8, (61, 83)),
    ({"algorithm": "full", "sub_sample": "quarter"}, 12, (61, 83)),
    ({"algorithm": "full"}, 16, (61, 83)),
    ({"algorithm": "three-step", "block_size": 16}, 8, (96, 128)),
    ({"algorithm": "three-step", "border": "restrict", "sub_sample": "half", "metric": "ssd"}, 8, (61, 83)),
    ({"block_size": 8}, 8, (3, 1)),
]


def bytes_of(field):
    """The vectors, the predictors and the costs of a field, as the library has them."""
    predictors = b"" if field.predictors is None else field.predictors.tobytes()
    kinds = ["zero", "intra", "satd", "second", "variance", "confidence"]
    costs = [field.cost(kind) for kind in kinds if kind in field.further_costs]
    return field.records.tobytes() + predictors + (numpy.stack(costs, -1).tobytes() if costs else b"")


@pytest.mark.parametrize("settings, bits, size", TABLE)
def test_a_field_is_that_of_the_library(settings, bits, size):
    reference, current = moving(2, *size, bits)
    expected = by_library(current, reference, bits, {"algorithm": "hierarchical", "block_size": 8, **settings})
    depth = {} if bits in (8, 16) else {"bit_depth": bits}
    for device in ("native", "auto"):
        field = ms.search(current, reference, device=device, **settings, **depth)
        assert bytes_of(field) == expected
        assert field.scale == (4 if "algorithm" in settings else 32)


@pytest.mark.parametrize("settings, bits, size", [row for row in TABLE if row[1] in (8, 16)])
def test_fields_of_a_stream_are_those_of_the_element(settings, bits, size, tmp_path):
    frames = moving(5, *size, bits)
    values = {"algorithm": "hierarchical", "block_size": 8, "search_range": (16, 16), **settings}
    across, down = values.pop("search_range")
    values |= {"search-range": across, "search-range-y": down}
    if "search_window" in values:
        values["search_window"] = f'"{",".join(map(str, values["search_window"]))}"'
    if "costs" in values:
        values["costs"] = '"' + "+".join(values["costs"]) + '"'
    properties = " ".join(f"{name.replace('_', '-')}={value}" for name, value in values.items())
    found = by_elements(tmp_path, frames, f"motionestimate device=native references=2 direction=both {properties}")
    fields = list(ms.fields(frames, references=2, direction="both", in_flight=2, **settings))
    # A frame leaves the element with all of its fields, so in another order than fields are found.
    fields.sort(key=lambda field: (field.frame, field.offset > 0, abs(field.offset)))
    assert len(fields) == 14 == sum(name.startswith("field") for name in found)
    for number, field in enumerate(fields):
        parts = [found[f"{name} {number}"].tobytes() for name in ("field", "predictors", "costs") if f"{name} {number}" in found]
        assert bytes_of(field) == b"".join(parts)
        assert field.offset == found[f"offset {number}"]


def test_vectors_costs_and_flow_follow_from_the_records():
    reference, current = texture(40, 56), numpy.roll(texture(40, 56), (2, -3), (0, 1))
    field = ms.search(current, reference)
    assert field.records.shape == (5, 7) and field.shape == (40, 56)
    assert field.vectors.dtype == numpy.float32 and field.vectors.shape == (5, 7, 2)
    assert (field.vectors[2, 3] == (3, -2)).all() and field.costs[2, 3] == 0
    assert (field.vectors[..., 0] * 32 == field.records["x"]).all() and (field.vectors[..., 1] * 32 == field.records["y"]).all()
    assert (field.costs == field.records["cost"]).all() and field.costs.dtype == numpy.uint32

    blocks = field.flow(smooth=False)
    flow = field.flow()
    assert blocks.shape == flow.shape == (40, 56, 2) and flow.dtype == blocks.dtype == numpy.float32
    assert (blocks[16:24, 24:32] == field.vectors[2, 3]).all()
    # Between the middles of two blocks, and beyond them.
    records = numpy.array([[(0, 32, 0), (256, 32, 0)], [(0, 96, 0), (256, 96, 0)]], field.records.dtype)
    made = ms.Field(shape=(14, 16), block_size=8, scale=32, records=records).flow()
    assert (made[:, :, 0] == numpy.interp(numpy.arange(16), (3.5, 11.5), (0, 8))).all()
    assert (made[:, 5, 1] == numpy.interp(numpy.arange(14), (3.5, 11.5), (1, 3))).all()
    assert (flow[0, 0] == field.vectors[0, 0]).all() and (flow[-1, -1] == field.vectors[-1, -1]).all()

    # The flow leads to the reference frame.
    y, x = numpy.indices((40, 56))
    at = (y + blocks[..., 1]).round().astype(int), (x + blocks[..., 0]).round().astype(int)
    assert (reference[at[0][8:32, 8:40], at[1][8:32, 8:40]] == current[8:32, 8:40]).all()


def test_pictures_show_the_motion():
    reference, current = texture(64, 64), numpy.roll(texture(64, 64), -6, 1)
    field = ms.search(current, reference, block_size=16)
    red = field.color()
    assert red.shape == (64, 64, 3) and red.dtype == numpy.uint8
    assert (red[24, 24] == (255, 0, 0)).all() and (field.color(longest=24)[24, 24] == (128, 0, 0)).all()
    assert not ms.search(current, current).color().any()
    grey = numpy.full((64, 64), 100, numpy.uint8)
    drawn = field.draw(grey)
    # From the middle of a block to the right: a shaft, the head, and nothing behind it.
    row = drawn[23:25].mean((0, 2))
    assert row[25] > 200 and row[28] > 150 and row[20] == 100 and row[35] == 100
    assert (grey == 100).all() and (drawn == field.draw(grey[..., None].repeat(3, -1))).all()
    assert (ms.search(current, current).draw(grey) == 100).all()
    for wrong in (grey[:60], grey.astype(float), grey[..., None]):
        with pytest.raises(ValueError, match="give .64, 64. or .64, 64, 3. of uint8"):
            field.draw(wrong)
    with pytest.raises(ValueError, match="every is 0: use 1 or more"):
        field.draw(grey, every=0)


def test_arrays_are_read_where_they_are():
    reference, current = moving(2, 70, 90)
    field = ms.search(current, reference)
    room = numpy.zeros((80, 120), numpy.uint8)
    room[4:74, 17:107] = current
    view = room[4:74, 17:107]
    assert view.strides == (120, 1) and bytes_of(ms.search(view, reference)) == bytes_of(field)
    # Every other row of a frame; read-only; of a file in memory.
    rows = current.repeat(2, 0)[::2]
    rows.flags.writeable = False
    assert bytes_of(ms.search(rows, numpy.frombuffer(reference.tobytes(), numpy.uint8).reshape(70, 90))) == bytes_of(field)
    one = ms.search(current[:1], reference[:1])
    assert one.records.shape == (1, 12)


def test_the_arrays_of_a_stream_may_be_used_again():
    frames = moving(4, 70, 90)
    expected = [ms.search(one, other) for other, one in zip(frames, frames[1:])]

    def reused():
        room = numpy.empty_like(frames[0])
        for frame in frames:
            room[...] = frame
            yield room

    for in_flight in (1, 3):
        found = list(ms.fields(reused(), in_flight=in_flight))
        assert [bytes_of(field) for field in found] == [bytes_of(field) for field in expected]
        assert [field.frame for field in found] == [1, 2, 3]
    assert list(ms.fields([])) == list(ms.fields(frames[:1])) == []


def test_scene_cuts_are_found():
    frames = moving(3, 128, 128) + [texture(128, 128, seed=7)]
    assert [field.is_scene_cut for field in ms.fields(frames, scene_cut=True)] == [False, False, True]
    assert ms.search(frames[1], frames[0]).is_scene_cut is None
    # Without a frame before, nothing tells.
    with pytest.raises(ValueError, match="search at least one earlier reference frame"):
        list(ms.fields(frames, direction="forward", scene_cut=True))


def test_devices_are_listed_and_find_the_same():
    devices = ms.devices()
    assert devices[0][:3] == ("native", "native", "native")
    reference, current = moving(2, 70, 90)
    expected = bytes_of(ms.search(current, reference, device="native"))
    for device in devices[1:]:
        assert bytes_of(ms.search(current, reference, device=device.device)) == expected
