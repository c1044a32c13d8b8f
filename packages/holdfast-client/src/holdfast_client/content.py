"""What a message says, as the API takes it: text, or parts."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from holdfast_client.models import FileReferencePart, SkillPart, TextPart

WhenBusy: TypeAlias = Literal["queue", "interrupt"]
PartIn: TypeAlias = TextPart | FileReferencePart | SkillPart | Mapping[str, Any]
Content: TypeAlias = str | Sequence[PartIn]
"""Text, or a list of parts: models or JSON."""


class _NotGiven:
    """The type of `NOT_GIVEN`, for parameters where None has a meaning of its own."""


NOT_GIVEN = _NotGiven()
NotGiven: TypeAlias = _NotGiven


def message_json(
    content: Content,
    model: str | None,
    effort: str | None,
    *,
    web: bool | None = None,
    plan_mode: bool | None = None,
) -> dict[str, Any]:
    said: dict[str, Any] = (
        {"text": content}
        if isinstance(content, str)
        else {"parts": [_part_json(part) for part in content]}
    )
    return said | given(model=model, effort=effort, web=web, plan_mode=plan_mode)


def _part_json(part: PartIn) -> dict[str, Any]:
    if isinstance(part, Mapping):
        return dict(part)
    return {"type": part.type, **part.model_dump(mode="json", exclude_unset=True)}


def given(**fields: object) -> dict[str, Any]:
    """Without what is None."""
    return {name: value for name, value in fields.items() if value is not None}


def changed(**fields: object) -> dict[str, Any]:
    """Without what was not given. None is a value."""
    return {name: value for name, value in fields.items() if not isinstance(value, _NotGiven)}
