"""Settings of what is known of models: where limits, abilities and prices come from."""

from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field

DiscoverModels: TypeAlias = Annotated[
    bool,
    Field(
        description="Whether the server reads the providers' lists of models at its start and once"
        " a day: limits, efforts, images, prices and retirement dates. What a model's own"
        " settings say comes first.",
    ),
]
PricesFile: TypeAlias = Annotated[
    Path | None,
    Field(
        description="File with the prices of models, as genai-prices publishes it (`data.json`)."
        " It replaces the list that is installed. Empty: the installed list.",
    ),
]
