"""Keys that end when they say so, refused in each API's words."""

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.clock import Clock
from holdfast_simulator.keys import ended
from tests.support.simulator import body, call, wire_of

CLOCK = Clock(wall_s=lambda: 1_000.0, mono_s=lambda: 0.0)


@pytest.mark.parametrize("name", list(WireName))
def test_a_key_is_refused_from_its_end_on(name: WireName) -> None:
    wire = wire_of(name)
    for key, refused in (("sim-until-1000", True), ("sim-until-1001", False), ("k", False)):
        asked = call(name, body(name), {"authorization": f"Bearer {key}"})
        refusal = ended(wire, asked, CLOCK)
        assert (refusal is not None) is refused
        assert refusal is None or refusal.status == 401
