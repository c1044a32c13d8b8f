"""Workspaces from settings: a provisioner per template, and the keeper over them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import assert_never

from holdfast.bootstrap.beside import beside
from holdfast.bootstrap.ids import SystemIds
from holdfast.db.pool import Pool
from holdfast.db.workspaces import PostgresWorkspaces
from holdfast.ports.clock import Clock
from holdfast.ports.workspaces import Template, Workspaces
from holdfast.settings import Settings, WrongSettings, env_name
from holdfast.settings.templates import (
    CommandTemplateSettings,
    LocalTemplateSettings,
    TemplateSettings,
)
from holdfast.telemetry.metrics import WORKSPACE_START_S, Metrics, numbers_of
from holdfast.workspace.command import Command, CommandOptions
from holdfast.workspace.keeper import keep_swept, open_keeper
from holdfast.workspace.local import Local, LocalOptions, fits_a_socket
from holdfast.workspace.options import KeeperOptions
from holdfast.workspace.provisioning import Provisioner
from holdfast.workspace.working import WorkspaceCounters


def provisioners(settings: Settings) -> tuple[Provisioner, ...]:
    """In the order in which they are offered. Raises `WrongSettings`."""
    return tuple(_provisioner(each, settings) for each in settings.templates)


def _provisioner(given: TemplateSettings, settings: Settings) -> Provisioner:
    template = Template(name=given.name, description=given.description, ttl_s=given.ttl_s)
    match given:
        case LocalTemplateSettings():
            return Local(template, _local_options(given, settings))
        case CommandTemplateSettings():
            assert settings.workspace_secret is not None, "checked when the settings were read"
            options = CommandOptions(
                start=given.start,
                stop=given.stop,
                status=given.status,
                delete=given.delete,
                secret=settings.workspace_secret.get_secret_value(),
                env=given.env,
                start_s=given.start_s,
                stop_s=given.stop_s,
            )
            return Command(template, options)
        case _:
            assert_never(given)


def _local_options(given: LocalTemplateSettings, settings: Settings) -> LocalOptions:
    assert settings.workspaces_folder is not None, "checked when the settings were read"
    folder = settings.workspaces_folder.expanduser().absolute()
    if not fits_a_socket(folder):
        raise WrongSettings(
            f"{env_name('workspaces_folder')}: {folder} is too long a path for the sockets of"
            " agents. Choose one of 58 characters or less."
        )
    return LocalOptions(
        folder=folder,
        sandbox=given.sandbox,
        arguments=given.arguments,
        env=given.env,
        start_s=given.start_s,
    )


@asynccontextmanager
async def open_workspaces(
    offered: tuple[Provisioner, ...],
    pool: Pool,
    clock: Clock,
    ids: SystemIds,
    metrics: Metrics,
    *,
    owned_max: int,
) -> AsyncGenerator[Workspaces | None]:
    """None, and no statement ever, if there is no template."""
    if not offered:
        none = WorkspaceCounters()
        metrics.bind("workspaces", lambda: numbers_of(none))
        yield None
        return
    options = KeeperOptions(owned_max=owned_max)
    store = PostgresWorkspaces(pool)
    async with (
        open_keeper(store, offered, clock, ids.new_workspace_id, options) as keeper,
        beside(lambda: keep_swept(keeper, options.sweep_every_s), "workspaces"),
    ):
        keeper.observe_starts(metrics.observe(WORKSPACE_START_S))
        metrics.bind("workspaces", lambda: numbers_of(keeper.counters))
        yield keeper
