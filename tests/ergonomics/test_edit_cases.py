"""What a model reads after a call of a file tool, and what is in the files then, word for word.

`edits.yaml`: each way in which an edit fits or is refused. `arguments.yaml`: calls as models write
them that were trained on other tools. `HOLDFAST_GOLDEN=write` writes the present answers into the
files. Read the difference.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
import yaml

from tests.support.edit_cases import (
    FOLDER,
    Case,
    called,
    cases,
    dumped,
    found,
    laid_out,
    writes_golden,
)

AT_LEAST: Final[Mapping[str, int]] = MappingProxyType({"edits.yaml": 60, "arguments.yaml": 40})
CASES: Final = {name: cases(name) for name in AT_LEAST}
ALL: Final = [case for each in CASES.values() for case in each]


@pytest.mark.parametrize("name", AT_LEAST)
def test_there_are_enough_cases_with_names_of_their_own(name: str) -> None:
    assert len(CASES[name]) >= AT_LEAST[name]
    assert len({case.name for case in CASES[name]}) == len(CASES[name])


@pytest.mark.skipif(writes_golden(), reason="the cases are being written")
@pytest.mark.parametrize("case", ALL, ids=str)
async def test_call_says_and_does_what_the_case_says(case: Case, tmp_path: Path) -> None:
    laid_out(tmp_path, case.files)

    output = await called(tmp_path, case.tool, case.call)

    assert output.value == case.says
    assert output.failed is case.failed
    assert found(tmp_path) == {
        name: text for name, text in {**case.files, **case.becomes}.items() if text is not None
    }
    assert not (output.failed and case.becomes), "a refused call changed a file"


@pytest.mark.skipif(not writes_golden(), reason="only writes the cases")
@pytest.mark.parametrize("name", AT_LEAST)
async def test_cases_are_written(name: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = yaml.safe_load((FOLDER / name).read_text())
    for number, (row, case) in enumerate(zip(rows, CASES[name], strict=True)):
        root = tmp_path / str(number)
        root.mkdir()
        laid_out(root, case.files)
        output = await called(root, case.tool, case.call)
        now = found(root)
        gone = {each: None for each in case.files if each not in now}
        other = {each: text for each, text in now.items() if case.files.get(each) != text}
        row |= {"says": output.value, "failed": output.failed, "becomes": {**other, **gone}}
    (FOLDER / name).write_text(dumped(rows))
