"""The models of the settings in a registry, and their file read again while the server runs.

A change of the file is noticed by its time, size and inode, which are looked at every few seconds;
SIGHUP reads the file at once, and the keys that it names. A file that is wrong changes nothing.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.adapters.providers.discovery import keep_discovering
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.transport import Transport
from holdfast.bootstrap.background import beside
from holdfast.bootstrap.options import default_model, model_configs
from holdfast.settings import Settings, WrongSettings, reread_models
from holdfast.telemetry.logs import LEARNED
from holdfast.telemetry.metrics import Metrics, numbers_of

LOOK_EVERY_S: Final = 5.0
_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class ReloadCounters:
    reloads: int = 0
    refused: int = 0


class ModelsReload:
    """One per process. `every_s`: how often it looks whether the file has changed."""

    def __init__(
        self, settings: Settings, registry: ModelRegistry, *, every_s: float = LOOK_EVERY_S
    ) -> None:
        self.counters = ReloadCounters()
        self.registry = registry
        self._settings = settings
        self._every_s = every_s
        self._asked = asyncio.Event()

    @property
    def file(self) -> Path | None:
        return self._settings.models_file

    def ask(self) -> None:
        """Read the file now, whether it has changed or not: a key that it names may have."""
        self._asked.set()

    async def keep(self) -> None:
        """Read the file whenever it has changed, as long as the process lives."""
        assert self.file is not None
        seen: object = None  # the file may have changed since the settings were read
        while True:
            asked = self._asked.is_set()
            self._asked.clear()
            now = await asyncio.to_thread(_version, self.file)
            if asked or now != seen:
                seen = now
                await self.read(asked=asked)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._asked.wait()

    async def read(self, *, asked: bool) -> None:
        try:
            settings, configs = await asyncio.to_thread(_read, self._settings)
        except WrongSettings as wrong:
            self.counters.refused += 1
            _LOG.error("models: the file is wrong; the models stay as they were: %s", wrong)
            return
        before = self._settings
        if not asked and (settings.models, settings.providers) == (before.models, before.providers):
            return
        LEARNED.learn(*sorted(settings.secrets()))
        self._settings = settings
        self.registry.replace(configs, default_model(settings))
        self.counters.reloads += 1
        names = [model.name for model in settings.models]
        _LOG.info("models: the file was read again", extra={"models": names})


def _version(path: Path) -> tuple[int, int, int] | None:
    """None: it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(settings: Settings) -> tuple[Settings, dict[str, ModelConfig]]:
    found = reread_models(settings)
    return found, model_configs(found)


@asynccontextmanager
async def open_models(
    settings: Settings,
    transport: Transport,
    configs: Mapping[str, ModelConfig],
    metrics: Metrics,
) -> AsyncGenerator[ModelsReload]:
    """The models; their file and their providers' lists are read beside, and the start does not
    wait for them."""
    reload = ModelsReload(settings, ModelRegistry(configs, default_model(settings)))
    metrics.bind("models", lambda: numbers_of(reload.counters))
    async with AsyncExitStack() as stack:
        if settings.discover_models:
            work = beside(lambda: keep_discovering(transport, reload.registry), "discovery")
            await stack.enter_async_context(work)
        if reload.file is not None:
            await stack.enter_async_context(beside(reload.keep, "models"))
        yield reload
