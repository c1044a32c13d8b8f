"""The one mutant of each expensive suite that the gate makes; the nightly run makes all."""

from typing import Final

MODEL: Final = "no_fence"
SIMULATION: Final = "no self-fencing"
PROOF: Final = "tools re-run blindly"
PAGE: Final = "a message that comes twice is shown twice"
BROWSER: Final = "code is never coloured"
