"""Preserved thinking: models that bind a thinking block to the conversation before it.

A bound block carries a digest of `system`, `tools`, the messages before its own, and the bound
block before it. Marks of the prompt cache do not count. On replay the digest is computed again: a
block whose conversation was changed is refused, or dropped if the request asks for that.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import orjson

from holdfast_simulator.chance import Chance
from holdfast_simulator.jsons import JsonObject, arr, is_arr, is_obj, obj, objs, txt
from holdfast_simulator.seal import DIGEST_BYTES, Purpose, holds, seal, tail_of
from holdfast_simulator.wires.base import Call, Rejection

BINDING_MODEL: Final = re.compile(r"(fable|mythos)-5-[12]|(opus|sonnet|haiku)-5-5")
BOUND_WORD: Final = re.compile(r"\[\[sim:[^\]]*\bbound\b")
"""The directive `bound` in any user message makes every other model bind as well."""
BETA: Final = "thinking-binding-controls-2026-08-01"
DROP: Final = "drop_block"
BEHAVIOURS: Final = ("error", DROP)
REFUSED: Final = (
    "{place}: Invalid `signature` in `thinking` block. The block is bound to a different "
    "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
    '"drop_block". That setting requires the `thinking-binding-controls-2026-08-01` value in the '
    "`anthropic-beta` header. {cause}"
)
SYSTEM_DIFFERS: Final = "The `system` prompt differs from the one this block was created with."
TOOLS_DIFFER: Final = "The `tools` differ from the ones this block was created with."
BLOCK_MISSING: Final = (
    "The `thinking` block that preceded this one when it was created is missing from this request."
)
MESSAGES_DIFFER: Final = "The messages before this block differ from the ones it was created with."


@dataclass(slots=True)
class Walk:
    """One request read from its beginning: where it stands, and which bound blocks do not fit."""

    digest: bytes = b""
    """What a block is bound to that comes next."""
    mismatches: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Place and cause, in the order of the request."""


def binds(call: Call) -> bool:
    """Whether the model of this request binds its thinking, for this account."""
    body = call.body or {}
    if call.old_account:
        return False
    return bool(BINDING_MODEL.search(txt(body.get("model")))) or any(
        BOUND_WORD.search(text) for text in _user_texts(body)
    )


def sealed_thinking(text: str, chance: Chance, bound: bytes | None) -> str:
    """The signature of a thinking block. `bound`: None, of a model that does not bind."""
    if bound is None:
        return seal(Purpose.THINKING, text, chance)
    return seal(Purpose.BOUND_THINKING, text, chance, tail=bound)


def sealed_redacted(chance: Chance, bound: bytes | None) -> str:
    if bound is None:
        return seal(Purpose.REDACTED, "", chance)
    return seal(Purpose.BOUND_REDACTED, "", chance, tail=bound)


def after(bound: bytes, sealed: str) -> bytes:
    """What the next block of the same reply is bound to."""
    parts = _parts(bound)
    return b"".join((*parts[:3], _digest(sealed)))


def dropped(body: JsonObject) -> list[JsonObject]:
    """`input_transformations` of a request that is answered."""
    return [
        {"type": "thinking_dropped", "path": place, "reason": "prefix_binding_mismatch"}
        for place, _ in walk(body).mismatches
    ]


