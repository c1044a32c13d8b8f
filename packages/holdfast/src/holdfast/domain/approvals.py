"""Which tool calls run at once, which wait for a person's word, and which never run.

    Policy = rules in order + a default       the first rule that fits decides
    Rule   = tool (glob) + patterns on arguments → allow | ask | deny

A call is judged by several policies (the server's, its organisation's): the strictest verdict
counts. A pattern sees text and knows no shell: `git status*` as a glob also fits
`git status; rm -rf /`. Only `words` is safe to allow commands by: see `simple_words`.

What cannot be read counts against the call: an argument that is no text fits every pattern of a
rule that asks or denies, and none of a rule that allows.

A person's word is bound to what was shown: `digest_of` covers tool, arguments and the tool as it is
defined, and the decision names it (X4).
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Final, cast

from holdfast.domain.linear_regex import compile_linear
from holdfast.domain.parts import JsonObject, JsonValue

RULES_MAX: Final = 200
PATTERN_CHARS_MAX: Final = 1_000
RULE_REASON_CHARS_MAX: Final = 500
REASON_CHARS_MAX: Final = 2_000
"""Of what a person may say to the model when denying a call."""
ANY_WORDS: Final = "**"

# No quote, no escape, no operator, no expansion, nothing beyond ASCII; and before the command no
# assignment, which could change what the command is.
_COMMAND: Final = re.compile(r"[A-Za-z0-9_./+-]+")
_WORD: Final = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
_STRICT: Final[Mapping[str, str]] = {"extra": "forbid"}  # a mistyped name must not widen a rule


def _about(description: str) -> Mapping[str, str]:
    """What the reference of the API says of a field."""
    return {"description": description}


class RuleAction(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        return list(RuleAction).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One of three ways to fit the text of an argument, always from its beginning to its end.

    `glob`: `*`, `?` and `[…]` fit any characters, separators and newlines too. `regex`: in RE2's
    syntax, whose cost is linear in the text. `words`: a glob for each word of a simple command.
    """

    __pydantic_config__: ClassVar = _STRICT

    glob: str | None = field(
        default=None,
        metadata=_about("`*`, `?` and `[…]` fit any characters. null: see the others."),
    )
    regex: str | None = field(
        default=None, metadata=_about("In the syntax of RE2. null: see the others.")
    )
    words: str | None = field(
        default=None,
        metadata=_about(
            "A glob for each word of a simple command; a last `**` fits all further words. null:"
            " see the others."
        ),
    )

    def __post_init__(self) -> None:
        given = [text for text in (self.glob, self.regex, self.words) if text is not None]
        if len(given) != 1:
            raise ValueError("a pattern has exactly one of glob, regex and words")
        if len(given[0]) > PATTERN_CHARS_MAX:
            raise ValueError(f"a pattern has at most {PATTERN_CHARS_MAX} characters")
        if self.regex is not None:
            compile_linear(self.regex)
        if self.words is not None:
            _check_words(self.words.split())

    def fits(self, text: str) -> bool:
        if self.glob is not None:
            return fnmatchcase(text, self.glob)
        if self.regex is not None:
            return compile_linear(self.regex).fits(text)
        assert self.words is not None, "one of the three"
        return _fits_words(self.words.split(), simple_words(text))


def _check_words(wanted: Sequence[str]) -> None:
    if not wanted:
        raise ValueError("a pattern of words names at least the command")
    if ANY_WORDS in wanted[:-1]:
        raise ValueError(f"{ANY_WORDS} stands for all further words, so it comes last")


def _fits_words(wanted: Sequence[str], words: Sequence[str] | None) -> bool:
    if words is None:
        return False
    if wanted[-1] == ANY_WORDS:
        wanted = wanted[:-1]
        words = words[: len(wanted)] if len(words) >= len(wanted) else words
    return len(words) == len(wanted) and all(map(fnmatchcase, words, wanted))


