"""Tidiness: sizes, docstrings, where SQL is, documented settings, current pages.

Each rule looks at one file and returns what it found, as `path:line sentence`. Each rule also runs
on a bad sample, which it must report: a rule that never fires checks nothing.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from benchmarks.house import (
    FILE_LINES_MAX,
    FUNCTION_LINES_MAX,
    Source,
    long_files,
    long_functions,
)
from holdfast.settings import Settings
from scripts import generate_docs

ROOT: Final = Path(__file__).resolve().parents[2]
ADR_LINES_MAX: Final = 40
LONG_S: Final = 30
"""A sleep of this length waits to be killed or cancelled."""

SQL: Final = re.compile(
    r"\s*(select\s.*\bfrom\b|select\s+\w+\(|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s"
    r"|with\s+\S+\s+as\s*\(|(create|alter|drop|truncate)\s+table\b)",
    re.IGNORECASE | re.DOTALL,
)
UNFINISHED: Final = re.compile(r"\b(TODO|FIXME|XXX)\b")


Rule: TypeAlias = Callable[[Source], Iterator[str]]


@pytest.fixture(scope="module")
def sources() -> Callable[[str], tuple[Source, ...]]:
    """A fixture, so that all rules run in one process: it reads and parses each file once."""
    return cache(sources_in)


def sources_in(folder: str) -> tuple[Source, ...]:
    return tuple(
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    )


def modules_without_docstring(source: Source) -> Iterator[str]:
    if not ast.get_docstring(source.tree):
        yield source.says(1, "a module without a docstring")


def stray_sql(source: Source) -> Iterator[str]:
    """SQL is literal and named, in `db/queries/*.sql` and `db/migrations/*.sql`; attacks look at
    the rows past the code that they attack."""
    if "/adapters/postgres/" in source.path or "/holdfast_lab/" in source.path:
        return
    prose = {node.value for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(source.tree):
        match node:
            case ast.Constant(value=str(text)) if SQL.match(text) and node not in prose:
                yield source.says(node.lineno, f"SQL outside db: {text.strip()[:40]!r}")
            case _:
                pass


def unfinished_work(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), start=1):
        if UNFINISHED.search(line):
            yield source.says(number, f"open an issue instead: {line.strip()}")


def fixed_sleeps(source: Source) -> Iterator[str]:
    """A test waits for a condition, in a loop, and not for a time that some machine is too slow
    for. Virtual time may pass, and what never ends by itself may sleep for long."""
    if "virtual" in source.text or "/simulation/" in source.path or _is_virtual(source.path):
        return
    if "sleep(" not in source.text and "wait_for_timeout(" not in source.text:
        return
    lines = source.text.splitlines()
    polling = {
        inner
        for loop in ast.walk(source.tree)
        if isinstance(loop, ast.While | ast.For | ast.AsyncFor)
        for inner in ast.walk(loop)
    }
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="sleep" | "wait_for_timeout" as name), args=[s]):
                said = "".join(lines[max(node.lineno - 4, 0) : node.lineno])
                is_long = isinstance(s, ast.Constant) and not 0 < float(str(s.value)) < LONG_S
                if (
                    (name != "sleep" or not is_long)
                    and node not in polling
                    and "# Real time:" not in said
                ):
                    yield source.says(node.lineno, "a fixed sleep: wait for a condition")
            case _:
                pass


def _is_virtual(path: str) -> bool:
    """Whether the tests of this folder run in virtual time."""
    conftest = (ROOT / path).with_name("conftest.py")
    return conftest.is_file() and "virtual" in conftest.read_text(encoding="utf-8")


EVERYWHERE: Final = ("packages", "tests", "scripts", "benchmarks")
RULES: Final[Mapping[Rule, tuple[str, ...]]] = {
    long_files: EVERYWHERE,
    long_functions: EVERYWHERE,
    modules_without_docstring: ("packages",),
    stray_sql: ("packages",),
    unfinished_work: ("packages",),
    fixed_sleeps: ("tests",),
}

SAMPLES: Final[list[tuple[Rule, str]]] = [
    (long_files, "x = 1\n" * (FILE_LINES_MAX + 1)),
    (long_functions, "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX),
    (long_functions, "async def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX),
    (modules_without_docstring, "x = 1\n"),
    (stray_sql, "q = 'select id from chats'"),
    (stray_sql, "q = '''\n  INSERT INTO chats values (1)'''"),
    (stray_sql, "q = f'update chats set x = {x}'"),
    (stray_sql, "q = 'delete from chats'"),
    (unfinished_work, "x = 1  # TODO: more"),
    (fixed_sleeps, "async def test_it():\n    await asyncio.sleep(0.3)"),
    (fixed_sleeps, "async def test_it(tab):\n    await tab.page.wait_for_timeout(400)"),
]

INNOCENT: Final = '''"""Select the newest from what they sent; update it, then set it aside."""

async def until(done):
    while not done():
        await asyncio.sleep(0.01)

class StepBoundary:
    def truncatable(self, chat, parts, model):
        self.message = "select one"
'''


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_there_are_no(rule: Rule, sources: Callable[[str], tuple[Source, ...]]) -> None:
    found = [each for folder in RULES[rule] for source in sources(folder) for each in rule(source)]

    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(("rule", "sample"), SAMPLES)
def test_the_rule_objects_to_a_bad_sample(rule: Rule, sample: str) -> None:
    assert list(rule(Source("packages/holdfast/src/holdfast/chats/sample.py", sample)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_is_content_with_a_good_sample(rule: Rule) -> None:
    assert list(rule(Source("packages/holdfast/src/holdfast/chats/sample.py", INNOCENT))) == []


def test_every_setting_is_described_and_documented() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert f"`{generate_docs.env_name(name)}`" in page


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return generate_docs.rendered()


def test_generated_pages_are_current(pages: Mapping[str, str]) -> None:
    drifted = generate_docs.drift(ROOT, pages)

    assert not drifted, f"run python scripts/generate_docs.py\n{drifted}"


def test_drift_of_any_page_is_seen(tmp_path: Path, pages: Mapping[str, str]) -> None:
    generate_docs.write(tmp_path, pages)
    assert generate_docs.drift(tmp_path, pages) == ""

    for page in pages:
        (tmp_path / page).write_text("by hand\n")
    drifted = generate_docs.drift(tmp_path, pages)
    assert [page for page in pages if f"--- {page}\n" not in drifted] == []


def test_a_decision_record_is_numbered_once_and_short() -> None:
    records = [path for path in (ROOT / "docs" / "adr").glob("*.md") if path.stem != "README"]
    numbers = [record.name[:4] for record in records]
    assert len(set(numbers)) == len(numbers)
    for record in records:
        assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", record.name)
        lines = len(record.read_text(encoding="utf-8").splitlines())
        assert lines <= ADR_LINES_MAX, f"{record.name} has {lines} lines"
