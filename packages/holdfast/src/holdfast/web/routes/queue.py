"""What waits in the queue: take it out, delete it, move it, or say it now."""

from starlette.responses import Response

from holdfast.chats import queue
from holdfast.domain.events import parts_json
from holdfast.domain.ids import ChatId, QueuedId
from holdfast.web import bodies, shapes
from holdfast.web.answers import answer, committed
from holdfast.web.auth import Asks, ByKey
from holdfast.web.routes.common import ChatIdInPath, NumberInPath, router_for

router = router_for("queue")


@router.post("/chats/{chat_id}/queue/{queued_id}/take", response_model=shapes.Taken)
async def take(chat_id: ChatIdInPath, queued_id: NumberInPath, asks: Asks, key: ByKey) -> Response:
    """Take a message out and give it back, to be edited: only one of two takers gets it."""
    chats = asks.edge.chats
    body = await queue.take(
        chats.ledger,
        chats.history,
        asks.driver,
        ChatId(chat_id),
        QueuedId(queued_id),
        keyed=key,
    )
    return answer({"parts": parts_json(body), "model": body.model, "effort": body.effort})


@router.delete("/chats/{chat_id}/queue/{queued_id}", response_model=shapes.Committed)
async def delete(
    chat_id: ChatIdInPath, queued_id: NumberInPath, asks: Asks, key: ByKey
) -> Response:
    """Delete a message that waits."""
    ledger = asks.edge.chats.ledger
    return committed(
        await queue.delete(ledger, asks.driver, ChatId(chat_id), QueuedId(queued_id), keyed=key)
    )


@router.put("/chats/{chat_id}/queue/{queued_id}/place", response_model=shapes.Committed)
async def move(
    chat_id: ChatIdInPath, queued_id: NumberInPath, body: bodies.Moving, asks: Asks, key: ByKey
) -> Response:
    """Place a message that waits before another."""
    commit = await queue.move(
        asks.edge.chats.ledger,
        asks.driver,
        ChatId(chat_id),
        QueuedId(queued_id),
        before=None if body.before is None else QueuedId(body.before),
        keyed=key,
    )
    return committed(commit)


@router.post("/chats/{chat_id}/queue/{queued_id}/promote", response_model=shapes.Committed)
async def promote(
    chat_id: ChatIdInPath, queued_id: NumberInPath, asks: Asks, key: ByKey
) -> Response:
    """Say this one now, before the others and before the present turn ends by itself."""
    ledger = asks.edge.chats.ledger
    return committed(
        await queue.promote(ledger, asks.driver, ChatId(chat_id), QueuedId(queued_id), keyed=key)
    )
