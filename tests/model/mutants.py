"""Named mutants: each takes one protection away. A test that misses one is worth nothing."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, LiteralString, cast

import pytest

from holdfast.adapters.postgres import leases as leases_module
from holdfast.adapters.postgres import org_settings as org_settings_module
from holdfast.adapters.postgres import store as store_module
from holdfast.adapters.postgres.commits import CommitForm
from holdfast.adapters.postgres.queries import Query
from holdfast.chats import answer as answer_module
from holdfast.chats.changes import ChangeRequest, Commit
from holdfast.domain import driving, people
from holdfast.domain.chat import Chat, Status
from holdfast.domain.draft import Draft
from holdfast.domain.errors import FenceStale
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, QueuedId
from holdfast.domain.outcome import Fate
from holdfast.domain.parts import JsonValue, Synthetic
from holdfast.ports.store import Loaded
from holdfast.worker.local_dispatch import LocalDispatch
from tests.model import advice, compaction_mutants, planning

Mutant = Callable[[pytest.MonkeyPatch], None]


def change_statement(
    patch: pytest.MonkeyPatch, module: Any, name: str, old: LiteralString, new: LiteralString
) -> None:
    query = cast(Query, getattr(module, name))
    assert query.source.count(old) == 1, f"{name} has changed: {old!r} stands there no longer"
    patch.setattr(module, name, Query.compile(query.source.replace(old, new)))


def change_commit(patch: pytest.MonkeyPatch, old: LiteralString, new: LiteralString) -> None:
    """Change every form of the commit that contains this text."""
    intact = store_module.commit_query
    found = {intact(form).source.count(old) for form in CommitForm}
    assert found in ({1}, {0, 1}), f"the commit has changed: {old!r} is no longer there"

    def changed(form: CommitForm) -> Query:
        return Query.compile(intact(form).source.replace(old, new))

    patch.setattr(store_module, "commit_query", cache(changed))


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """A worker that was taken over may go on writing."""
    old = "(:fence_worker::uuid is null or (worker_id = :fence_worker and epoch = :fence_epoch))"
    new = "(:fence_worker::uuid is null or :fence_epoch::bigint is not null)"
    change_commit(patch, old, new)

    def check(fence: Fence, chat: Chat) -> None:
        if chat.history_version != fence.history_version:
            raise FenceStale("history moved")

    patch.setattr(Fence, "check", check)


def no_history_version(patch: pytest.MonkeyPatch) -> None:
    """The rightful worker may answer a history that an edit has replaced."""

    def check(fence: Fence, chat: Chat) -> None:
        if (chat.worker_id, chat.epoch) != (fence.worker_id, fence.epoch):
            raise FenceStale("taken over")

    patch.setattr(Fence, "check", check)


def no_idempotency_key(patch: pytest.MonkeyPatch) -> None:
    """A repeat is taken for a new request."""
    transact = LocalDispatch.transact

    async def keyless(self: LocalDispatch, chat_id: ChatId, request: ChangeRequest) -> Commit:
        return await transact(self, chat_id, replace(request, key=None))

    patch.setattr(LocalDispatch, "transact", keyless)


def receipt_not_read(patch: pytest.MonkeyPatch) -> None:
    """Keys are written down, but no decision looks at them: only the constraint is left."""
    load = store_module.PostgresStore.load

    async def forgetful(self: Any, *args: Any, **kwargs: Any) -> Loaded | None:
        loaded = await load(self, *args, **kwargs)
        return None if loaded is None else replace(loaded, receipt=None)

    patch.setattr(store_module.PostgresStore, "load", forgetful)


def no_receipt_without_a_change(patch: pytest.MonkeyPatch) -> None:
    """A request that changed nothing leaves no receipt: its repeat is a new request."""

    async def keep_receipt(_self: Any, *_args: Any) -> bool:
        return True

    patch.setattr(store_module.PostgresStore, "keep_receipt", keep_receipt)


def no_expected_version(patch: pytest.MonkeyPatch) -> None:
    """A decision on old facts overwrites what came meanwhile."""
    old, new = "version = :expected_version\n", "version >= :expected_version\n"
    change_commit(patch, old, new)
    # The stamp beside the version refuses such a decision as well.
    change_commit(patch, "stamp = :expected_stamp\n", ":expected_stamp::bigint is not null\n")


def owner_from_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A commit of a person's writes the owner that it saw, not the one there is."""
    old = "case when not :releases then worker_id end"
    new = "case when not :releases then :fence_worker::uuid end"
    change_commit(patch, old, new)


