"""Single simulations and comparisons."""

import threading
from pathlib import Path
from typing import Any

import pytest

import befit
from befit import _befit


def test_a_machine_is_a_preset_or_a_synthetic_string_and_may_be_varied() -> None:
    machine = befit.Machine("xeon-7560")
    assert (machine.name, machine.workers, machine.sockets) == ("xeon-7560", 32, 4)
    assert machine.caches[-1] == ("L3", 4, 24 << 20)
    assert befit.Machine("xeon-7560", sockets=2, cores=4, bandwidth=50).workers == 8
    assert befit.Machine("l3:2 core:4 l1:1 pu:1").workers == 8
    assert "32 workers" in repr(machine) and "<pre>" in machine._repr_html_()
    assert "xeon-7560" in befit.machines() and "sb" in befit.schedulers()
    assert "rrm" in befit.kernels()


def test_a_simulation_is_a_function_of_its_arguments(recording: befit.Recording) -> None:
    one, again, other = (
        befit.simulate(recording, "xeon-7560", "ws", seed=seed) for seed in (1, 1, 2)
    )
    assert one.figures == again.figures != other.figures
    assert one.time_cycles == one.figures["time_cycles"] > one.span_cycles
    assert one.misses["L3"] == one.figures["misses_L3"]
    assert one.seconds == pytest.approx(one.time_cycles / 2266e6)
    assert len(one.worker_cycles) == 32 and sum(one.worker_cycles[0]) == one.time_cycles
    assert "under ws" in repr(one) and one._repr_html_().startswith("<svg")


def test_options_reach_the_scheduler(recording: befit.Recording) -> None:
    usual = befit.simulate(recording, "xeon-7560", "sb")
    small = befit.simulate(recording, "xeon-7560", "sb", sigma=0.001)
    assert usual.figures != small.figures


def test_a_recording_comes_back_from_its_file(file: str) -> None:
    loaded = befit.Recording(file)
    assert loaded.name == "rrm --n 20000" and loaded.tasks > 1 and loaded.sizes_from == "declared"
    assert befit.Recording(file, sizes="none").sizes_from == "none"
    assert "rrm" in repr(loaded) and "<table>" in loaded._repr_html_()


def test_a_recording_is_saved_with_the_sizes_that_its_tasks_declare(file: str) -> None:
    recorded = Path(file).read_bytes()
    for sizes in ("none", "measured", "only-learned", "declared"):
        befit.Recording(file, sizes=sizes).save("again.befit")
        assert Path("again.befit").read_bytes() == recorded, sizes


def test_a_comparison_has_a_row_for_each_machine_and_scheduler(
    recording: befit.Recording,
) -> None:
    table = befit.compare(recording, ["xeon-7560", "epyc-9654"], ["ws", "sb"], seeds=2)
    assert list(table["scheduler"]) == ["ws", "sb", "ws", "sb"]
    assert (table["seeds"] == 2).all() and (table["time_cycles.median"] > 0).all()
    one = befit.compare(recording, "xeon-7560", "sb", seeds=1)
    assert list(one["scheduler"]) == ["sb"]
    assert befit.sizes(recording, "xeon-7560")["tasks"] == recording.tasks


def test_a_comparison_takes_samples_where_that_is_asked_for(recording: befit.Recording) -> None:
    table = befit.compare(recording, schedulers=["ws"], seeds=2, sample=4)
    assert list(table["sampled.one_in"]) == [4]
    whole = befit.compare(recording, schedulers=["ws"], seeds=2, sample="off")
    assert table["misses.L1.median"][0] == pytest.approx(whole["misses.L1.median"][0], rel=0.05)
    with pytest.raises(ValueError, match="sample: .*a power of two"):
        befit.compare(recording, sample=3)


@pytest.mark.parametrize(
    ("machine", "scheduler", "options", "part"),
    [
        ("xeon", "ws", {}, "xeon-7560"),
        ("xeon-7560", "wss", {}, "known: ws"),
        ("xeon-7560", "sb", {"sigma": 3}, "above 0 and at most 1"),
        ("xeon-7560", "sb", {"sigme": 1}, "known: sigma"),
    ],
)
def test_what_cannot_be_is_a_value_error_that_says_what_can(
    recording: befit.Recording, machine: str, scheduler: str, options: dict[str, float], part: str
) -> None:
    with pytest.raises(ValueError, match=part):
        befit.simulate(recording, machine, scheduler, **options)


@pytest.mark.parametrize("number", [-1, 2**32, 2**64, -(2**70)])
def test_regression_numbers_that_cannot_be_are_value_errors(
    recording: befit.Recording, number: int
) -> None:
    for name in ("sockets", "cores", "bandwidth", "shrink"):
        with pytest.raises(ValueError, match=f"^{name} is negative or too large"):
            befit.Machine("xeon-7560", **{name: number})
    with pytest.raises(ValueError, match="^seeds is negative or too large"):
        befit.compare(recording, seeds=number)
    with pytest.raises(ValueError, match="^shrink is negative or too large"):
        befit.record("rrm", shrink=number)
    large = number if number < 0 else number * 2**32
    with pytest.raises(ValueError, match="^seed is negative or too large"):
        befit.simulate(recording, "xeon-7560", "ws", seed=large)
    with pytest.raises(ValueError, match="^n is negative or too large"):
        befit.record("rrm", n=large)
    with pytest.raises(ValueError, match="^worst is negative or too large"):
        befit.sizes(recording, worst=large)


def test_regression_a_shrink_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match="shrink: at least 1"):
        befit.Machine("xeon-7560", shrink=0)
    with pytest.raises(ValueError, match="shrink: at least 1"):
        befit.record("rrm", shrink=0)
    with pytest.raises(TypeError, match="argument 'shrink'"):
        befit.Machine("xeon-7560", shrink="2")  # type: ignore[arg-type]


def test_files_that_are_no_recordings_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such recording"):
        befit.Recording(tmp_path / "none.befit")
    (tmp_path / "text.befit").write_text("text")
    with pytest.raises(befit.BefitError, match="not a recorded program"):
        befit.Recording(tmp_path / "text.befit")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"manifest_path": "Cargo.toml", "n": 5}, "^n belongs to a kernel"),
        ({"manifest_path": "Cargo.toml", "data_seed": 5}, "^data_seed belongs to a kernel"),
        ({"manifest_path": "Cargo.toml", "shrink": 2}, "^shrink belongs to a kernel"),
        ({"kernel": "rrm", "package": "mine"}, "^package belongs to a manifest_path"),
        ({"kernel": "rrm", "bin": "mine"}, "^bin belongs to a manifest_path"),
        ({"kernel": "rrm", "example": "mine"}, "^example belongs to a manifest_path"),
        ({"kernel": "rrm", "arguments": ["5"]}, "^arguments belongs to a manifest_path"),
        ({"kernel": "rrm", "manifest_path": "Cargo.toml"}, "either a kernel's name"),
    ],
)
def test_arguments_of_record_that_do_not_belong_together_are_told(
    arguments: dict[str, Any], part: str
) -> None:
    with pytest.raises(ValueError, match=part):
        befit.record(**arguments)


def test_other_threads_run_during_a_simulation(recording: befit.Recording) -> None:
    counted, done = 0, threading.Event()

    def simulate() -> None:
        # One call: between several, others run in any case.
        _befit.compare_json(recording, ["xeon-7560"], ["ws"], 20, "off")
        done.set()

    thread = threading.Thread(target=simulate)
    thread.start()
    while not done.wait(0.001):
        counted += 1
    thread.join()
    assert counted > 5
