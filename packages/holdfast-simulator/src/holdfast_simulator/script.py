"""Script files: what to answer, written down beforehand, as JSON.

    {"steps": [
      {"when": {"prompt": "weather", "step": 0}, "do": "call get_weather", "times": 1},
      {"do": ["think \\"hm\\"", "say \\"first reply of any chat\\""]},
      {"do": "say \\"second reply\\" | rate=50"}
    ]}

A step with `when` is taken whenever all of it matches: `prompt` and `model` are regular
expressions, `wire` a name, `step` the number of replies since the user spoke. `times` bounds how
often. Steps without `when` are taken in order: the first one is the first reply of a chat, the
second one the second. Counting by the history instead of by requests makes a repeated attempt get
the same answer.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from holdfast_simulator.asked import Asked
from holdfast_simulator.directives import Directive, parse
from holdfast_simulator.jsons import JsonObject, arr, is_arr, loads, obj, objs, txt, whole


class ScriptWrong(ValueError):
    """The file is no script; the message names the step."""


@dataclass(slots=True, kw_only=True)
class ScriptStep:
    prompt: re.Pattern[str] | None = None
    model: re.Pattern[str] | None = None
    wire: str | None = None
    step: int | None = None
    times_left: int | None = None
    directive: Directive
    patterned: bool = False

    def matches(self, asked: Asked) -> bool:
        return (
            self.times_left != 0
            and (self.prompt is None or self.prompt.search(asked.last_text) is not None)
            and (self.model is None or self.model.search(asked.model) is not None)
            and self.wire in (None, str(asked.wire))
            and self.step in (None, asked.step)
        )


class Script:
    def __init__(self, steps: list[ScriptStep]) -> None:
        self._patterned = [step for step in steps if step.patterned]
        self._ordered = [step for step in steps if not step.patterned]

    def take(self, asked: Asked) -> Directive | None:
        """The directive for this request, counted as used."""
        for step in self._patterned:
            if step.matches(asked):
                if step.times_left is not None:
                    step.times_left -= 1
                return step.directive
        if asked.replies < len(self._ordered):
            return self._ordered[asked.replies].directive
        return None


def read_script(path: Path) -> Script:
    try:
        return parse_script(loads(path.read_bytes()))
    except ValueError as error:
        raise ScriptWrong(f"{path}: {error}") from error


def parse_script(value: object) -> Script:
    given: object = value if is_arr(value) else obj(value).get("steps")
    if not is_arr(given):
        raise ScriptWrong("a script is an object with a list `steps`")
    return Script([_step(number, step) for number, step in enumerate(objs(arr(given)))])


def _step(number: int, given: JsonObject) -> ScriptStep:
    unknown = set(given) - {"when", "do", "times"}
    if unknown:
        raise ScriptWrong(f"step {number}: unknown key {min(unknown)!r}")
    when = obj(given.get("when"))
    unknown = set(when) - {"prompt", "model", "wire", "step"}
    if unknown:
        raise ScriptWrong(f"step {number}: unknown condition {min(unknown)!r}")
    do = given.get("do")
    body = " | ".join(map(txt, arr(do))) if is_arr(do) else txt(do)
    try:
        return ScriptStep(
            prompt=re.compile(txt(when["prompt"])) if "prompt" in when else None,
            model=re.compile(txt(when["model"])) if "model" in when else None,
            wire=txt(when["wire"]) if "wire" in when else None,
            step=whole(when.get("step")),
            times_left=whole(given.get("times")),
            directive=parse(body),
            patterned="when" in given,
        )
    except (re.error, ValueError) as error:
        raise ScriptWrong(f"step {number}: {error}") from error
