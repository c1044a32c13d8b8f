"""Logs: one chain, one line per event, as JSON or for a person's eyes.

Modules log with `logging.getLogger(__name__)`. Whatever logs while a chat is driven carries that
chat's id: it is bound to the context, not passed around.
"""

import logging
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Literal, TextIO, cast

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger
from typing_extensions import override

HIDDEN: Final = "***"
DEPTH_MAX: Final = 8
SECRET_CHARS_MIN: Final = 4
"""Shorter ones would black out half of every line, and protect nothing."""
LEARNED_MAX: Final = 10_000

_TELLTALE: Final = re.compile(
    r"(?i)^(.*[_-])?(password|passwd|secret|token|api[_-]?key|authorization|cookie|credentials?)$"
)
"""Names of fields whose values are secret."""
_PATTERNS: Final = (
    (re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"), HIDDEN),  # user:password@ in an address
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"\b(hfst|sk|pk|rk|xoxb|AKIA|ASIA|AIza)[-_]?[\w-]{12,}"), HIDDEN),
    (re.compile(r"\b(hf|gsk|xai|gh[pousr]|github_pat|glpat|ya29|ABSK)[-_.][\w.-]{12,}"), HIDDEN),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), HIDDEN),  # a JSON web token
    (re.compile(r"(__Host-[\w-]+=)[^;\s]{8,}"), rf"\1{HIDDEN}"),  # our cookies
)
"""Patterns of credentials, ours and those of providers."""

_QUIET: Final = ("opentelemetry", "urllib3", "asyncio")
"""Loggers of others that are only heard when something is wrong."""


REPEATED_EVERY_S: Final = 10.0
REPEATED_KEYS_MAX: Final = 1_000


class Repeats(logging.Filter):
    """Limits the rate of lines that an outage repeats.

    A line that is logged with `extra={"seldom": key}` is written at once, and those with the same
    key in the next `REPEATED_EVERY_S` are only counted; the next one that is written has their
    number as `repeated`.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now_s = now_s
        self._written: dict[tuple[str, object], tuple[float, int]] = {}

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        named = record.__dict__.pop("seldom", None)
        if named is None:
            return True
        key, now_s = (record.name, named), self._now_s()
        written_s, more = self._written.get(key, (float("-inf"), 0))
        if now_s - written_s < REPEATED_EVERY_S:
            self._written[key] = (written_s, more + 1)
            return False
        if len(self._written) > REPEATED_KEYS_MAX:
            self._written.clear()
        self._written[key] = (now_s, 0)
        if more:
            record.repeated = more
        return True


class LearnedSecrets:
    """Secrets that this process learned while it ran: those that it read from the database.

    The oldest is forgotten where there are too many."""

    def __init__(self, secrets_max: int = LEARNED_MAX) -> None:
        self._secrets: dict[str, None] = {}
        self._secrets_max = secrets_max
        self.changes = 0

    def learn(self, *secrets: str) -> None:
        for secret in secrets:
            if len(secret) < SECRET_CHARS_MIN or secret in self._secrets:
                continue
            if len(self._secrets) >= self._secrets_max:
                del self._secrets[next(iter(self._secrets))]
            self._secrets[secret] = None
            self.changes += 1

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._secrets))


LEARNED: Final = LearnedSecrets()
"""Of this process."""


class Redactor:
    """Hides secrets, wherever in an event they stand: those that we know, and what looks so."""

    def __init__(self, secrets: Iterable[str] = (), learned: LearnedSecrets = LEARNED) -> None:
        self._given = frozenset(secrets)
        self._learned = learned
        self._seen = -1
        self._known: re.Pattern[str] | None = None

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {self.text(key): self._value(key, value, 0) for key, value in event.items()}

    def _pattern(self) -> re.Pattern[str] | None:
        changes = self._learned.changes
        if changes != self._seen:
            all_of_them = {*self._given, *self._learned}
            long = {secret for secret in all_of_them if len(secret) >= SECRET_CHARS_MIN}
            known = sorted(long, key=len, reverse=True)
            self._known = re.compile("|".join(map(re.escape, known))) if known else None
            self._seen = changes
        return self._known

    def text(self, text: str) -> str:
        if (known := self._pattern()) is not None:
            text = known.sub(HIDDEN, text)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text

    def _value(self, key: str, value: object, depth: int) -> Any:  # noqa: ANN401 - JSON
        if value is None or isinstance(value, bool | int | float):
            return value
        if _TELLTALE.match(key):
            return HIDDEN
        if isinstance(value, str):
            return self.text(value)
        if depth < DEPTH_MAX and isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            return {self.text(str(k)): self._value(str(k), v, depth + 1) for k, v in pairs}
        if depth < DEPTH_MAX and isinstance(value, list | tuple):
            return [self._value("", each, depth + 1) for each in cast("Sequence[object]", value)]
        return self.text(str(value))


@contextmanager
def logging_to(
    stream: TextIO | None = None,
    *,
    level: str = "INFO",
    style: Literal["json", "console"] = "json",
    secrets: Iterable[str] = (),
) -> Generator[None]:
    """Everything that is logged goes to `stream` (None: stderr), until the block is left."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_formatter(style, Redactor(secrets)))
    handler.addFilter(Repeats())
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    levels = {name: logging.getLogger(name).level for name in _QUIET}
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))
    logging.captureWarnings(True)  # noqa: FBT003 - its only argument
    try:
        yield
    finally:
        logging.captureWarnings(False)  # noqa: FBT003
        root.handlers[:] = before[0]
        root.setLevel(before[1])
        for name, was in levels.items():
            logging.getLogger(name).setLevel(was)
        handler.flush()


def bound(**values: object) -> AbstractContextManager[None]:
    """What every line that is logged within the block, and in tasks begun there, says as well."""
    texts = {name: str(value) for name, value in values.items()}
    return structlog.contextvars.bound_contextvars(**texts)


def _formatter(
    style: Literal["json", "console"], redactor: Redactor
) -> structlog.stdlib.ProcessorFormatter:
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    last: Processor = (
        structlog.processors.JSONRenderer(serializer=_as_json)
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, redactor, last],
        use_get_message=True,
    )


def _as_json(event: EventDict, **_options: object) -> str:
    try:
        return orjson.dumps(event).decode()
    except TypeError:  # a lone surrogate, which JSON cannot say
        text = repr(event).encode("ascii", "backslashreplace").decode()
        return orjson.dumps({"event": text}).decode()
