# Made of holdfast_client/aio/chat_parts.py by scripts/generate_sync.py. Do not edit.
"""What belongs to a chat: its messages and its queue."""

from collections.abc import Generator
from contextlib import closing
from typing import Literal

from holdfast_client import models
from holdfast_client.sync.http import Http


class Messages:
    def __init__(self, http: Http, chat_id: str) -> None:
        self._http = http
        self._path = f"chats/{chat_id}/messages"

    def list(
        self,
        *,
        order: Literal["asc", "desc"] = "desc",
        limit: int | None = None,
        before_seq: int | None = None,
        version: int | None = None,
    ) -> Generator[models.Message]:
        """All messages, page by page as they are taken. `order`: `asc` from the first one on,
        `desc` from the newest one back. `limit`: at most so many. `before_seq`: those before this
        one. `version`: the history as it was then."""
        found = self._http.pages(
            self._path, limit, order=order, before_seq=before_seq, version=version
        )
        with closing(found) as pages:
            for page in pages:
                for each in page if order == "asc" else reversed(page):
                    yield models.Message.model_validate(each)

    def retrieve(self, seq: int) -> models.Message:
        return models.Message.model_validate(self._http.get(f"{self._path}/{seq}"))


class Queue:
    """Messages that wait until the chat is free."""

    def __init__(self, http: Http, chat_id: str) -> None:
        self._http = http
        self._path = f"chats/{chat_id}/queue"

    def list(self) -> list[models.QueuedMessage]:
        found = self._http.get(self._path)
        return [models.QueuedMessage.model_validate(each) for each in found["data"]]

    def is_paused(self) -> bool:
        """Whether an interrupt has paused the queue."""
        found = self._http.get(self._path)
        return bool(found["paused"])

    def resume(self, *, idempotency_key: str | None = None) -> models.Receipt:
        """Let a paused queue go on: a chat at rest begins with its first message."""
        done = self._http.change("POST", f"{self._path}/resume", key=idempotency_key)
        return models.Receipt.model_validate(done)

    def clear(self, *, idempotency_key: str | None = None) -> models.Receipt:
        """Remove every message that waits."""
        done = self._http.change("DELETE", self._path, key=idempotency_key)
        return models.Receipt.model_validate(done)

    def delete(self, queued_id: int, *, idempotency_key: str | None = None) -> models.QueuedMessage:
        """Take a message out of the queue and return it: of two callers one gets it, and the other
        `NotFoundError`."""
        removed = self._http.change("DELETE", f"{self._path}/{queued_id}", key=idempotency_key)
        return models.QueuedMessage.model_validate(removed)

    def move(
        self, queued_id: int, *, before_id: int | None, idempotency_key: str | None = None
    ) -> models.Receipt:
        """Before another one; None: to the end."""
        done = self._http.change(
            "PATCH", f"{self._path}/{queued_id}", {"before_id": before_id}, idempotency_key
        )
        return models.Receipt.model_validate(done)

    def send_now(self, queued_id: int, *, idempotency_key: str | None = None) -> models.Receipt:
        """Stop the turn that runs, and send this message."""
        done = self._http.change("POST", f"{self._path}/{queued_id}/send-now", key=idempotency_key)
        return models.Receipt.model_validate(done)
