"""A proof may be made in pieces: what was told of other attacks stays."""

from pathlib import Path

import orjson

from holdfast_lab.chaos.attack import Found, Profile
from holdfast_lab.chaos.attacks import ATTACKS
from holdfast_lab.chaos.proof import Proof, Tried
from holdfast_lab.chaos.report import as_page, read_report, with_proof

KILLS, ZOMBIES = ATTACKS[0], ATTACKS[1]


FENCE, KEY = "no fence", "no key"


def a_proof(tried: Tried, noticed: dict[str, bool] | None = None) -> Proof:
    return Proof(Profile.FULL, 7, [tried], noticed or {})


def test_pieces_add_up(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    first = with_proof({}, a_proof(Tried(KILLS, Found(1060)), {FENCE: True}))
    file.write_bytes(orjson.dumps(first))
    second = a_proof(Tried(ZOMBIES, Found(1059, ["a zombie wrote"])), {KEY: False})
    report = with_proof(read_report(file), second)

    assert (report["kills"]["count"], report["kills"]["violations"]) == (1060, 0)
    assert (report["zombies"]["count"], report["zombies"]["violations"]) == (1059, 1)
    assert (report["mutants_total"], report["mutants_killed"]) == (2, 1)
    assert report["kills"]["seed"] == 7


def test_an_attack_made_again_replaces_what_was_told_of_it() -> None:
    first = with_proof({}, a_proof(Tried(KILLS, Found(10, ["lost"]))))
    again = with_proof(first, a_proof(Tried(KILLS, Found(20))))

    assert again["kills"]["violations"] == 0
    assert "sentences" not in again["kills"]


def test_the_page_tells_what_broke_and_what_was_not_tried() -> None:
    report = with_proof({}, a_proof(Tried(KILLS, Found(9, ["chat 5 lost a word"])), {KEY: False}))
    report = with_proof(report, a_proof(Tried(ZOMBIES, None, "no bubblewrap")))
    page = as_page(report)

    assert "9 workers killed" in page
    assert "- kills: chat 5 lost a word" in page
    assert "not tried: no bubblewrap" in page
    assert "**0 of 1 were noticed.**" in page
    assert f"| {KEY} | **no** |" in page


def test_what_is_no_report_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    assert read_report(file) == {}
    file.write_bytes(b"{")
    assert read_report(file) == {}


def test_a_mutant_that_is_no_more_does_not_count() -> None:
    before = with_proof({}, a_proof(Tried(KILLS, Found(9)), {FENCE: True}))
    before["noticed"]["a name of last year"] = True
    report = with_proof(before, a_proof(Tried(KILLS, Found(9))))

    assert (report["mutants_total"], report["mutants_killed"]) == (1, 1)
