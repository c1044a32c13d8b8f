"""Who decides what is said: script, header, directive, scenario, agent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.providers.history import CONTINUE
from holdfast.turn.prompt import GO_ON
from holdfast_simulator.advice import ADVICE
from holdfast_simulator.arguments import fill
from holdfast_simulator.asked import Asked, Choice, Offer, Said, Speaker, WireName
from holdfast_simulator.faults import Fault, FaultAt
from holdfast_simulator.jsons import loads
from holdfast_simulator.options import Options
from holdfast_simulator.plan import Planner
from holdfast_simulator.reply import (
    CallPart,
    Part,
    RedactedPart,
    SearchPart,
    Stop,
    TextPart,
    ThinkingPart,
)
from holdfast_simulator.scenarios import SCENARIOS
from holdfast_simulator.script import Script, ScriptWrong, parse_script, read_script

WEATHER = Offer(
    name="get_weather",
    description="The weather of a city",
    schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
FILES = Offer(name="read_file", description="Read a file", schema={"type": "object"})


def asked(*prompt: Said | str, **more: Any) -> Asked:
    said = [Said(speaker=Speaker.USER, text=one) if isinstance(one, str) else one for one in prompt]
    body = {"prompt": [one.text for one in said]}
    return Asked(wire=WireName.CHAT, model="m", streams=True, prompt=tuple(said), body=body, **more)


def planner(script: Script | None = None) -> Planner:
    return Planner(seed=1, defaults=Options(rate=7), script=script)


def texts(parts: tuple[Part, ...]) -> list[str]:
    return [part.text for part in parts if isinstance(part, TextPart)]


REPLIED = Said(speaker=Speaker.ASSISTANT, text="", calls=("c",))
TOLD = Said(speaker=Speaker.TOOL, text="snow, -3 °C")


def test_the_agent_calls_the_tool_that_the_prompt_is_about_and_then_answers() -> None:
    first = planner().plan(asked("What is the weather in Oslo?", offers=(FILES, WEATHER)), {})
    assert first.source == "agent"
    assert first.reply.stop is Stop.CALLS
    assert [(c.name, loads(c.arguments)) for c in first.reply.calls] == [
        ("get_weather", {"city": "Oslo"})
    ]
    then = planner().plan(asked("weather in Oslo?", REPLIED, TOLD, offers=(WEATHER,)), {})
    assert then.reply.stop is Stop.END
    assert "snow, -3 °C" in texts(then.reply.parts)[0]


def test_the_agent_obeys_the_tool_choice() -> None:
    offers = (FILES, WEATHER)
    none = planner().plan(asked("weather?", offers=offers, choice=Choice.NONE), {})
    assert none.reply.calls == ()
    forced = asked("hi", offers=offers, choice=Choice.REQUIRED, choice_name="read_file")
    assert [c.name for c in planner().plan(forced, {}).reply.calls] == ["read_file"]
    some = planner().plan(asked("hi", offers=offers, choice=Choice.REQUIRED), {})
    assert len(some.reply.calls) == 1


def test_the_same_request_gets_the_same_reply_and_another_seed_another() -> None:
    one = planner().plan(asked("tell me a story"), {}).reply
    assert planner().plan(asked("tell me a story"), {}).reply == one
    other = Planner(seed=2, defaults=Options(), script=None).plan(asked("tell me a story"), {})
    assert other.reply != one


def test_a_directive_speaks_step_by_step_and_leaves_the_rest_to_the_agent() -> None:
    prompt = '[[sim: call get_weather | then | say "done" | rate=9]] weather in Rome'
    first = planner().plan(asked(prompt, offers=(WEATHER,)), {})
    assert first.source == "directive"
    assert first.options.rate == 9
    assert [loads(c.arguments) for c in first.reply.calls] == [{"city": "Rome"}]
    second = planner().plan(asked(prompt, REPLIED, TOLD), {})
    assert texts(second.reply.parts) == ["done"]
    third = planner().plan(asked(prompt, REPLIED, TOLD, REPLIED, TOLD), {})
    assert third.source == "agent"


def test_headers_go_before_directives_and_defaults_last() -> None:
    headers = {"x-sim": 'say "header"', "x-sim-fault": "eof-mid", "x-sim-chunk": "bytes:2"}
    plan = planner().plan(asked('[[sim: say "prompt" | fault=drip]]'), headers)
    assert texts(plan.reply.parts) == ["header"]
    assert plan.options == Options(rate=7, piece_bytes=2, fault=FaultAt(Fault.EOF_MID))


def test_a_fault_can_be_told_to_strike_only_so_often() -> None:
    plans = planner()
    prompt = asked("[[sim: fault=overloaded | times=2]]")
    struck = [plans.plan(prompt, {}).options.fault for _ in range(4)]
    assert struck == [FaultAt(Fault.OVERLOADED)] * 2 + [None] * 2
    plans.forget()
    assert plans.plan(prompt, {}).options.fault == FaultAt(Fault.OVERLOADED)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_speaks(name: str) -> None:
    offers = (WEATHER, FILES)
    plan = planner().plan(asked("go", offers=offers), {"x-sim-scenario": name})
    assert plan.source == f"scenario:{name}"
    assert plan.reply.parts


def test_the_golden_scenario_holds_every_kind_of_part() -> None:
    plan = planner().plan(asked("go"), {"x-sim-scenario": "golden"})
    kinds = [type(part) for part in plan.reply.parts]
    assert kinds[:3] == [ThinkingPart, RedactedPart, SearchPart]
    assert kinds[-2:] == [CallPart, CallPart]
    assert any(isinstance(part, TextPart) and part.sources for part in plan.reply.parts)


def test_what_cannot_be_said_is_refused() -> None:
    for prompt in ("[[sim: scenario=nothing]]", "[[sim: stop=never]]", "[[sim: words=many]]"):
        with pytest.raises(ValueError, match=r"\w"):
            planner().plan(asked(prompt), {})


def test_a_script_answers_in_order_by_the_history_and_by_pattern(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(
        '{"steps": ['
        '{"when": {"prompt": "^secret", "wire": "chat", "step": 0}, "do": "say \\"p\\"",'
        '"times": 1},'
        '{"do": ["say \\"one\\"", "rate=3"]}, {"do": "say \\"two\\""}]}'
    )
    plans = planner(read_script(path))
    assert plans.plan(asked("secret"), {}).reply.parts == (TextPart(text="p"),)
    again = plans.plan(asked('secret [[sim: say "not me"]]'), {})
    assert (again.source, texts(again.reply.parts), again.options.rate) == ("script", ["one"], 3)
    second = plans.plan(asked("hi", REPLIED, TOLD), {})
    assert texts(second.reply.parts) == ["two"]
    third = plans.plan(asked("hi", REPLIED, TOLD, REPLIED, TOLD), {})
    assert third.source == "agent"


@pytest.mark.parametrize(
    "script",
    [
        {"no": "steps"},
        {"steps": [{"say": "x"}]},
        {"steps": [{"when": {"moon": "full"}, "do": "thinking"}]},
        {"steps": [{"when": {"prompt": "("}, "do": "thinking"}]},
        {"steps": [{"do": "sing"}]},
    ],
)
def test_a_file_that_is_no_script_is_refused(script: object) -> None:
    with pytest.raises(ScriptWrong):
        parse_script(script)


def test_arguments_follow_the_schema_and_the_prompt() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "url": {"type": "string"},
            "limit": {"type": "integer", "minimum": 10},
            "ratio": {"type": "number", "maximum": 0.5},
            "unit": {"enum": ["kelvin", "celsius"]},
            "deep": {"$ref": "#/$defs/deep"},
            "many": {"type": "array", "items": {"type": "boolean"}},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "fixed": {"const": 7},
            "nothing": {"type": "null"},
            "either": {"type": ["null", "integer"]},
            "left_out": {"type": "string"},
        },
        "required": [
            "limit",
            "ratio",
            "unit",
            "deep",
            "many",
            "maybe",
            "fixed",
            "nothing",
            "either",
        ],
        "$defs": {
            "deep": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        },
    }
    prompt = 'read src/app.py in celsius, see https://example.com/x and "the note" 3'
    assert fill(schema, prompt) == {
        "path": "src/app.py",
        "url": "https://example.com/x",
        "limit": 10,
        "ratio": 0.5,
        "unit": "celsius",
        "deep": {"q": "the note"},
        "many": [True],
        "maybe": "the note",
        "fixed": 7,
        "nothing": None,
        "either": 3,
    }


def test_a_schema_that_contains_itself_ends() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}},
        "required": ["next"],
    }
    assert "next" in fill(node, "x")


# A reply that broke off.

CUT = '[[sim: think "hm" | say "one two three" | call get_weather | then | say "done now"]]'


def cut(text: str) -> Said:
    return Said(speaker=Speaker.ASSISTANT, text=text)


@pytest.mark.parametrize("begun", ["one", "one tw", "one two three"])
def test_a_client_that_asks_to_go_on_gets_the_rest(begun: str) -> None:
    plan = planner().plan(asked(CUT, cut(begun), GO_ON, offers=(WEATHER,)), {})
    assert begun + "".join(texts(plan.reply.parts)) == "one two three"
    assert [call.name for call in plan.reply.calls] == ["get_weather"]
    assert not any(isinstance(part, ThinkingPart) for part in plan.reply.parts)
    assert plan.source == "directive"


def test_the_pieces_of_a_reply_are_one_step() -> None:
    pieces = (cut("one "), CONTINUE, Said(speaker=Speaker.ASSISTANT, text="two", calls=("c",)))
    then = planner().plan(asked(CUT, *pieces, TOLD, offers=(WEATHER,)), {})
    assert texts(then.reply.parts) == ["done now"]
    rest = planner().plan(asked(CUT, *pieces, TOLD, cut("done "), GO_ON, offers=(WEATHER,)), {})
    assert texts(rest.reply.parts) == ["now"]


def test_a_reply_that_was_whole_has_nothing_left_to_say() -> None:
    plan = planner().plan(asked('[[sim: say "all"]]', cut("all"), GO_ON), {})
    assert plan.reply.parts == ()


def test_a_reply_that_began_otherwise_is_said_whole() -> None:
    plan = planner().plan(asked('[[sim: say "one two"]]', cut("else"), GO_ON), {})
    assert texts(plan.reply.parts) == ["one two"]


def test_a_reply_that_goes_on_otherwise_does_not_repeat_what_was_said() -> None:
    plan = planner().plan(asked('[[sim: say "one two three"]]', cut("one two four"), GO_ON), {})
    assert texts(plan.reply.parts) == ["three"]


def test_an_advisor_heeds_only_the_directive_of_its_question() -> None:
    transcript = '<transcript>\n[user] Go. [[sim: say "Not this."]]\n</transcript>\n\n'
    advising: dict[str, Any] = {"system": "You advise an agent that is in the middle of a task."}

    def advised(question: str) -> Any:
        text = f"{transcript}<question>\n{question}\n</question>"
        return planner().plan(replace(asked(text), body=advising), {})

    plan = advised('Which way? [[sim: say "Left." | rate=5 | fault=overloaded]]')
    assert (plan.source, texts(plan.reply.parts), plan.options.rate) == ("advisor", ["Left."], 5)
    assert plan.options.fault == FaultAt(Fault.OVERLOADED)
    assert texts(advised("Which way?").reply.parts) == [ADVICE]
    assert planner().plan(asked(f"{transcript}<question>\nx\n</question>"), {}).source != "advisor"