def lost_synthetic_result(patch: pytest.MonkeyPatch) -> None:
    """A call that will never be answered stays without a result."""

    def close_calls(draft: Draft, reason: Synthetic, only: Any = None) -> None:
        draft.set(open_calls=())

    patch.setattr(Draft, "close_calls", close_calls)


def queue_promoted_twice(patch: pytest.MonkeyPatch) -> None:
    """A promoted message stays in the queue."""

    def promote(draft: Draft, queued_id: QueuedId, **kwargs: Any) -> None:
        head = draft.find_queued(queued_id).head
        draft.append_user(replace(head, parts=()), promoted=queued_id, **kwargs)

    patch.setattr(Draft, "promote", promote)


def queue_dropped_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """A turn ends idle although messages wait."""

    def end_turn(draft: Draft) -> None:
        for queued in draft.chat.queue:
            draft.leave_queue(queued.queued_id, Fate.PROMOTED)
        draft.release(driving.Status.IDLE)

    patch.setattr(Draft, "end_turn", end_turn)


def stop_pauses_nothing(patch: pytest.MonkeyPatch) -> None:
    """The next message of the queue begins after a stop."""
    patch.setattr(Draft, "pause_queue", lambda _draft: None)  # type: ignore[misc]


def stop_leaves_send_now(patch: pytest.MonkeyPatch) -> None:
    """A message that was to be sent at once begins although a stop came after it."""

    def pause(draft: Draft) -> None:
        if draft.chat.queue:
            draft.set(queue_paused=True, queue_version=draft.version)

    patch.setattr(Draft, "pause_queue", pause)


def edit_hides_too_little(patch: pytest.MonkeyPatch) -> None:
    """The edited message itself stays in the history."""
    old = "messages.seq between :hidden_from and"
    change_commit(patch, old, "messages.seq between :hidden_from + 1 and")


def steals_from_the_living(patch: pytest.MonkeyPatch) -> None:
    """A lease that has not lapsed protects no worker."""
    lapsed = "w.lease_until <= clock_timestamp()"
    source = leases_module.ACQUIRE.source
    assert lapsed in source
    query = Query.compile(source.replace(lapsed, f"{lapsed} + interval '1 h'"))
    patch.setattr(leases_module, "ACQUIRE", query)


def epoch_stands_still(patch: pytest.MonkeyPatch) -> None:
    """The worker that acquires is not told apart from the one that held the chat before."""
    change_statement(patch, leases_module, "ACQUIRE", "epoch = c.epoch + 1", "epoch = c.epoch")


