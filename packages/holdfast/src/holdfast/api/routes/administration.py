"""What admins look at and do beside settings: the state of the server, people, approval rules."""

from typing import Annotated, Any, Final

from fastapi import Query, Request
from starlette.responses import Response

from holdfast.admin.settings import APPROVALS
from holdfast.api import account_responses
from holdfast.api import admin_shapes as shapes
from holdfast.api.auth import Asks, Caller, TheStranger, by_browser, from_own_page, visitor_of
from holdfast.api.cursors import cut_page, encode_cursor, user_place
from holdfast.api.errors import OriginRefused
from holdfast.api.presenters import answer, nothing, page, user_json
from holdfast.api.routes.common import (
    Cursor,
    Limit,
    ProviderIdInPath,
    UserIdInPath,
    router_for,
)
from holdfast.api.routes.credentials import set_sign_in
from holdfast.domain.approvals import Judgement, Policy, policy_to_json, strictest
from holdfast.domain.ids import UserId
from holdfast.domain.policy import Action, TargetKind, rule_for
from holdfast.ports.people import Person, ServerLoad

router = router_for("organization")
accounts = router_for("auth")

SERVER: Final = "server"
ORGANIZATION: Final = "organization"


@router.get("/organization/overview", response_model=shapes.Overview)
async def get_overview(asks: Asks) -> Response:
    """What the server found about itself, its workers, and what waits; for admins."""
    load = await asks.edge.identity.people.load(asks.who)
    cards = [asks.edge.models.card(name) for name in asks.models]
    return answer(
        {
            "version": asks.edge.version,
            "checks": _checks(asks, load),
            "workers": [
                {
                    "name": each.name,
                    "started_at": each.started_at,
                    "is_alive": each.is_alive,
                    "chats": each.chats,
                }
                for each in load.workers
            ],
            "chats": {
                "driven": load.driven,
                "waiting": load.waiting,
                "oldest_waiting_seconds": None
                if load.oldest_s is None
                else max(0, round(load.oldest_s)),
                "awaiting": load.awaiting,
            },
            "users": load.users,
            "models": len(cards),
            "has_real_model": any(card is None or not card.simulated for card in cards),
        }
    )


def _checks(asks: Caller, load: ServerLoad) -> list[dict[str, Any]]:
    alive = sum(each.is_alive for each in load.workers)
    models = len(asks.models)
    secrets = asks.edge.added.vault.is_on
    return [
        _check("database", "The database answers."),
        _check("workers", f"{_count(alive, 'worker')} with a valid lease.", ok=alive > 0)
        if alive
        else _check("workers", "No worker runs: no chat gets an answer.", ok=False),
        _check("models", f"{_count(models, 'model')} can answer.")
        if models
        else _check("models", "No model can answer. Add a provider and a model.", ok=False),
        _check("secrets", "Keys of providers are stored encrypted.")
        if secrets
        else _check(
            "secrets",
            "No master key is set: keys of providers cannot be stored. Set"
            " HOLDFAST_MASTER_KEY_FILE on the server.",
            ok=False,
        ),
    ]


def _check(name: str, detail: str, *, ok: bool = True) -> dict[str, Any]:
    return {"name": name, "ok": ok, "detail": detail}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# People.


