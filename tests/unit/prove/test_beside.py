"""How long others may wait beside a load, compared with the same waits without it."""

from holdfast_lab.chaos.limits.beside import Waits


def test_waits_of_twice_as_long_are_allowed_and_longer_ones_are_told() -> None:
    assert Waits([0.5, 0.6, 0.4], [1.0, 0.9, 1.1]).wrong("a list") == []
    said = Waits([0.5, 0.6, 0.4], [1.1, 1.2, 0.2]).wrong("a list")
    assert said == ["others waited 1.10 s for a list, alone 0.50 s"]


def test_one_wait_among_many_decides_nothing() -> None:
    assert Waits([0.5] * 5, [0.5, 0.5, 0.5, 9.0, 9.0]).wrong("a list") == []


def test_a_wait_within_the_noise_of_the_clock_is_not_called_long() -> None:
    short = Waits([0.01], [0.25])
    assert (short.wrong("a list"), short.ratio) == ([], 25.0)
    assert Waits([0.01], [0.26]).wrong("a list") != []
    assert Waits([0.01], [0.26]).wrong("a list", patience=2) == []
