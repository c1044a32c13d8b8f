"""`just bench-contract`: how ready the public contract is, counted; writes contract.json and .md.

Old names are looked up in the OpenAPI document. Each finding of the review names the test that
shows its repair; a finding whose test is gone counts as open.
"""

import inspect
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import orjson

from benchmarks.house import Tree
from benchmarks.report import FOLDER, stamp, write_json, write_page
from scripts.contract.counts import guesses, operations
from tests.docs import test_reducer_from_events as reducer
from tests.support.built import shell_kb

ROOT: Final = Path(__file__).resolve().parent.parent
UI: Final = ROOT / "ui"
DOCUMENT: Final = ROOT / "docs" / "reference" / "openapi.json"


@dataclass(frozen=True)
class Finding:
    """A finding of the review, what was done, and the test that shows it."""

    number: int
    what: str
    done: str
    file: str
    test: str

    @property
    def is_open(self) -> bool:
        file = ROOT / self.file
        return not file.is_file() or f"def {self.test}(" not in file.read_text(encoding="utf-8")


FINDINGS: Final = (
    Finding(
        1,
        "no turn identity",
        "`turn_seq`, `queued_id`, `attempt`, `client_key`; receipts; `interrupt {turn_seq}`",
        "tests/integration/api/test_turn_names.py",
        "test_a_queued_message_leads_to_the_answer_of_its_own_turn",
    ),
    Finding(
        2,
        "cursor not opaque in practice",
        "`version` and `final` in the envelope",
        "tests/docs/test_reducer_from_events.py",
        "test_the_reducer_leads_to_the_views_of_the_fixture",
    ),
    Finding(
        3,
        "two JSON forms of an event",
        "one object on SSE, WebSocket and `--jsonl`; `closed`",
        "tests/integration/api/test_turn.py",
        "test_a_socket_tells_the_same_as_a_stream",
    ),
    Finding(
        4,
        "rules of a reducer not written",
        "MUST rules, 19 golden files",
        "tests/docs/test_reducer_from_events.py",
        "test_the_reducer_leads_to_the_views_of_the_fixture",
    ),
    Finding(
        5,
        "closed response schemas",
        "open answers, `x-extensible-enum`, ids as strings",
        "tests/unit/api/test_contract.py",
        "test_an_answer_may_have_more_fields_and_other_values",
    ),
    Finding(
        6,
        "`PUT /settings` unsets",
        "`PATCH`, a merge",
        "tests/integration/api/test_settings.py",
        "test_a_patch_changes_what_it_names_and_null_unsets",
    ),
    Finding(
        7,
        "`PUT` that is none",
        "`POST …/edit`; `PATCH` of the resource",
        "tests/integration/api/test_verbs.py",
        "test_an_edit_hides_and_a_restore_or_a_fork_brings_back",
    ),
    Finding(
        8,
        "four styles of lists",
        "`data` and `next_cursor`",
        "tests/integration/api/test_verbs.py",
        "test_pages_are_filled_and_go_on_where_the_last_one_ended",
    ),
    Finding(
        9,
        "unknown query parameters ignored",
        "refused; `archived=true|false|any`",
        "tests/integration/api/test_edges.py",
        "test_an_unknown_query_parameter_is_refused_on_every_route",
    ),
    Finding(
        10,
        "replays differ",
        "`Idempotent-Replayed`; digest over the JSON",
        "tests/integration/api/test_preconditions.py",
        "test_a_repeat_by_key_is_answered_the_same_although_its_tag_is_old",
    ),
    Finding(
        11,
        "a state already reached is an error",
        "200 with the present version",
        "tests/integration/api/test_turn_names.py",
        "test_a_command_that_names_no_turn_is_for_any",
    ),
    Finding(
        12,
        "`write` approves",
        "scope `approve`",
        "tests/integration/api/test_approvals.py",
        "test_a_key_decides_about_calls_only_with_the_scope_approve",
    ),
    Finding(
        13,
        "`hf_` is another project's prefix",
        "`hfst_`",
        "tests/unit/identity/test_tokens.py",
        "test_a_secret_makes_a_key_and_a_token_that_are_known_as_such",
    ),
    Finding(
        14,
        "labels undecided",
        "`labels` and `metadata`; all in `POST /chats`",
        "tests/integration/api/test_new_chats.py",
        "test_a_new_chat_takes_title_labels_metadata_model_and_effort",
    ),
    Finding(
        15,
        "errors for logs",
        "`errors[]` with pointers, `request_id`, `retryable`, `Allow`, 415",
        "tests/integration/api/test_edges.py",
        "test_a_wrong_field_is_named_by_a_pointer_a_code_and_a_sentence",
    ),
    Finding(
        16,
        "OpenAPI left to guess",
        "operation ids, descriptions, examples, headers",
        "tests/unit/api/test_document.py",
        "test_nothing_is_left_to_guess",
    ),
    Finding(
        17,
        "one value, two meanings",
        "null means absent; `executed_by`; bare workspace",
        "tests/integration/api/test_workspaces.py",
        "test_a_workspace_from_beginning_to_end",
    ),
    Finding(
        18,
        "`usage` is a free map",
        "typed; `cost_micro_usd`; models as objects",
        "tests/integration/api/test_edges.py",
        "test_answers_have_the_shape_that_the_document_says",
    ),
    Finding(
        19,
        "`action_required` without arguments",
        "arguments; decisions are a batch",
        "tests/integration/api/test_approvals.py",
        "test_a_batch_of_decisions_is_one_commit_or_none",
    ),
)

