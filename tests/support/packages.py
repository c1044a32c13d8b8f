"""Packages with tools, installed for one test as importlib.metadata finds them."""

import importlib
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeAlias

import pytest

from holdfast.tools.installed import GROUP

Install: TypeAlias = Callable[[str, str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Install]:
    """Install a package with one module and one entry point `NAME = MODULE:tools`."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = set(sys.modules)

    def installing(package: str, name: str, source: str) -> None:
        (tmp_path / f"{package}.py").write_text(source)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {package}:tools\n")
        importlib.invalidate_caches()

    yield installing
    for each in set(sys.modules) - before:
        if str(getattr(sys.modules[each], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[each]
