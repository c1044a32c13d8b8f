"""The queue of a chat: list it, remove a message, move it, or send it now; resume or clear it."""

from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey
from holdfast.api.presenters import answer, committed
from holdfast.api.routes.common import ChatIdInPath, NumberInPath, router_for
from holdfast.chats import listing, queue
from holdfast.domain.errors import ChatNotFound
from holdfast.domain.events import queued_json, removed_json
from holdfast.domain.ids import ChatId, QueuedId

router = router_for("queue")


@router.get("/chats/{chat_id}/queue", response_model=shapes.QueuePage)
async def list_queued_messages(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """The messages that wait for the turn to end, next one first. A queue is one page."""
    await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    loaded = await asks.edge.chats.store.load(ChatId(chat_id))
    if loaded is None:
        raise ChatNotFound(ChatId(chat_id))  # deleted between two statements
    chat = loaded.facts.chat
    waiting = [queued_json(each) for each in chat.queue]
    return answer({"data": waiting, "next_cursor": None, "paused": chat.queue_paused})


@router.delete("/chats/{chat_id}/queue", response_model=shapes.Receipt)
async def clear_queue(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Remove every message that waits. It is no error if none does."""
    ledger = asks.edge.chats.ledger
    return committed(await queue.clear(ledger, asks.driver, ChatId(chat_id), keyed=key))


@router.post("/chats/{chat_id}/queue/resume", status_code=202, response_model=shapes.Receipt)
async def resume_queue(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Resume the queue that an interrupt has paused: a chat at rest begins with its first message.
    It is no error if the queue is not paused."""
    ledger = asks.edge.chats.ledger
    return committed(await queue.resume(ledger, asks.driver, ChatId(chat_id), keyed=key), 202)


@router.delete("/chats/{chat_id}/queue/{queued_id}", response_model=shapes.QueuedMessage)
async def delete_queued_message(
    chat_id: ChatIdInPath, queued_id: NumberInPath, asks: Asks, key: ByKey
) -> Response:
    """Remove a message that waits, and return the whole of it. Of two callers one gets it, and the
    other `queued_message_not_found`."""
    chats = asks.edge.chats
    body = await queue.take(
        chats.ledger,
        chats.history,
        asks.driver,
        ChatId(chat_id),
        QueuedId(queued_id),
        keyed=key,
    )
    return answer(removed_json(QueuedId(queued_id), body))


@router.patch("/chats/{chat_id}/queue/{queued_id}", response_model=shapes.Receipt)
async def update_queued_message(
    chat_id: ChatIdInPath,
    queued_id: NumberInPath,
    body: bodies.UpdateQueuedMessage,
    asks: Asks,
    key: ByKey,
) -> Response:
    """Place a message that waits before another."""
    commit = await queue.move(
        asks.edge.chats.ledger,
        asks.driver,
        ChatId(chat_id),
        QueuedId(queued_id),
        before=None if body.before_id is None else QueuedId(body.before_id),
        keyed=key,
    )
    return committed(commit)


@router.post(
    "/chats/{chat_id}/queue/{queued_id}/send-now", status_code=202, response_model=shapes.Receipt
)
async def send_queued_message(
    chat_id: ChatIdInPath, queued_id: NumberInPath, asks: Asks, key: ByKey
) -> Response:
    """Send this message before the others; a turn that runs is interrupted."""
    ledger = asks.edge.chats.ledger
    commit = await queue.promote(
        ledger, asks.driver, ChatId(chat_id), QueuedId(queued_id), keyed=key
    )
    return committed(commit, 202)