RENAMED_FIELDS: Final = (
    *("sentence", "ending", "revision", "needs", "deadline", "until", "seen_at", "stops_at"),
    *("touched_at", "schema", "failed", "synthetic", "runs_at", "verdict", "because", "steps_max"),
    *("oidc_sign_up", "urgent", "whose", "as_of", "before", "agent", "address", "credential"),
    *("standing", "made_id", "kind", "event", "where", "repeated", "cost_micros", "chats", "keys"),
)
RENAMED_SCHEMAS: Final = (
    *("Committed", "Taken", "MadeKey", "Told", "Nothing", "WorkspaceOfChat", "OlderPath"),
    *("ChatEntry", "Titling", "Pinning", "Labelling", "Reading", "Declaring", "Sending"),
    "SigningIn",
)
RENAMED_TAGS: Final = ("people", "answers", "steering", "credentials", "watch")
RENAMED_CODES: Final = (
    *("not_lawful", "key_reused", "already_made", "field_refused", "content_refused"),
    *("password_refused", "not_authenticated", "not_allowed", "wrong_credentials", "login_refused"),
    *("origin_refused", "too_many_requests", "too_many_attempts", "chat_busy", "no_such_route"),
    *("no_workspace", "queued_not_found", "body_too_slow"),
)
KEPT: Final = {
    ("field", "chats"): "`chats.snapshot` lists chats",
}
"""Names that are meant where they are."""


