# Made of holdfast_client/aio/workspace.py by scripts/generate_sync.py. Do not edit.
"""The workspace of a chat: a place with files and processes."""

from collections.abc import Mapping
from typing import Any

from holdfast_client import models
from holdfast_client.errors import NotFoundError, WaitTimeoutError
from holdfast_client.patience import Patience
from holdfast_client.sync.http import Http

START_S = 300.0


class Workspace:
    def __init__(self, http: Http, chat_id: str) -> None:
        self._http = http
        self._path = f"chats/{chat_id}/workspace"

    def retrieve(self) -> models.Workspace | None:
        """None: the chat has none."""
        try:
            found = self._http.get(self._path)
        except NotFoundError as error:
            if error.code != "workspace_not_found":
                raise
            return None
        return models.Workspace.model_validate(found)

    def create(
        self,
        template: str | None = None,
        *,
        ttl_seconds: int | None = None,
        timeout: float | None = START_S,
    ) -> models.Workspace:
        """One that runs: created, started, or already there. Raises `WaitTimeoutError`."""
        body = {"template": template, "ttl_seconds": ttl_seconds}
        return self._settled("PUT", "", body, timeout)

    def start(self, *, timeout: float | None = START_S) -> models.Workspace:
        return self._settled("POST", "/start", None, timeout)

    def stop(self, *, timeout: float | None = START_S) -> models.Workspace:
        """Its files stay."""
        return self._settled("POST", "/stop", None, timeout)

    def delete(self) -> models.Workspace:
        """With everything in it."""
        return models.Workspace.model_validate(self._http.delete(self._path))

    def _settled(
        self, method: str, action: str, body: Mapping[str, Any] | None, timeout: float | None
    ) -> models.Workspace:
        """The server waits a few seconds per request; asking again is the same as asking once."""
        patience = Patience(timeout)
        while True:
            said = self._http.change(method, self._path + action, body)
            workspace = models.Workspace.model_validate(said)
            if workspace.is_settled:
                return workspace
            if patience.is_over:
                raise WaitTimeoutError("The workspace is not ready in time; work on it continues.")
