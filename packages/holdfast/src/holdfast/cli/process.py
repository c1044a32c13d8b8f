"""What the long-running commands share: settings, logs, signals, and how they end."""

import asyncio
import gc
import logging
import os
import resource
import signal
from collections.abc import Callable, Coroutine, Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import typer
import uvloop

from holdfast.domain.errors import HoldfastError
from holdfast.settings import ProcessRole, Settings, WrongSettings, env_name, read_settings
from holdfast.telemetry.logs import Redactor, logging_to
from holdfast.telemetry.traces import TracingNotInstalled, tracing_to

if TYPE_CHECKING:
    from holdfast.bootstrap import Server

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
EXIT_CANNOT: Final = 1
EXIT_WRONG_SETTINGS: Final = 2
EXIT_BY_SIGNAL: Final = 128
"""And the signal's number, as shells count."""
FILES_OPEN_MAX: Final = 65_536
"""Each reader is one. Few enough for programs that close all that they might have inherited."""
COLLECTED_AFTER: Final = (50_000, 5, 10)
"""New objects before the youngest are looked at, and how often before the older ones are. A turn
and its readers leave no cycles, so there is little to find; what lives when the collector comes is
old from then on, and as a cycle would stay for an hour."""
_LOG: Final = logging.getLogger(__name__)


def run_process(
    name: str,
    work: Callable[[Settings], Coroutine[Any, Any, None]],
    role: ProcessRole | None = None,
    *,
    adjust: Callable[[Settings], Settings] = lambda settings: settings,
) -> None:
    """Run until it ends; raises `typer.Exit` with the code that says how it failed."""
    try:
        settings = adjust(read_settings(**({} if role is None else {"role": role})))
    except WrongSettings as wrong:
        say(str(wrong))
        raise typer.Exit(EXIT_WRONG_SETTINGS) from None
    allow_files()
    secrets = settings.secrets()
    with logging_to(level=settings.log_level, style=settings.log_format, secrets=secrets):
        try:
            with (
                tracing_to(settings.otlp_endpoint),
                asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
            ):
                runner.run(work(settings))
        except WrongSettings as wrong:
            say(str(wrong))
            raise typer.Exit(EXIT_WRONG_SETTINGS) from None
        except (HoldfastError, TracingNotInstalled) as reason:
            say(Redactor(secrets).text(str(reason)))
            raise typer.Exit(EXIT_CANNOT) from None
        except Exception:  # noqa: BLE001 - told, and the process ends
            _LOG.exception("server: the %s failed", name)  # one line like every other, and redacted
            raise typer.Exit(EXIT_CANNOT) from None


def allow_files() -> None:
    """As many open ones as we may allow ourselves: where the limit is 1,024, as it mostly is, the
    thousandth reader would be refused."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_OPEN_MAX if hard == resource.RLIM_INFINITY else min(FILES_OPEN_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def stopping_on_signals() -> asyncio.Event:
    """Set by the first signal; the second ends the process."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _stop, number, stopping)
    return stopping


def reload_on_hangup(server: "Server") -> None:
    """SIGHUP reads the file with the models again. Without such a file it ends the process."""
    reload_models = server.adapters.reload_models
    if reload_models is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload_models)


def _stop(number: int, stopping: asyncio.Event) -> None:
    if stopping.is_set():
        # A second signal: end at once. Any process may die at any instant, so this is safe.
        os._exit(EXIT_BY_SIGNAL + number)
    stopping.set()


@contextmanager
def metrics_served(server: "Server", settings: Settings) -> Generator[None]:
    if not settings.metrics_port:
        yield
        return
    host, port = settings.metrics_host, settings.metrics_port
    with ExitStack() as stack:
        try:
            stack.enter_context(server.metrics.served(host, port))
        except OSError as error:
            where = f"{env_name('metrics_host')} and {env_name('metrics_port')}"
            raise WrongSettings(
                f"{where}: {host}:{port} cannot be used: {error.strerror}."
            ) from None
        yield


def log_started(server: "Server", settings: Settings) -> None:
    """What a process is, once it is ready: the first line that an operator looks for."""
    from importlib.metadata import version

    from holdfast.adapters.postgres.migrate import newest_migration

    _LOG.info(
        "server: started",
        extra={
            "version": version("holdfast"),
            "role": settings.role.value,
            "server": server.name,
            "bus": "redis" if settings.bus_url else "postgresql",
            "schema": newest_migration(),
            "postgres": server.adapters.postgres,
            "pooler": settings.database_pooler,
            "capacity": 0 if server.worker is None else settings.worker_capacity,
            "models": [model.name for model in settings.models],
        },
    )


def collect_seldom() -> None:
    """Once a server is there: what it is made of stays for good, so the collector of cycles
    need not walk it again and again, nor look every 700 objects at what comes and goes. That was a
    tenth of what a turn cost (`holdfast lab bench`). A cycle lives longer by it; there are few, and
    all else is freed at once, as ever."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


def say(text: str) -> None:
    typer.echo(text, err=True)
