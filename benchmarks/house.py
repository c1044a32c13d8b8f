"""`just bench-house`: how plain and how even the tree is, counted; writes house.json and house.md.

Pronouns as actors, class names defined twice, long functions and files, the parameters of the
ledger, the share of the largest package. Each count is a small function, which `tests/architecture`
uses too. `*_before` keys are the same counts at `BEFORE`, the commit whose review began this work.
"""

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tempfile
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import orjson

from benchmarks import before
from benchmarks.report import FOLDER, stamp, write_json, write_page

ROOT: Final = Path(__file__).resolve().parent.parent
BEFORE: Final = "751d277"

FILES_FOR: Final = {
    "files_for_a_chat_fact": (5, 19),
    "files_for_a_step": (3, 4),
    "files_for_a_tool": (2, 3),
    "files_for_an_event": (5, 8),
}
"""Files without tests and generated pages, now and before, that one more of a kind touches. Now:
counted by adding a sample on a branch (`git diff --stat`); before: read from the code. Both are
written here by hand."""

# Where the Python packages are: patterns below the root of a tree, today's layout and the next.
PACKAGES: Final = ("src/holdfast", "packages/*/src/*")
SERVER: Final = "holdfast"
NOT_SERVER: Final = frozenset({"prove", "bench", "simulator", "agent", "sdk"})
EQUIPMENT: Final = frozenset({"prove", "bench", "simulator"})
OTHER_PYTHON: Final = ("tests", "scripts", "benchmarks")
DOCUMENTS: Final = ("*.md", "changes/*.md", "docs/**/*.md", "docs/reference/openapi.json")
RECORDS: Final = "docs/adr/"
PAGE_CODE: Final = ("ui/src/**/*.ts", "ui/src/**/*.tsx")
QUERIES: Final = ("src/holdfast/**/queries/*.sql", "packages/*/src/**/queries/*.sql")
LEDGER: Final = "chats/ledger.py"
COMMIT_FORMS: Final = "CommitForm"
COMMIT_FORMS_BEFORE: Final = 48
"""Before there was that class: each commit was put together from a product of blocks."""

FILE_LINES_MAX: Final = 500
FUNCTION_LINES_MAX: Final = 60

PRONOUN: Final = re.compile(
    r"\b(whoever|somebody|someone|nobody|anybody|anyone|everybody|everyone)\b", re.IGNORECASE
)
CLASS: Final = re.compile(r"^ *class (\w+)[(:]", re.MULTILINE)
SQL_TEXT: Final = re.compile(r"'[^'\n]* [^'\n]*'")
INLINE_CODE: Final = re.compile(r"`[^`\n]+`")
CONTRACT: Final = tuple(
    f"/api/{name}.py"
    for name in (
        *("account_responses", "events", "problem_responses", "requests", "responses"),
        *("server_responses", "shapes", "catalogue_shapes", "admin_shapes", "part_responses"),
    )
)
"""Modules whose class names are those of the OpenAPI document."""
TYPESCRIPT: Final = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Source:
    """A Python file; `path` is relative to the root of its tree."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def distribution(self) -> str:
        """`holdfast` for packages/holdfast/src/holdfast/adapters/postgres/store.py."""
        return self._below_src[0]

    @cached_property
    def package(self) -> str:
        """`postgres` for adapters/postgres/store.py, `sse` for holdfast_client/sse.py."""
        _, *below = self._below_src
        return below[1] if below[0] == "adapters" and len(below) > 1 else below[0]

    @property
    def _below_src(self) -> tuple[str, ...]:
        parts = Path(self.path).with_suffix("").parts
        return parts[parts.index("src") + 1 :]

    def says(self, line: int, sentence: str) -> str:
        return f"{self.path}:{line} {sentence}"


class Tree:
    """The files of one checkout."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def packages(self) -> list[Source]:
        """The Python files that are shipped."""
        folders = [path for each in PACKAGES for path in sorted(self._root.glob(each))]
        return [source for folder in folders for source in self._python(folder)]

    @cached_property
    def server(self) -> dict[str, list[Source]]:
        """The Python files of the server, by package."""
        by_package: dict[str, list[Source]] = defaultdict(list)
        for source in self.packages:
            if source.distribution == SERVER and source.package not in NOT_SERVER:
                by_package[source.package].append(source)
        return by_package

    @cached_property
    def sdk_dependencies(self) -> int:
        """How many distributions the SDK's own one declares; once that was the server's."""
        own = self._root / "packages" / "holdfast-client" / "pyproject.toml"
        file = own if own.exists() else self._root / "pyproject.toml"
        return len(tomllib.loads(file.read_text(encoding="utf-8"))["project"]["dependencies"])

    @cached_property
    def python(self) -> list[Source]:
        """Every Python file: the packages, and what tests, measures and generates."""
        others = [self._python(self._root / folder) for folder in OTHER_PYTHON]
        return [*self.packages, *(source for folder in others for source in folder)]

    def texts(self, *patterns: str) -> Iterator[tuple[str, str]]:
        """Path and text of the files that match."""
        for pattern in patterns:
            for path in sorted(self._root.glob(pattern)):
                yield path.relative_to(self._root).as_posix(), path.read_text(encoding="utf-8")

    def _python(self, folder: Path) -> list[Source]:
        return [
            Source(path.relative_to(self._root).as_posix(), path.read_text(encoding="utf-8"))
            for path in sorted(folder.rglob("*.py"))
        ]


