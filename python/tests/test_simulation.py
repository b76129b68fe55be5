"""The simulation, whose figures are in docs/how/ranges.md."""

from motion_ray.simulation import Model, simulate


def test_more_workers_are_faster_until_the_start_up_counts() -> None:
    model = Model(video=7200.0, rate=100.0, slow=0.0, spread=0.0, lifetime=1e9)
    one, ten = simulate(model, 1, 1), simulate(model, 10, 1)
    assert one.ideal == 1800.0 and one.ideal < one.search < 1.1 * one.ideal and one.twice == 0.0
    assert one.ideal / ten.search > 8.5
    assert ten.plan == one.plan and ten.join == one.join


def test_slow_and_lost_workers_do_not_hold_back_the_end() -> None:
    model = Model(rate=100.0, slow=0.1, lifetime=20_000.0)
    out = simulate(model, 100, 1)
    assert out.search < 1.3 * out.ideal and 0.0 < out.twice < 0.05
    assert simulate(model, 100, 1) == out, "the same seed gives the same run"


def test_the_storage_limits_all_workers() -> None:
    model = Model(storage=1e9)
    out = simulate(model, 1000, 1)
    assert out.search >= model.video * (model.video_bytes + model.vector_bytes) / model.storage
