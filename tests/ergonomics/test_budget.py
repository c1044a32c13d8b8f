"""What tools and prompt cost in tokens, at four bytes a token (set 6)."""

import orjson

from holdfast.chats.outputs import OUTPUT_BYTES_MAX
from holdfast.turn.default_prompt import default_prompt
from tests.support.texts_for_models import BYTES_PER_TOKEN, specs

TOOLS_TOKENS_MAX = 3_500
PROMPT_TOKENS_MAX = 1_800
RESULT_TOKENS_MAX = 8_192


def tools_tokens() -> int:
    return len(orjson.dumps([spec.definition for spec in specs()])) // BYTES_PER_TOKEN


def prompt_tokens() -> int:
    return len(default_prompt(workspaces=True).text.encode()) // BYTES_PER_TOKEN


def test_the_tools_of_a_workspace_fit_their_budget() -> None:
    assert tools_tokens() <= TOOLS_TOKENS_MAX


def test_the_built_in_prompt_fits_its_budget() -> None:
    assert prompt_tokens() <= PROMPT_TOKENS_MAX


def test_no_result_is_larger_than_its_budget() -> None:
    assert OUTPUT_BYTES_MAX // BYTES_PER_TOKEN <= RESULT_TOKENS_MAX
