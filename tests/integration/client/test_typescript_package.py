"""The npm package `@holdfast/client`, as it is published: its files, its types, and turns."""

import asyncio
import shutil
import tarfile
from pathlib import Path

import orjson
import pytest

from tests.integration.client.test_generated import CHECKED, LIMIT_S, MODULES, ROOT, run
from tests.support.web import Cell

PACKAGE = ROOT / "ui" / "client"
PROGRAM = Path(__file__).with_name("answers.ts")
FIRST = 'Hello [[sim: say "Kelp is brown." | rate=2]]'
SECOND = 'And? [[sim: say "Dulse is red."]]'

pytestmark = pytest.mark.timeout(LIMIT_S + 60)


@pytest.fixture
async def installed(tmp_path: Path) -> Path:
    """A project with the packed package and its dependencies, and nothing else of the page.

    Packed from a copy: several workers may run this at the same time.
    """
    ui, project = tmp_path / "ui", tmp_path / "project"
    ui.mkdir()
    (ui / "node_modules").symlink_to(MODULES)
    shutil.copy(ROOT / "ui" / "tsconfig.json", ui)
    shutil.copytree(PACKAGE, ui / "client", ignore=shutil.ignore_patterns("dist"))
    packed = orjson.loads(await run("npm", "pack", "--json", "--silent", cwd=ui / "client"))
    modules = project / "node_modules"
    modules.mkdir(parents=True)
    with tarfile.open(ui / "client" / packed[0]["filename"]) as archive:
        await asyncio.to_thread(archive.extractall, tmp_path / "unpacked", filter="data")
    (modules / "@holdfast").mkdir()
    (tmp_path / "unpacked" / "package").rename(modules / "@holdfast" / "client")
    manifest = orjson.loads((modules / "@holdfast" / "client" / "package.json").read_bytes())
    for name in (*manifest["dependencies"], "openapi-typescript-helpers", "@types", "undici-types"):
        (modules / name).symlink_to(MODULES / name)
    (project / "package.json").write_text('{"type": "module"}')
    shutil.copy(PROGRAM, project)
    return project


async def test_the_package_has_its_build_and_no_sources(installed: Path) -> None:
    package = installed / "node_modules" / "@holdfast" / "client"
    assert {each.name for each in package.iterdir()} == {
        *("LICENSE", "README.md", "dist", "package.json")
    }
    files = {each.name for each in (package / "dist").iterdir()}
    assert {"index.js", "index.d.ts", "schema.gen.d.ts"} <= files
    assert [name for name in files if ".test." in name] == []


async def test_a_program_has_correct_types_and_gets_the_answer_to_its_own_message(
    installed: Path, cell: Cell, token: str
) -> None:
    await run(str(MODULES / ".bin" / "tsc"), *CHECKED, "answers.ts", cwd=installed)

    told = await run("node", "answers.js", cell.urls[0], token, FIRST, SECOND, cwd=installed)

    answer = orjson.loads(told)
    assert (answer["status"], answer["text"]) == ("done", "Dulse is red.")
    assert [text for text in answer["texts"] if "[[sim" not in text] == [
        "Kelp is brown.",
        "Dulse is red.",
    ]
