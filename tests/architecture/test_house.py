"""Ratchets on the counts of `benchmarks/house.py`: plain English, and unique class names."""

from pathlib import Path
from typing import Final

import pytest

from benchmarks import house
from benchmarks.house import Source, Tree

PRONOUNS_IN_SOURCE_MAX: Final = 0
"""In comments and docstrings. Lower it after a file was rewritten; never raise it."""

LEDGER_PARAMETERS_MAX: Final = 4
"""Of a function in `chats/ledger.py`. What a change needs is a field of `ChangeRequest`."""

COMMIT_FORMS_MAX: Final = 4

HINT: Final = "name the actor with a word of docs/glossary.md (the worker, the reader, the client):"


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(house.ROOT)


def test_texts_that_people_read_name_the_actor(tree: Tree) -> None:
    found = list(house.public_pronouns(tree))

    assert not found, "\n".join((HINT, *found))


def test_decision_records_name_the_actor(tree: Tree) -> None:
    found = list(house.record_pronouns(tree))

    assert not found, "\n".join((HINT, *found))


def test_pronouns_in_comments_and_docstrings_do_not_become_more(tree: Tree) -> None:
    found = [each for source in tree.packages for each in house.prose_pronouns(source)]

    assert len(found) <= PRONOUNS_IN_SOURCE_MAX, "\n".join((HINT, *found))


def test_a_class_name_is_defined_once_in_the_server(tree: Tree) -> None:
    twice = house.class_names_twice(
        source for sources in tree.server.values() for source in sources
    )

    assert twice == {}


def test_the_functions_of_the_ledger_have_few_parameters(tree: Tree) -> None:
    ledger = [each for each in tree.server["chats"] if each.path.endswith(house.LEDGER)]

    assert 1 < house.parameters_max(ledger) <= LEDGER_PARAMETERS_MAX


def test_forms_of_the_commit_statement_stay_few(tree: Tree) -> None:
    """A new optional row is a rider, not another form (CONTRIBUTING, "Add a rider")."""
    assert house.commit_statement_forms(tree.server["postgres"]) <= COMMIT_FORMS_MAX


def test_the_tree_is_found(tree: Tree) -> None:
    """A moved folder must not turn a count into zero."""
    assert {"domain", "chats", "turn"} <= tree.server.keys()
    assert not tree.server.keys() & house.NOT_SERVER
    assert house.parameters_max(tree.server["chats"]) > 1
    for pattern in (*house.DOCUMENTS, *house.PAGE_CODE):
        assert next(tree.texts(pattern), None), pattern


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", "Nobody waits."),
        ("changes/1.added.md", "Everyone can read it."),
        ("docs/how-to/serve.md", "```sh\nholdfast serve  # whoever asks\n```"),
        ("docs/reference/openapi.json", '{"description": "anyone"}'),
        ("ui/src/i18n/en.ts", 'const url = "https://a"; // ours\nconst hint = "For everybody";'),
        ("ui/src/app/routes/chat/chat.tsx", "<p>Somebody's message</p>"),
        (
            "packages/holdfast/src/holdfast/api/problems.py",
            'TITLE = f"Somebody was faster: {name}"',
        ),
        ("packages/holdfast/src/holdfast/cli/run.py", 'say("someone stopped it")'),
        (
            "packages/holdfast/src/holdfast/adapters/postgres/queries/verify.sql",
            "-- nobody\nselect 'S3: nobody drives'",
        ),
    ],
)
def test_a_public_pronoun_is_found(path: str, text: str, tmp_path: Path) -> None:
    _write(tmp_path, path, text)

    assert len(list(house.public_pronouns(Tree(tmp_path)))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", "The account `nobody` runs it. Each worker waits."),
        ("docs/adr/README.md", "Whoever commits first wins."),
        ("ui/src/i18n/en.ts", '// for everybody\n/* nobody\n */ const hint = "For the owner";'),
        ("ui/src/i18n/en.test.ts", 'it("tells somebody")'),
        ("src/holdfast/cli/run.py", '"""For whoever runs it."""\nACCOUNT = "nobody"  # anyone'),
    ],
)
def test_other_texts_are_not_public(path: str, text: str, tmp_path: Path) -> None:
    _write(tmp_path, path, text)

    assert list(house.public_pronouns(Tree(tmp_path))) == []


def test_prose_is_comments_and_docstrings_with_their_lines() -> None:
    text = (
        '"""Who.\n\nWhoever asks."""\nX = 1  # nobody, anybody\n"""Someone."""\nY = "everybody"\n'
    )

    found = list(house.prose_pronouns(Source("src/holdfast/chats/sample.py", text)))

    assert [each.partition(" ")[0].rpartition(":")[2] for each in found] == ["3", "5", "4", "4"]


def test_a_class_name_in_two_modules_is_found() -> None:
    first = Source("src/holdfast/a.py", "class Chat:\n    class Id: ...\n\nclass Chat: ...")
    second = Source("src/holdfast/b.py", "class Chat(Base): ...\nclass Message: ...")

    twice = house.class_names_twice([first, second])

    assert twice == {"Chat": ["src/holdfast/a.py", "src/holdfast/b.py"]}


def test_parameters_are_counted_without_self() -> None:
    text = "class A:\n    async def f(self, a, /, b, *, c): ...\ndef g(a, b): ..."

    assert house.parameters_max([Source("src/holdfast/a.py", text)]) == 3


def test_forms_of_the_commit_are_the_members_of_their_class() -> None:
    forms = Source(
        "src/holdfast/a.py", 'class CommitForm(StrEnum):\n    """Two."""\n    A = "a"\n    B = "b"'
    )
    other = Source("src/holdfast/b.py", "class Form(StrEnum): ...")

    assert house.commit_statement_forms([other, forms]) == 2
    assert house.commit_statement_forms([other]) == house.COMMIT_FORMS_BEFORE


def _write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