def release_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A turn ends and its worker still owns the chat."""
    old = "case when not :releases then worker_id end"
    change_commit(patch, old, "case when not :releases or true then worker_id end")


def results_of_others_accepted(patch: pytest.MonkeyPatch) -> None:
    """An edit leaves the calls of the history it hides open."""
    hide_from = Draft.hide_from

    def keeps_calls(draft: Draft, seq: Any) -> None:
        calls = draft.chat.open_calls
        hide_from(draft, seq)
        draft.set(open_calls=calls)

    patch.setattr(Draft, "hide_from", keeps_calls)


def edit_keeps_the_queue(patch: pytest.MonkeyPatch) -> None:
    """Messages that answered the old history wait on for the new one."""
    clear = Draft.clear_queue
    edit = people.edit_message

    def keeps_queue(draft: Draft, command: Any, now: Any) -> None:
        patch.setattr(Draft, "clear_queue", lambda _draft: None)  # type: ignore[misc]
        try:
            edit(draft, command, now)
        finally:
            patch.setattr(Draft, "clear_queue", clear)

    patch.setattr(people, "edit_message", keeps_queue)


def stop_while_awaiting_goes_on(patch: pytest.MonkeyPatch) -> None:
    """Stop cancels the calls that wait, and the model is asked again (before ADR 0038)."""
    interrupt = people.interrupt

    def goes_on(draft: Draft, command: Any, now: Any) -> None:
        if draft.chat.status is not Status.AWAITING:
            interrupt(draft, command, now)
            return
        draft.close_calls(Synthetic.INTERRUPTED)
        draft.resume()

    patch.setattr(people, "interrupt", goes_on)


def interrupt_ignores_turn_seq(patch: pytest.MonkeyPatch) -> None:
    """A stop that comes after its turn stops the next one."""
    interrupt = people.interrupt

    def stops_any(draft: Draft, command: Any, now: Any) -> None:
        interrupt(draft, replace(command, turn_seq=None), now)

    patch.setattr(people, "interrupt", stops_any)


def retry_ignores_turn_seq(patch: pytest.MonkeyPatch) -> None:
    """A retry that comes after its turn retries the next one."""
    retry = people.retry

    def retries_any(draft: Draft, command: Any, now: Any) -> None:
        retry(draft, replace(command, turn_seq=None), now)

    patch.setattr(people, "retry", retries_any)


def queued_id_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A promoted message does not say where it waited: a receipt leads nowhere."""
    change_commit(patch, ":p_seq, q.id, q.client_key", ":p_seq, null::bigint, q.client_key")


def mode_of_queued_message_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A promoted message does not say in which mode its turn was."""
    old = "q.model, q.effort, q.web, q.plan_mode, q.author_id,\n        statement_timestamp()"
    new = "q.model, q.effort, q.web, null::boolean, q.author_id,\n        statement_timestamp()"
    change_commit(patch, old, new)


def client_result_stored_uncut(patch: pytest.MonkeyPatch) -> None:
    """A client's result is stored as long as it came (B8)."""

    def uncut(value: JsonValue, _limit_bytes: int) -> tuple[JsonValue, bool]:
        return value, False

    patch.setattr(answer_module, "fitted", uncut)


def no_settings_fence(patch: pytest.MonkeyPatch) -> None:
    """An attempt begins in a process that does not know what admins have forbidden."""
    change_commit(
        patch, ":begins_under::bigint is null\n", ":begins_under::bigint is not null or true\n"
    )


def settings_fence_not_set(patch: pytest.MonkeyPatch) -> None:
    """A hard stop is stored as any other change: nothing is compared with it."""
    _change_counting(patch, "where :stops::boolean", "where not :stops::boolean")


def settings_generation_stands_still(patch: pytest.MonkeyPatch) -> None:
    """A change has the number of the change before it: a process takes it for known."""
    _change_counting(patch, "do update set n = g.n + 1", "do update set n = g.n")


def _change_counting(patch: pytest.MonkeyPatch, old: LiteralString, new: LiteralString) -> None:
    intact = org_settings_module.counted_if

    def changed(*change: Any) -> Query:
        source = intact(*change).source
        assert source.count(old) == 1, f"the statement has changed: {old!r} is no longer there"
        return Query.compile(source.replace(old, new))

    patch.setattr(org_settings_module, "counted_if", cache(changed))


MUTANTS: dict[str, Mutant] = {
    mutant.__name__: mutant
    for mutant in (
        no_fence,
        no_history_version,
        no_idempotency_key,
        receipt_not_read,
        no_receipt_without_a_change,
        no_expected_version,
        owner_from_snapshot,
        lost_synthetic_result,
        queue_promoted_twice,
        queue_dropped_at_the_end,
        stop_pauses_nothing,
        stop_leaves_send_now,
        edit_hides_too_little,
        edit_keeps_the_queue,
        results_of_others_accepted,
        stop_while_awaiting_goes_on,
        interrupt_ignores_turn_seq,
        retry_ignores_turn_seq,
        queued_id_forgotten,
        client_result_stored_uncut,
        steals_from_the_living,
        epoch_stands_still,
        release_forgotten,
        no_settings_fence,
        settings_fence_not_set,
        settings_generation_stands_still,
        *compaction_mutants.MUTANTS,
        *advice.MUTANTS,
        *planning.MUTANTS,
        mode_of_queued_message_not_stored,
    )
}