def simple_words(text: str) -> tuple[str, ...] | None:
    """The words of a command line that every shell reads as we do: one command and its arguments.

    None if there is anything in it that a shell might take for more than itself. The alphabet is a
    list of what is harmless, not of what is harmful: it need not name every trick.
    """
    words = tuple(word for word in text.split(" ") if word)
    if not words or not _COMMAND.fullmatch(words[0]):
        return None
    return words if all(_WORD.fullmatch(word) for word in words[1:]) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Fits a call if its tool does, and every argument that is named."""

    __pydantic_config__: ClassVar = _STRICT

    tool: str = field(metadata=_about("A glob over the names of tools."))
    action: RuleAction = field(
        metadata=_about("Run the call, ask for an approval first, or never run it.")
    )
    arguments: Mapping[str, Pattern] = field(
        default_factory=dict[str, Pattern],
        metadata=_about("By the name of an argument, what its text must fit."),
    )
    reason: str = field(default="", metadata=_about("What the model is told with a denial."))

    def __post_init__(self) -> None:
        if not 1 <= len(self.tool) <= PATTERN_CHARS_MAX:
            raise ValueError(f"a rule names a tool in 1 to {PATTERN_CHARS_MAX} characters")
        if len(self.reason) > RULE_REASON_CHARS_MAX:
            raise ValueError(f"`reason` has at most {RULE_REASON_CHARS_MAX} characters")

    def fits(self, tool: str, arguments: JsonObject) -> bool:
        return fnmatchcase(tool, self.tool) and all(
            self._fits_argument(pattern, arguments.get(name))
            for name, pattern in self.arguments.items()
        )

    def _fits_argument(self, pattern: Pattern, value: JsonValue) -> bool:
        if value is None:
            return False
        if isinstance(value, str) and _is_readable(value):
            return pattern.fits(value)
        return self.action is not RuleAction.ALLOW


def _is_readable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and in words which rule gave it. `rule`: its number; None: the default did."""

    verdict: RuleAction
    words: str
    rule: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    __pydantic_config__: ClassVar = _STRICT

    rules: tuple[Rule, ...] = field(
        default=(), metadata=_about("In order: the first rule that fits a call decides.")
    )
    default: RuleAction = field(
        default=RuleAction.ALLOW, metadata=_about("For calls that no rule fits.")
    )

    def __post_init__(self) -> None:
        if len(self.rules) > RULES_MAX:
            raise ValueError(f"there are at most {RULES_MAX} rules")

    def judge(
        self, tool: str, arguments: JsonObject, *, whose: str, also: str | None = None
    ) -> Judgement:
        """`also`: a tool that would do the same. A rule about it holds for this call, too."""
        names = {tool, also or tool}
        for number, rule in enumerate(self.rules, start=1):
            if any(rule.fits(name, arguments) for name in names):
                reason = f": {rule.reason}" if rule.reason else ""
                return Judgement(rule.action, f"rule {number} of {whose}{reason}", number)
        return Judgement(self.default, f"the default of {whose}")


ALLOW_ALL: Final = Policy()


def strictest(judgements: Iterable[Judgement]) -> Judgement:
    """Of equals the first."""
    return max(judgements, key=lambda judgement: judgement.verdict.strictness)


# As it is kept.


def policy_to_json(policy: Policy) -> JsonObject:
    return {
        "rules": [
            {
                "tool": rule.tool,
                "action": rule.action.value,
                "arguments": {
                    name: pattern_to_json(pattern) for name, pattern in rule.arguments.items()
                },
                "reason": rule.reason,
            }
            for rule in policy.rules
        ],
        "default": policy.default.value,
    }


def pattern_to_json(pattern: Pattern) -> JsonObject:
    kinds = {"glob": pattern.glob, "regex": pattern.regex, "words": pattern.words}
    return {kind: text for kind, text in kinds.items() if text is not None}


def policy_from_json(stored: Mapping[str, Any]) -> Policy:
    return Policy(
        rules=tuple(
            Rule(
                tool=rule["tool"],
                action=RuleAction(rule["action"]),
                arguments={name: Pattern(**given) for name, given in rule["arguments"].items()},
                reason=rule["reason"],
            )
            for rule in stored["rules"]
        ),
        default=RuleAction(stored["default"]),
    )


# What a person's word is bound to.


def digest_of(tool: str, arguments: JsonObject, definition: JsonObject) -> str:
    """Of a call, as 64 hex digits: the same after any way through a database, and another one as
    soon as anything that was shown, or the tool itself, is another."""
    said = {"tool": tool, "arguments": arguments, "definition": definition}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), default=_as_dict)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _as_dict(value: object) -> dict[str, JsonValue]:
    assert isinstance(value, Mapping), f"{type(value).__name__} is not JSON"
    return dict(cast("Mapping[str, JsonValue]", value))
