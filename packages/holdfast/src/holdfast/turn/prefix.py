"""What stands before the messages of a prompt, and stays as it is until the next boundary.

System prompt and tools are decided with the first reply after a boundary and stored with it
(ADR 0051). A provider's prompt cache begins with them, and newer models bind what they thought to
them: a change would cost the whole cache, or be refused. What changes later (organisation
instructions, the workspace, a tool of an upgraded worker) is told at the beginning of the next
turn, in a message for the model behind that of the user. Only a tool that is added makes another
prefix, for a model cannot call what is not in its list, and a tool of the provider that is added or
forbidden (ADR 0053).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.parts import Context, JsonObject, Text
from holdfast.domain.prefix import PromptPrefix, is_news
from holdfast.domain.provider_tools import ProviderToolSpec
from holdfast.ports.tools import FreeForm, ToolSpec

CHANGED: Final = (
    "The following has changed since this chat began. It replaces what you were told before about "
    "the same subject."
)
SECTION_GONE: Final = "This no longer applies."
TOOL_GONE: Final = "This tool is no longer available. Do not call it."
SERVER: Final = "Server instructions"
MODEL: Final = "Instructions for this model"
ORGANISATION: Final = "Organisation instructions"
TOOLBOX: Final = "Tools"


@dataclass(frozen=True, slots=True)
class Prefix:
    """`sections`: of the system prompt, each with its subject. `tools`: as the model was told of
    them."""

    sections: tuple[tuple[str, str], ...]
    tools: tuple[JsonObject, ...]
    provider_tools: tuple[JsonObject, ...] = ()
    """With their limits, as `ProviderToolSpec` has them."""

    @classmethod
    def of(
        cls,
        system: Sequence[str],
        instructions: str | None,
        toolbox: Sequence[str],
        specs: Sequence[ToolSpec],
        *,
        model: str = "",
        provider_tools: Sequence[ProviderToolSpec] = (),
    ) -> "Prefix":
        """As it would be decided now. `model`: what only models of one kind are told."""
        named = [(SERVER, text) for text in system]
        named += [(MODEL, model)] if model else []
        named += [(ORGANISATION, instructions)] if instructions else []
        named += [(_heading(text), text) for text in toolbox]
        seen: dict[str, int] = {}
        sections: list[tuple[str, str]] = []
        for name, text in named:
            seen[name] = number = seen.get(name, 0) + 1
            sections.append((name if number == 1 else f"{name} {number}", text))
        theirs = tuple(map(_told_provider_tool, provider_tools))
        return cls(tuple(sections), tuple(map(_told_tool, specs)), theirs)

    @classmethod
    def stored(cls, content: str) -> "Prefix":
        found = orjson.loads(content)
        sections = ((name, text) for name, text in found["sections"])
        return cls(tuple(sections), tuple(found["tools"]), tuple(found.get("provider_tools", ())))

    def row(self) -> PromptPrefix:
        content: JsonObject = {"sections": self.sections, "tools": self.tools}
        if self.provider_tools:
            content = {**content, "provider_tools": self.provider_tools}
        return PromptPrefix.of(orjson.dumps(content).decode())

    @property
    def system(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.sections)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """For a model: how a call is run, the toolbox of the turn says."""
        return tuple(
            ToolSpec(
                name=cast(str, tool["name"]),
                description=cast(str, tool["description"]),
                schema=cast(JsonObject, tool["schema"]),
                free_form=_free_form(tool),
            )
            for tool in self.tools
        )

    @property
    def provider_specs(self) -> tuple[ProviderToolSpec, ...]:
        return tuple(map(_provider_tool, self.provider_tools))

    def has_other_tools_than(self, before: "Prefix") -> bool:
        """Whether the model must be sent another list: a tool was added, or what the provider runs
        differs. A provider's tool cannot be taken away by words: it is the provider that obeys."""
        if self.provider_specs != before.provider_specs:
            return True
        known = {str(tool["name"]) for tool in before.tools}
        return any(str(tool["name"]) not in known for tool in self.tools)

    def told(self) -> dict[str, str]:
        """Text by subject."""
        return dict(self.sections) | {
            f"Tool {tool['name']}": orjson.dumps(tool, option=orjson.OPT_SORT_KEYS).decode()
            for tool in self.tools
        }


@dataclass(frozen=True, slots=True)
class SentPrefix:
    """What the prompt of an attempt begins with. `row`: what the reply names, if it is another
    prefix than that of the replies before it. `news`: what the model is told that has changed."""

    prefix: Prefix
    row: PromptPrefix | None = None
    news: MessageBody | None = None


def news_of(now: Prefix, stored: Prefix, history: Sequence[MessageBody]) -> MessageBody | None:
    """What has changed since the model was last told, by the prefix and the news in history."""
    changes = [body for body in history if is_news(body)]
    if now == stored and not changes:
        return None
    told = stored.told()
    for body in changes:
        told |= {part.name: part.text for part in body.parts if isinstance(part, Context)}
    wanted = now.told()
    gone = {name: _gone(name) for name in told if name not in wanted}
    different = {name: text for name, text in (wanted | gone).items() if told.get(name) != text}
    return _news(different) if different else None


def _news(changes: Mapping[str, str]) -> MessageBody:
    contexts = (Context(name, text) for name, text in changes.items())
    return MessageBody(
        role=Role.SYSTEM, parts=(Text(CHANGED), *contexts), visibility=Visibility.MODEL
    )


def _told_tool(spec: ToolSpec) -> JsonObject:
    told: JsonObject = {
        "name": spec.name,
        "description": spec.description,
        "schema": spec.schema,
    }
    form = spec.free_form
    if form is None:
        return told
    return {**told, "free_form": {"argument": form.argument, "grammar": form.grammar}}


def _free_form(stored: Mapping[str, Any]) -> FreeForm | None:
    form = stored.get("free_form")
    return None if form is None else FreeForm(form["argument"], form["grammar"])


def _told_provider_tool(spec: ProviderToolSpec) -> JsonObject:
    return {
        "name": spec.name,
        "uses_max": spec.uses_max,
        "allowed_domains": [*spec.allowed_domains],
        "blocked_domains": [*spec.blocked_domains],
    }


def _provider_tool(stored: Mapping[str, Any]) -> ProviderToolSpec:
    lists = {name: tuple(stored[name]) for name in ("allowed_domains", "blocked_domains")}
    return ProviderToolSpec(name=stored["name"], uses_max=stored["uses_max"], **lists)


def _gone(name: str) -> str:
    return TOOL_GONE if name.startswith("Tool ") else SECTION_GONE


def _heading(section: str) -> str:
    """What a section of the toolbox is about: its first heading."""
    first: Any = section.lstrip().partition("\n")[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else TOOLBOX