# --- pronouns as actors -----------------------------------------------------------------------


def pronouns(path: str, text: str, first_line: int = 1) -> Iterator[str]:
    """One finding per pronoun, as `path:line the line's text`."""
    for number, line in enumerate(text.splitlines(), start=first_line):
        for _ in PRONOUN.finditer(line):
            yield f"{path}:{number} {line.strip()}"


def public_pronouns(tree: Tree) -> Iterator[str]:
    """In what users, operators and contributors read: documents, the page, and all texts that the
    packages print, log or return."""
    for path, text in tree.texts(*DOCUMENTS):
        if not path.startswith(RECORDS):
            yield from pronouns(path, INLINE_CODE.sub("", text))
    for path, text in tree.texts(*PAGE_CODE):
        if ".test." not in path and ".gen." not in path:
            yield from pronouns(path, without_typescript_comments(text))
    for path, text in tree.texts(*QUERIES):
        for found in SQL_TEXT.finditer(text):
            yield from pronouns(path, found[0], 1 + text.count("\n", 0, found.start()))
    for source in tree.packages:
        yield from text_pronouns(source)


def record_pronouns(tree: Tree) -> Iterator[str]:
    """In the decision records."""
    for path, text in tree.texts(f"{RECORDS}*.md"):
        yield from pronouns(path, INLINE_CODE.sub("", text))


