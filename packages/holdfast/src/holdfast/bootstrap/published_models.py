"""What providers offer, for an admin who adds one: vendors, and the models of a provider's list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.providers.discovery import fetched
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.listings import list_request, listed_models
from holdfast.adapters.providers.transport import Transport
from holdfast.admin.catalogue.added import OpenedProvider
from holdfast.bootstrap.added_models import AddedModelBuilder
from holdfast.ports.catalogue import PublishedList, PublishedModel, VendorCard

MODELS_MAX: Final = 2_000
NO_LIST: Final = "This provider publishes no list of models. Add a model by its name."
KEY_UNREADABLE: Final = "The key of the provider cannot be read on this server. Enter it again."


def vendor_cards() -> Sequence[VendorCard]:
    """By title."""
    cards = [
        VendorCard(each.name, each.title, each.base_url, sorted(each.places))
        for each in VENDORS.values()
    ]
    return sorted(cards, key=lambda card: (card.title.lower(), card.name))


@dataclass(frozen=True, slots=True)
class PublishedLists:
    transport: Transport
    builder: AddedModelBuilder

    async def find(self, provider: OpenedProvider) -> PublishedList:
        """Ask the provider for its list. The failure has the provider's own words."""
        if provider.secrets is None:
            return PublishedList((), KEY_UNREADABLE)
        try:
            endpoint = self.builder.endpoint_of(provider)
        except ValueError as error:
            return PublishedList((), f"The settings of the provider are wrong: {error}.")
        request = list_request(endpoint)
        if request is None:
            return PublishedList((), NO_LIST)
        try:
            answer = await fetched(self.transport, request, endpoint)
        except ProviderError as error:
            failure = f"{error.turn_error().sentence} ({error.kind.value}: {error.detail})"
            return PublishedList((), failure)
        found = listed_models(endpoint.wire, answer)
        if not found:
            return PublishedList((), NO_LIST)
        return PublishedList(
            [
                PublishedModel(
                    id=name,
                    context_window=facts.context_window,
                    output_max=facts.output_max,
                    images=facts.images,
                    documents=facts.documents,
                )
                for name, facts in sorted(found.items())[:MODELS_MAX]
            ]
        )
