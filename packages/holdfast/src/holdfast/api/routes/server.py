"""About the server itself: what it is, which models it has, how it is."""

from starlette.responses import Response

from holdfast.admin.settings import ALLOWED_MODELS, WEB_TOOLS_ENABLED, is_allowed
from holdfast.api import server_responses as shapes
from holdfast.api.auth import Asks, TheEdge, TheStranger
from holdfast.api.errors import NotReady
from holdfast.api.presenters import answer, page
from holdfast.api.routes.common import router_for
from holdfast.domain.errors import Unavailable
from holdfast.domain.policy import Action, TargetKind, rule_for
from holdfast.domain.provider_tools import WEB_TOOLS
from holdfast.ports.models import ModelCard
from holdfast.telemetry.metrics import CONTENT_TYPE

router = router_for("server")
health = router_for("health")


@router.get("/models", response_model=shapes.ModelPage)
async def list_models(asks: Asks) -> Response:
    """The models that messages may ask for."""
    allowed = asks.current(ALLOWED_MODELS)
    names = [name for name in asks.models if is_allowed(name, allowed)]
    default = asks.default_model if asks.default_model in names else next(iter(names), None)
    web = asks.current(WEB_TOOLS_ENABLED)
    return page([_model(name, asks.edge.models.card(name), default, web=web) for name in names])


def _model(
    name: str, card: ModelCard | None, default: str | None, *, web: bool
) -> dict[str, object]:
    card = card or ModelCard()
    tools = [tool for tool in card.provider_tools if web or tool not in WEB_TOOLS]
    return {
        "id": name,
        "is_default": name == default,
        "context_window": card.context_window,
        "output_max": card.output_max,
        "efforts": list(card.efforts),
        "images": card.images,
        "provider_tools": tools,
        "web": card.web and web,
        "documents": card.documents,
        "thinking": card.thinks,
        "vendor": card.vendor,
        "simulated": card.simulated,
        "price": None
        if card.price is None
        else {
            "input_micros": card.price.input_micros,
            "output_micros": card.price.output_micros,
        },
        "retires_at": card.retires_at,
    }


@router.get("/version", response_model=shapes.VersionInfo)
async def get_version(edge: TheStranger) -> Response:
    """Of the server."""
    return answer({"version": edge.version, "api": "v1"})


@health.get("/healthz", response_model=shapes.Health)
async def check_liveness() -> Response:
    """This process answers."""
    return answer({"status": "ok"})


@health.get("/readyz", response_model=shapes.Health)
async def check_readiness(edge: TheEdge) -> Response:
    """The database can be read and written, and this replica is not about to stop; else
    `unavailable`."""
    edge.chats.hub.check_open()
    try:
        await edge.chats.history.heads(())
        if edge.check_writable is not None:
            await edge.check_writable()
    except Unavailable as error:
        raise NotReady(error) from error
    return answer({"status": "ok"})


@health.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def get_metrics(asks: Asks) -> Response:
    """For Prometheus, with an admin's key: the numbers are of all organisations. The port of
    `HOLDFAST_METRICS_PORT` asks for none."""
    rule_for(asks.who, Action.READ, TargetKind.AUDIT)
    return Response(asks.edge.metrics(), media_type=CONTENT_TYPE)
