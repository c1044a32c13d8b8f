"""Checks of the fallback models in the settings."""

from collections.abc import Iterator, Mapping, Sequence

from holdfast.settings.models import ModelSettings


def wrong_fallbacks(models: Sequence[ModelSettings]) -> Iterator[str]:
    """What is wrong with the `fallback` of these models, a sentence each."""
    lists = {model.name: model.fallback for model in models}
    for name, fallback in lists.items():
        said = f"the fallback of {name!r}"
        if unknown := sorted(set(fallback) - lists.keys()):
            yield f"{said} names {', '.join(unknown)}, which no model is named."
        if name in fallback:
            yield f"{said} names the model itself."
        if len(set(fallback)) < len(fallback):
            yield f"{said} names a model twice."
    for loop in _loops(lists):
        yield f"the fallbacks of {' and '.join(loop)} lead back to {loop[0]}: remove one of them."


def _loops(lists: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Each loop of two models or more once, from the first model of the settings on."""
    told: set[frozenset[str]] = set()
    for start in lists:
        paths: list[tuple[str, ...]] = [(start,)]
        seen = {start}
        while paths:
            path = paths.pop()
            for following in lists.get(path[-1], ()):
                if following == start and len(path) > 1 and frozenset(path) not in told:
                    told.add(frozenset(path))
                    yield path
                if following not in seen:
                    seen.add(following)
                    paths.append((*path, following))