def text_pronouns(source: Source) -> Iterator[str]:
    """In the strings that a file uses. A string of one word is a name (the account `nobody`)."""
    if not PRONOUN.search(source.text):
        return
    prose = {node.value for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(source.tree):
        match node:
            case ast.Constant(value=str(text)) if node not in prose and " " in text.strip():
                yield from pronouns(source.path, text, node.lineno)
            case _:
                pass


def prose_pronouns(source: Source) -> Iterator[str]:
    """In the comments and docstrings of a file; a string that stands alone is a docstring."""
    if not PRONOUN.search(source.text):
        return
    for node in ast.walk(source.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield from pronouns(source.path, text, node.lineno)
            case _:
                pass
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield from pronouns(source.path, token.string, token.start[0])


def without_typescript_comments(text: str) -> str:
    """The text with its comments blanked; lines keep their numbers."""

    def blanked(found: re.Match[str]) -> str:
        comment = found["comment"]
        return found[0] if comment is None else "\n" * comment.count("\n")

    return TYPESCRIPT.sub(blanked, text)


# --- names and sizes --------------------------------------------------------------------------


def class_names_twice(sources: Iterable[Source]) -> dict[str, list[str]]:
    """Class names that more than one module defines, with those modules. Names of the contract do
    not count: `responses.Chat` is the chat as the OpenAPI document has it."""
    modules: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        if source.path.endswith(CONTRACT):
            continue
        for name in CLASS.findall(source.text):
            modules[name].add(source.path)
    return {name: sorted(paths) for name, paths in sorted(modules.items()) if len(paths) > 1}


def long_files(source: Source) -> Iterator[str]:
    if source.lines > FILE_LINES_MAX:
        sentence = f"a file of {source.lines} lines, {FILE_LINES_MAX} at most"
        yield source.says(source.lines, sentence)


def long_functions(source: Source) -> Iterator[str]:
    if source.lines <= FUNCTION_LINES_MAX:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                sentence = f"{node.name} has {lines} lines, {FUNCTION_LINES_MAX} at most"
                yield source.says(node.lineno, sentence)


def parameters_max(sources: Iterable[Source]) -> int:
    """The largest number of parameters of a function, `self` and `cls` not counted."""
    return max(
        sum(
            each.arg not in ("self", "cls")
            for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        )
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def commit_statement_forms(sources: Iterable[Source]) -> int:
    """How many forms the statement has that commits a chat: the members of `CommitForm`."""
    for source in sources:
        if f"class {COMMIT_FORMS}(" not in source.text:
            continue
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == COMMIT_FORMS:
                return sum(isinstance(each, ast.Assign) for each in node.body)
    return COMMIT_FORMS_BEFORE


def package_shares(tree: Tree) -> Counter[str]:
    """Each package's lines as a share of the server's, the largest first."""
    lines = {name: sum(each.lines for each in files) for name, files in tree.server.items()}
    return Counter({name: count / sum(lines.values()) for name, count in lines.items()})


def equipment_share(tree: Tree) -> float:
    """The lines of chaos tests, benchmarks and simulator in the server's wheel, as a share."""
    lines = Counter[bool]()
    for source in tree.packages:
        if source.distribution == SERVER:
            lines[source.package in EQUIPMENT] += source.lines
    return lines[True] / lines.total()


# --- the figures ------------------------------------------------------------------------------


def figures(tree: Tree) -> dict[str, float | int | str]:
    server = [source for package in tree.server.values() for source in package]
    (largest, share), *_ = package_shares(tree).most_common(1)
    return {
        "pronoun_subjects_public": sum(1 for _ in public_pronouns(tree)),
        "pronoun_subjects_adr": sum(1 for _ in record_pronouns(tree)),
        "pronoun_subjects_src": sum(1 for each in tree.packages for _ in prose_pronouns(each)),
        "class_names_twice_in_server": len(class_names_twice(server)),
        "functions_over_60_lines": sum(1 for each in tree.python for _ in long_functions(each)),
        "files_over_500_lines": sum(1 for each in tree.python for _ in long_files(each)),
        "ledger_parameters_max": parameters_max(
            each for each in server if each.path.endswith(f"/{LEDGER}")
        ),
        "commit_statement_forms": commit_statement_forms(server),
        "packages_share_max": round(share, 3),
        "sdk_dependencies": tree.sdk_dependencies,
        "wheel_test_equipment_share": round(equipment_share(tree), 3),
        "packages_share_max_package": largest,
    }


def files_for() -> dict[str, int]:
    """The counts of `FILES_FOR`, under the keys of the other figures."""
    now = {key: count for key, (count, _) in FILES_FOR.items()}
    return now | {f"{key}_before": count for key, (_, count) in FILES_FOR.items()}


def figures_at(commit: str) -> dict[str, float | int | str]:
    """The same counts of an earlier commit, each key with `_before` at its end."""
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryDirectory(prefix="holdfast-house-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        return {f"{key}_before": value for key, value in figures(Tree(Path(folder))).items()}


MEANINGS: Final = {
    "pronoun_subjects_public": "pronouns as actors in texts that people read: documents, API, CLI, "
    "page, settings, metrics, logs",
    "pronoun_subjects_adr": "pronouns as actors in decision records",
    "pronoun_subjects_src": "pronouns as actors in comments and docstrings of the packages",
    "class_names_twice_in_server": "class names that more than one module of the server defines",
    "functions_over_60_lines": f"functions over {FUNCTION_LINES_MAX} lines",
    "files_over_500_lines": f"files over {FILE_LINES_MAX} lines",
    "ledger_parameters_max": "most parameters of a function in `chats/ledger.py`",
    "commit_statement_forms": "forms of the statement that commits a chat",
    "sdk_dependencies": "dependencies that the SDK's distribution declares",
    "wheel_test_equipment_share": "share of chaos tests, benchmarks and simulator in the lines of "
    "the server's wheel",
    "packages_share_max": "share of the largest package in the lines of the server",
    "packages_share_max_package": "that package",
    "files_for_a_chat_fact": "files that one more fact of a chat touches, its test included",
    "files_for_a_step": "files that one more step touches",
    "files_for_a_tool": "files that one more tool of the server touches",
    "files_for_an_event": "files that one more event touches, up to clients of the SDK",
    **{
        f"walk_{what}_{counted}": f"{counted} that {about} passes through (traced)"
        for what, about in (
            ("message", "a message with its answer"),
            ("delta", "a delta"),
            ("tool_call", "a tool call, beside those of a message"),
        )
        for counted in ("files", "functions")
    },
    "cpu_ms": "CPU of a turn of `holdfast lab bench`, ms; before is commit {cpu_before_commit}",
}
"""The last rows are measured by `just bench-walks` and `just bench-house --cpu COMMIT`."""


def page(flat: dict[str, float | int | str]) -> str:
    rows = [
        f"| {meaning.format_map(flat)} | {flat[f'{key}_before']} | {flat[key]} |"
        for key, meaning in MEANINGS.items()
        if key in flat and f"{key}_before" in flat
    ]
    return "\n".join(
        (
            "# The tree, counted",
            "",
            f"{stamp()} Written by `just bench-house`. *Before* is commit {BEFORE}.",
            "",
            "| count | before | now |",
            "|---|---|---|",
            *rows,
            "",
            "The pronouns are whoever, somebody, someone, nobody, anybody, anyone, everybody and",
            "everyone. `tests/architecture` keeps the counts of pronouns, class names, functions",
            "and files from rising.",
            "",
            "The files that one more fact, step, tool or event touches were counted by adding a",
            "sample on a branch: the text of the last failure as a fact, a step that commits a",
            "note, a tool of the server, and an event that clients of the SDK see. Tests (but for",
            "that of the fact) and generated pages are not counted. The counts before were read",
            "from the code. A tool in a package of its own takes two files, its module and",
            "`pyproject.toml`, and none of the server's.",
            "",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house")
    parser.add_argument("--cpu", metavar="COMMIT", help="measure CPU of a turn, of that commit too")
    options = parser.parse_args()
    counted = {**figures_at(BEFORE), **figures(Tree(ROOT)), **files_for()}
    write_json("house", {**counted, "before_commit": BEFORE} | cpu_of_a_turn(options.cpu))
    flat = orjson.loads((FOLDER / "house.json").read_bytes())
    write_page("house", page(flat))
    print(page(flat))


def cpu_of_a_turn(commit: str | None) -> dict[str, float | int | str]:
    if commit is None:
        return {}
    found = before.compare(commit)
    return {
        "cpu_before_commit": commit,
        "cpu_ms_before": found["cpu_ms_before"],
        "cpu_ms": found["cpu_ms_now"],
        "cpu_ratio_to_before": found["cpu_ratio_to_before"],
    }


if __name__ == "__main__":
    main()
