"""The file with models and their providers, and how models and providers fit together."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from holdfast.settings.fallback import wrong_fallbacks
from holdfast.settings.models import ModelSettings
from holdfast.settings.providers import FORBID, ProviderSettings, with_key
from holdfast.settings.wrong import WrongSettings, env_name, sentences_of

T = TypeVar("T")


class ModelsFile(BaseModel):
    """A file may also be the list of models alone."""

    model_config = FORBID

    providers: tuple[ProviderSettings, ...] = ()
    models: tuple[ModelSettings, ...] = ()


_LIST: Final = TypeAdapter(tuple[ModelSettings, ...])
_OBJECT: Final = TypeAdapter(ModelsFile)


def models_in(path: Path) -> ModelsFile:
    """Raises `WrongSettings`."""
    name = env_name("models_file")
    given = file_bytes(path, name)
    if given.lstrip().startswith(b"{"):
        return parsed(_OBJECT, given, name)
    return ModelsFile(models=parsed(_LIST, given, name))


def file_bytes(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongSettings(f"{name}: {path} cannot be read: {error.strerror}.") from None


def parsed(adapter: TypeAdapter[T], given: bytes, name: str) -> T:
    try:
        return adapter.validate_json(given)
    except ValidationError as error:
        raise WrongSettings(*(f"{name}: {said}" for said in sentences_of(error, ""))) from None


def with_keys(providers: Sequence[ProviderSettings]) -> tuple[ProviderSettings, ...]:
    """The providers with the keys of their files and variables; raises `WrongSettings`."""
    found: list[ProviderSettings] = []
    wrong: list[str] = []
    for provider in providers:
        try:
            found.append(with_key(provider))
        except ValueError as error:
            wrong.append(f"{env_name('providers')} ({provider.name}): {error}.")
    if wrong:
        raise WrongSettings(*wrong)
    return tuple(found)


def wrong_models(
    providers: Sequence[ProviderSettings], models: Sequence[ModelSettings], default: str
) -> Iterator[str]:
    """A sentence for each thing that does not fit together."""
    names = [model.name for model in models]
    known = {provider.name for provider in providers}
    if doubled := _doubled(provider.name for provider in providers):
        yield f"{env_name('providers')}: two providers are named {', '.join(doubled)}."
    if doubled := _doubled(names):
        yield f"{env_name('models')}: two models are named {', '.join(doubled)}."
    for said in wrong_fallbacks(models):
        yield f"{env_name('models')}: {said}"
    for model in models:
        if model.provider and model.provider not in known:
            yield (
                f"{env_name('models')} ({model.name}): no provider is named {model.provider!r};"
                f" there are {', '.join(sorted(known)) or 'none'}."
            )
    if default and default not in names:
        yield (
            f"{env_name('default_model')} names {default!r}, which is not among the"
            f" models of {env_name('models')} ({', '.join(names) or 'none'})."
        )


def _doubled(names: Iterable[str]) -> list[str]:
    listed = list(names)
    return sorted({name for name in listed if listed.count(name) > 1})