@router.get("/organization/users", response_model=shapes.OrganizationUserPage)
async def list_organization_users(
    asks: Asks,
    q: Annotated[
        str | None,
        Query(max_length=200, description="Words, each of them in the name or the e-mail."),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The users of the organisation by name, with what only admins see of them."""
    people = asks.edge.identity.people
    found = await people.page(asks.who, limit=limit + 1, after=user_place(cursor), search=q)
    shown, last = cut_page(found, limit)
    following = None if last is None else encode_cursor(str(last.user.user_id), last.user.name)
    return page([_person_json(each) for each in shown], following)


@router.post("/users/{user_id}/link", status_code=201, response_model=shapes.AccountLink)
async def create_account_link(user_id: UserIdInPath, asks: Asks) -> Response:
    """A link by which the user sets a password and is signed in: an invitation, or help after a
    lost password. It is valid once, for seven days, and ends an earlier link of the user."""
    rule_for(asks.who, Action.ADMINISTER, TargetKind.USER)
    user = await asks.edge.identity.accounts.find(asks.who, UserId(user_id))
    made = await asks.edge.identity.people.create_link(asks.who, user)
    return answer(
        {"token": made.token, "expires_at": made.expires_at, "user": user_json(user)}, 201
    )


@router.delete("/users/{user_id}/sessions", status_code=204)
async def revoke_user_sessions(user_id: UserIdInPath, asks: Asks) -> Response:
    """Sign the user out of every browser, but that of the request. API keys stay valid."""
    rule_for(asks.who, Action.ADMINISTER, TargetKind.USER)
    user = await asks.edge.identity.accounts.find(asks.who, UserId(user_id))
    await asks.edge.identity.people.end_sessions(asks.who, user)
    return nothing()


@accounts.post("/sessions/by-account-link", status_code=201, response_model=account_responses.User)
async def create_session_by_account_link(
    body: shapes.UseAccountLink, edge: TheStranger, request: Request
) -> Response:
    """By the link that an admin made: sets the password, ends every other session and every API key
    of the user, and sets a cookie."""
    if by_browser(request) and not from_own_page(edge, request):
        raise OriginRefused
    opened = await edge.identity.people.use_link(body.token, body.password, visitor_of(request))
    response = answer(user_json(opened.user), 201)
    set_sign_in(response, edge, opened)
    return response


def _person_json(person: Person) -> dict[str, Any]:
    return {
        **user_json(person.user),
        "last_seen_at": person.seen_at,
        "session_count": person.sessions,
        "api_key_count": person.api_keys,
        "link_expires_at": person.link_expires_at,
    }


# What providers offer.


@router.get("/organization/vendors", response_model=shapes.VendorPage)
async def list_vendors(asks: Asks) -> Response:
    """The vendors that a provider can name; for admins."""
    rule_for(asks.who, Action.READ, TargetKind.SETTINGS)
    return page(
        [
            {
                "name": each.name,
                "title": each.title,
                "base_url": each.base_url,
                "values": list(each.values),
            }
            for each in asks.edge.vendors
        ]
    )


@router.post(
    "/organization/providers/{provider_id}/discover", response_model=shapes.DiscoveredModelPage
)
async def discover_models(provider_id: ProviderIdInPath, asks: Asks) -> Response:
    """Ask the provider for its list of models, and change nothing."""
    rule_for(asks.who, Action.CHANGE, TargetKind.SETTINGS)
    there = await asks.edge.catalogue.find(asks.who)
    row = await asks.edge.catalogue.find_provider(asks.who, provider_id)
    found = await asks.edge.list_models(await asks.edge.added.opened(row))
    added = {
        str(each.record.get("model") or each.name)
        for each in there.models
        if each.provider_id == provider_id
    }
    told = [
        {
            "id": each.id,
            "is_added": each.id in added,
            "context_window": each.context_window,
            "output_max": each.output_max,
            "images": each.images,
            "documents": each.documents,
        }
        for each in found.models
    ]
    return answer({"data": told, "next_cursor": None, "failure": found.failure})


# Approval rules.


@router.get("/organization/approvals", response_model=shapes.ServerApprovals)
async def get_approvals(asks: Asks) -> Response:
    """The approval rules of the server and of the organisation. Those of the organisation are
    changed with its settings."""
    rule_for(asks.who, Action.READ, TargetKind.SETTINGS)
    return answer({name: policy_to_json(each) for name, each in _policies(asks).items()})


@router.post("/organization/approvals/try", response_model=shapes.TriedApprovals)
async def try_approvals(body: shapes.TryApprovals, asks: Asks) -> Response:
    """Which rule decides about a call. Nothing is run, and no rule is changed."""
    rule_for(asks.who, Action.READ, TargetKind.SETTINGS)
    policies = _policies(asks)
    if body.approvals is not None:
        policies[ORGANIZATION] = body.approvals
    judged = {
        source: policy.judge(body.tool, body.arguments, whose=source)
        for source, policy in policies.items()
    }
    decisive = strictest(judged.values())
    decided_by = next(source for source, each in judged.items() if each is decisive)
    return answer(
        {
            "action": decisive.verdict,
            "decided_by": decided_by,
            "judgements": [
                _judged_json(source, policies[source], each) for source, each in judged.items()
            ],
        }
    )


def _policies(asks: Caller) -> dict[str, Policy]:
    """The server's first: of equal verdicts the first decides."""
    return {SERVER: asks.edge.approvals, ORGANIZATION: asks.current(APPROVALS)}


def _judged_json(source: str, policy: Policy, judgement: Judgement) -> dict[str, Any]:
    number = judgement.rule
    rules: Any = policy_to_json(policy)["rules"]
    return {
        "source": source,
        "action": judgement.verdict,
        "rule_number": number,
        "rule": None if number is None else rules[number - 1],
    }
