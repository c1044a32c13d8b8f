"""`holdfast lab prove --quick`, as an operator runs it: every attack, every protection removed."""

import asyncio
import os
import sys
import warnings
from pathlib import Path

import orjson
import pytest

from holdfast_lab.chaos.attack import Profile
from holdfast_lab.chaos.attacks import ATTACKS
from holdfast_lab.chaos.noticed import mutants
from holdfast_lab.chaos.report import NAMES, without_mutant
from tests.requirements import requirement

SEED = os.environ.get("HOLDFAST_TEST_SEED", "1")
STRUCK_MIN = 0.8
"""Some boundaries lie beyond the end of their turn."""
NEED_RIGHTS = {"partitions", "full disks", "escapes"}
"""To make network namespaces, to mount: a machine may refuse both to whoever builds on it. That is
told in the summary of the tests; everything else is tried everywhere."""


@pytest.mark.nightly
@requirement(
    *("S3", "S4", "S5", "S6", "S7", "S8", "M1", "M2", "M4", "R1", "R2", "R3", "R4", "R5", "R7"),
    *("X1", "D1", "LV1", "LV2", "F06", "F28"),
    *("T03", "T04", "T05", "T06", "T07", "T09", "T10", "T11", "T15", "T26"),
    *("L01", "L03", "L05", "L07", "L10", "L58", "L64", "L69", "L72", "L116"),
    *("L133", "L134", "L135", "L136", "L137", "L140", "L141", "L142", "L152"),
)
@pytest.mark.timeout(1_200)
async def test_the_quick_proof_holds(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    command = (sys.executable, "-m", "holdfast", "lab", "prove", "--quick")
    process = await asyncio.create_subprocess_exec(
        *command, "--seed", SEED, "--json", str(file), stdin=asyncio.subprocess.DEVNULL
    )
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()  # and it ends what it has started
            await asyncio.wait_for(process.wait(), 60)
    report = orjson.loads(file.read_bytes())

    told = {attack.name: report[NAMES[attack.name]] for attack in ATTACKS}
    not_tried = {name for name, each in told.items() if "not_tried" in each}
    for name in not_tried:
        warnings.warn(f"{name}: not tried: {told[name]['not_tried']}", stacklevel=1)
    assert not_tried <= NEED_RIGHTS
    for attack in ATTACKS:
        if attack.name not in not_tried:
            found = told[attack.name]
            assert found["violations"] == 0, (attack.name, found["sentences"])
            assert found["count"] >= attack.sizes[Profile.QUICK] * STRUCK_MIN, attack.name
    missed = [name for name, seen in report["noticed"].items() if not seen]
    due = {each.name for each in mutants() if not not_tried & set(each.attack.split(" and "))}
    assert (missed, due - report["noticed"].keys()) == ([], set())
    assert code == 0


def test_every_mutant_belongs_to_an_attack_that_there_is() -> None:
    names = {attack.name for attack in ATTACKS}
    assert all(set(each.attack.split(" and ")) <= names for each in mutants())
    assert len(mutants()) >= 40


def test_every_attack_is_shown_to_notice_something() -> None:
    assert without_mutant() == []


def test_the_full_profile_is_what_we_publish() -> None:
    full = {attack.name: attack.sizes[Profile.FULL] for attack in ATTACKS}
    assert full["kills"] >= 1_000
    assert full["zombies"] >= 1_000
    assert full["database crashes"] >= 200
    assert full["lost answers"] >= 10_000
    assert full["streams"] >= 100_000
    assert full["partitions"] >= 100
    assert full["bad lines"] >= 1_000
    assert full["storms"] >= 20_000
    assert full["clock jumps"] >= 1_000
    assert full["changing primaries"] >= 30
    assert full["unreadable rows"] >= 200
    assert full["refused statements"] >= 6_000
    assert full["migrations"] >= 20
    assert full["endless heads"] >= 50