def walk(body: JsonObject) -> Walk:
    """Blocks that do not fit are left out of what later ones are bound to: a block that was made
    after a drop fits as long as the same ones are dropped."""
    found = Walk()
    head = (_digest(body.get("system")), _digest(list(objs(body.get("tools")))))
    messages, seal_before = hashlib.blake2b(digest_size=DIGEST_BYTES // 4), ""
    said = list(objs(body.get("messages")))
    for i, message in enumerate(said):
        kept: list[JsonObject] = []
        bound = b"".join((*head, messages.digest(), _digest(seal_before)))
        for j, block in enumerate(_content(message)):
            sealed = bound_seal(block)
            if sealed is not None and (cause := _cause(tail_of(sealed), bound)) is not None:
                found.mismatches.append((f"messages.{i}.content.{j}", cause))
                continue
            if sealed is not None:
                seal_before, bound = sealed, after(bound, sealed)
            kept.append(block)
        found.digest = bound
        if i + 1 < len(said) or message.get("role") != "assistant":
            # A paused reply goes on inside its message: the rest is bound like its beginning.
            messages.update(_digest([message.get("role"), kept]))
            found.digest = b"".join((*head, messages.digest(), _digest(seal_before)))
    return found


def bound_seal(block: JsonObject) -> str | None:
    """The seal of a bound block; None of all others."""
    match block.get("type"):
        case "thinking":
            sealed, purpose = txt(block.get("signature")), Purpose.BOUND_THINKING
            return sealed if holds(purpose, txt(block.get("thinking")), sealed) else None
        case "redacted_thinking":
            sealed = txt(block.get("data"))
            return sealed if holds(Purpose.BOUND_REDACTED, "", sealed) else None
        case _:
            return None


def beta_missing(call: Call) -> Rejection | None:
    thinking = obj((call.body or {}).get("thinking"))
    kind = txt(thinking.get("type"))
    if "block_binding" not in thinking or _has_beta(call):
        return None
    return _bad(f"thinking.{kind}.block_binding: Extra inputs are not permitted")


def behaviour_unknown(call: Call) -> Rejection | None:
    thinking = obj((call.body or {}).get("thinking"))
    if "block_binding" not in thinking:
        return None
    kind, binding = txt(thinking.get("type")), obj(thinking["block_binding"])
    if kind != "adaptive":
        return _bad(f"thinking.{kind}.block_binding: Extra inputs are not permitted")
    if binding.get("prefix_mismatch_behavior", "error") not in BEHAVIOURS:
        place = "thinking.adaptive.block_binding.prefix_mismatch_behavior"
        return _bad(f"{place}: Input should be 'error' or 'drop_block'")
    return None


def mismatch(call: Call) -> Rejection | None:
    body = call.body or {}
    if not binds(call) or drops(body):
        return None
    for place, cause in walk(body).mismatches:
        return _bad(REFUSED.format(place=place, cause=cause))
    return None


def drops(body: JsonObject) -> bool:
    binding = obj(obj(body.get("thinking")).get("block_binding"))
    return binding.get("prefix_mismatch_behavior") == DROP


def reports(call: Call) -> bool:
    """Whether the reply lists `input_transformations`."""
    return binds(call) and _has_beta(call)


def _has_beta(call: Call) -> bool:
    return BETA in call.headers.get("anthropic-beta", "")


def _bad(message: str) -> Rejection:
    return Rejection(status=400, kind="invalid_request_error", message=message)


def _cause(made: bytes, now: bytes) -> str | None:
    causes = (SYSTEM_DIFFERS, TOOLS_DIFFER, MESSAGES_DIFFER, BLOCK_MISSING)
    for cause, then, here in zip(causes, _parts(made), _parts(now), strict=True):
        if then != here:
            return cause
    return None


def _parts(bound: bytes) -> tuple[bytes, ...]:
    size = DIGEST_BYTES // 4
    return tuple(bound[at : at + size] for at in range(0, DIGEST_BYTES, size))


def _user_texts(body: JsonObject) -> Iterator[str]:
    for message in objs(body.get("messages")):
        if message.get("role") == "user":
            yield from (txt(block.get("text")) for block in _content(message))


def _content(message: JsonObject) -> Iterator[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    yield from objs(content)


def _digest(value: object) -> bytes:
    data = orjson.dumps(_unmarked(value), option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES // 4).digest()


def _unmarked(value: object) -> object:
    """Without marks of the prompt cache, at every depth of the request's own blocks."""
    if is_arr(value):
        return [_unmarked(item) for item in arr(value)]
    if is_obj(value):
        items = obj(value).items()
        return {key: _unmarked(item) for key, item in items if key != "cache_control"}
    return value
