"""Named turns of several steps, the same on every wire: for goldens, demonstrations and tests.

Each is written in the grammar of directives, one text per reply of the turn.
"""

from typing import Final

from holdfast_simulator.directives import Directive, parse

SCENARIOS: Final[dict[str, tuple[str, str]]] = {
    "golden": (
        "thinking with signature, redacted thinking, a search with citations, two parallel calls; "
        "then the final text",
        'think "Two cities are asked for — I check the forecast and ask both stations." '
        '| redacted "what the safety layer kept to itself" '
        '| search "weather today" '
        '| think "The forecast is old; the stations know better." '
        '| say "The forecast is old, so I ask the stations." '
        '| call get_weather {"city":"Oslo","unit":"celsius"} '
        '| call get_weather {"city":"São Paulo","unit":"celsius"} '
        '| then | think "Both answered." '
        '| say "Oslo: snow ❄️, -3 °C. São Paulo: rain, 22 °C."',
    ),
    "parallel": (
        "two calls of the offered tools at once; then a text",
        'say "Both at once." | tools=2 | then | say "Both tools answered."',
    ),
    "long-loop": (
        "five steps with one call each; then a text",
        "tools=1 | then | tools=1 | then | tools=1 | then | tools=1 | then | tools=1 "
        '| then | say "Five calls later, done."',
    ),
    "reasoning": (
        "thinking twice around a text",
        'think "First things first." | say "One." | think "And now?" | say "Two."',
    ),
    "search": ("a search of the provider with citations", 'search "what is new"'),
    "refusal": ("thinking, then a refusal", 'thinking | refuse "I can\'t help with that."'),
    "length": ("a text that runs into the output limit", "words=60 | stop=length"),
    "pause": ("a long turn that the provider pauses", 'search "a long question" | stop=pause'),
    "unicode": (
        "every awkward letter",
        'say "naïve café — 日本語 🏳️‍🌈 \\u2028 tab\\tquote\\" back\\\\slash ½ \\u0001 مرحبا"',
    ),
    "prose": ("believable prose of 200 words", "words=200"),
}


def scenario(name: str) -> Directive:
    if name not in SCENARIOS:
        raise ValueError(f"no scenario is called {name!r}; there are {', '.join(SCENARIOS)}")
    return parse(SCENARIOS[name][1])