def old_names(document: dict[str, Any]) -> list[str]:
    """Names of before the review that the contract still has."""
    fields = set(_properties(document["components"]["schemas"]))
    schemas = set(document["components"]["schemas"])
    tags = {tag for _, operation in operations(document) for tag in operation.get("tags", ())}
    codes = set(
        re.findall(
            r"\b[a-z]+(?:_[a-z]+)+\b", (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
        )
    )
    found = [
        *(("field", name) for name in RENAMED_FIELDS if name in fields),
        *(("schema", name) for name in RENAMED_SCHEMAS if name in schemas),
        *(("tag", name) for name in RENAMED_TAGS if name in tags),
        *(("code", name) for name in RENAMED_CODES if name in codes),
    ]
    return [f"{kind} {name}" for kind, name in found if (kind, name) not in KEPT]


def _properties(node: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(node, dict):
        below = cast("dict[str, Any]", node)
        yield from below.get("properties", {})
        for each in below.values():
            yield from _properties(each)
    elif isinstance(node, list):
        for each in cast("list[Any]", node):
            yield from _properties(each)


def reducer_lines() -> int:
    functions = (reducer.first, reducer.reduce_event, reducer.show)
    source = "\n".join(map(inspect.getsource, functions))
    return sum(bool(line.strip()) for line in source.splitlines())


def reducer_failures() -> int:
    failed = 0
    for path in reducer.FIXTURES:
        try:
            reducer.test_the_reducer_leads_to_the_views_of_the_fixture(path)
        except AssertionError:
            failed += 1
    return failed


def event_casts() -> int:
    """Type assertions on events in the client and the engine of the page."""
    files = [*(UI / "client" / "src").rglob("*.ts"), *(UI / "src" / "engine").rglob("*.ts")]
    text = "\n".join(
        file.read_text(encoding="utf-8") for file in files if ".test." not in file.name
    )
    return len(re.findall(r"\bas (?:\w*Event|\w*EventData)\b", text))


def complaints(*command: str) -> int:
    """The lines that a checker of the page prints about cycles or dead exports."""
    done = subprocess.run(command, cwd=UI, capture_output=True, text=True, check=False)
    return 0 if done.returncode == 0 else max(1, len(done.stdout.splitlines()))


def long_turn_growth() -> float:
    """The work for one more commit after 2,000 calls of a turn, in that after 100."""
    test = ("npx", "vitest", "run", "src/features/transcript/long-turn.test.ts")
    done = subprocess.run(test, cwd=UI, capture_output=True, text=True, check=True)
    found = re.search(r"long_turn_growth ([\d.]+)", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


def figures() -> dict[str, float | int | str]:
    document = orjson.loads(DOCUMENT.read_bytes())
    guessed = guesses(document).counts()
    plans = orjson.loads((FOLDER / "plans.json").read_bytes())
    return {
        "breaking_findings_open": sum(each.is_open for each in FINDINGS),
        "renames_open": len(old_names(document)),
        "reducer_lines": reducer_lines(),
        "reducer_golden_failed": reducer_failures(),
        "golden_files": len(reducer.FIXTURES),
        "operation_ids_bad": guessed["operation_ids_bad"],
        "properties_undescribed": guessed["properties_undescribed"],
        "operations_without_example": guessed["operations_without_example"],
        "ui_cycles": complaints(
            "npx", "biome", "lint", "--only=suspicious/noImportCycles", "src", "client/src"
        ),
        "ui_dead_exports": complaints("npm", "run", "--silent", "dead"),
        "ui_event_casts": event_casts(),
        "long_turn_growth": long_turn_growth(),
        "client_dependencies": Tree(ROOT).sdk_dependencies,
        "shell_kb_gzip": round(shell_kb(), 1),
        "partitions": plans["partitions"],
        "unpruned_statements": plans["unpruned_statements"],
        "whole_table_scans": plans["whole_table_scans"],
    }


def rows(findings: Iterable[Finding]) -> str:
    return "\n".join(
        f"| {each.number} | {each.what} | {each.done} | {'open' if each.is_open else 'done'} |"
        f" `{each.test}` |"
        for each in findings
    )


PAGE: Final = (FOLDER / "contract.template.md").read_text(encoding="utf-8")


def main() -> None:
    found = figures()
    write_json("contract", found)
    known = orjson.loads((FOLDER / "contract.json").read_bytes())
    table = "\n".join(f"| `{name}` | {value} |" for name, value in known.items())
    write_page("contract", PAGE.format(stamp=stamp(), table=table, findings=rows(FINDINGS)))
    print(table)
    print(*old_names(orjson.loads(DOCUMENT.read_bytes())), sep="\n")
    print(*(f"open: {each.number} {each.what}" for each in FINDINGS if each.is_open), sep="\n")


if __name__ == "__main__":
    main()
