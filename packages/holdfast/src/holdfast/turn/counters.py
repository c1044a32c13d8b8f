"""What driving did, for the metrics. Plain numbers that only grow."""

from collections import Counter
from dataclasses import dataclass, field

from holdfast.domain.chat import ErrorKind


@dataclass(slots=True)
class TurnCounters:
    turns: int = 0
    steps: int = 0
    attempts: int = 0
    retries: int = 0
    provider_errors: Counter[tuple[str, str, str]] = field(
        default_factory=Counter[tuple[str, str, str]]
    )
    """Attempts that failed, by vendor, kind and status (`failures.labels_of`)."""
    fallback_replies: int = 0
    """Replies of a model that answered in place of the chat's own."""
    breaker_changes: Counter[str] = field(default_factory=Counter[str])
    """Of circuit breakers of endpoints, by the state that they came into."""
    failures: Counter[ErrorKind] = field(default_factory=Counter[ErrorKind])
    """Turns that failed, by kind."""
    bugs: int = 0
    """Steps that ended in an exception of our own making."""
    interrupts: int = 0
    handovers: int = 0
    """Chats let go while something was being said or run."""
    continued: int = 0
    """Replies of dead workers that were kept and gone on from."""
    overtaken: int = 0
    """Steps dropped because history moved under them (an edit)."""
    uncertain_commits: int = 0
    """Commits of which the database did not say whether they happened."""
    live_parts: int = 0
    partials_missed: int = 0
    """Interrupts for which the bus could not tell what had been said."""
    compactions: int = 0
    tool_runs: int = 0
    tool_failures: int = 0
    """Results that say `failed`, whatever the reason."""
    tool_bugs: int = 0
    """Runs that raised instead of answering."""
    tool_deadlines: int = 0
    tools_stuck: int = 0
    """Runs that outlived their cancellation (X2)."""
    unknown_outcomes: int = 0
    cut_outputs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
