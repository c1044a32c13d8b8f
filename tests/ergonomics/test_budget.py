"""What tools and prompt cost in tokens, at four bytes a token (set 6)."""

from typing import get_args

import orjson
import pytest

from holdfast.chats.outputs import OUTPUT_BYTES_MAX
from holdfast.ports.tools import EditTool
from holdfast.turn.default_prompt import default_prompt
from tests.support.texts_for_models import BYTES_PER_TOKEN, specs

TOOLS_TOKENS_MAX = 3_500
PROMPT_TOKENS_MAX = 1_800
RESULT_TOKENS_MAX = 8_192


def tools_tokens() -> int:
    """Of the dearer way to edit files: a model has only one."""
    return max(map(tools_tokens_of, get_args(EditTool)))


def tools_tokens_of(way: EditTool) -> int:
    offered = [spec for spec in specs() if spec.edits_as in (None, way)]
    grammars = [spec.free_form.grammar for spec in offered if spec.free_form is not None]
    told = [*(spec.definition for spec in offered), *grammars]
    return len(orjson.dumps(told)) // BYTES_PER_TOKEN


def prompt_tokens() -> int:
    return len(default_prompt(workspaces=True).text.encode()) // BYTES_PER_TOKEN


@pytest.mark.parametrize("way", get_args(EditTool))
def test_the_tools_of_a_workspace_fit_their_budget(way: EditTool) -> None:
    assert tools_tokens_of(way) <= TOOLS_TOKENS_MAX


def test_a_model_has_one_tool_to_edit_files_with() -> None:
    ways = {spec.name: spec.edits_as for spec in specs() if spec.edits_as is not None}
    assert ways == {"edit_file": "replace", "apply_patch": "patch"}


def test_the_built_in_prompt_fits_its_budget() -> None:
    assert prompt_tokens() <= PROMPT_TOKENS_MAX


def test_no_result_is_larger_than_its_budget() -> None:
    assert OUTPUT_BYTES_MAX // BYTES_PER_TOKEN <= RESULT_TOKENS_MAX
