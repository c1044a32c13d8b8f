"""A hostile tree under git: opened, compared and committed without running any of its code."""

import pytest

from holdfast_agent.git_env import NO_GIT, git_env, harmless
from tests.support.agent_files import SEEN_AS, Place
from tests.support.hostile import COMMANDS, HOOKS, IN_EACH, WORKED, Hostile, hostile_tree


@pytest.fixture
def hostile(place: Place) -> Hostile:
    return hostile_tree(place.root, place.outside / "ran")


def env_for(place: Place) -> dict[str, str]:
    return git_env(place.beneath, str(place.root), {})


def test_nothing_of_it_is_run(place: Place, hostile: Hostile) -> None:
    env = env_for(place)

    answers = {command: hostile.run(env, *command) for command in COMMANDS}

    assert hostile.ran == set()
    assert "data.txt" in answers["git", "status"].stdout
    assert "+third" in answers["git", "diff"].stdout
    assert answers["git", "commit", "-q", "-m", "work"].returncode == 0
    assert answers["git", "blame", "data.txt"].returncode == 0
    # A bare one that lies in a tree is not even opened: it could have come with a clone.
    assert "bareRepository" in answers["git", "-C", "bare.git", "log"].stderr


@pytest.mark.parametrize("folder", WORKED)
def test_nor_of_a_repository_further_down(place: Place, hostile: Hostile, folder: str) -> None:
    env = env_for(place)

    answers = [hostile.run(env, "git", "-C", folder, *command[1:]) for command in IN_EACH]

    assert hostile.ran == set()
    assert [answer.returncode for answer in answers] == [0] * len(IN_EACH)


def test_in_a_plain_environment_it_is(hostile: Hostile) -> None:
    """The mutant."""
    hostile.run({}, "sh", "-c", hostile.script)

    assert hostile.ran >= {"fsmonitor", "clean", "external"}
    assert hostile.ran & set(HOOKS)
    where = {"in-.git", "in-inner-.git", "in-deep-er-down-.git", "in-stored-repository"}
    assert hostile.ran >= where


@pytest.mark.parametrize("without", ["filter.evil.clean", "core.fsmonitor", "diff.external"])
def test_each_of_the_settings_is_needed(place: Place, hostile: Hostile, without: str) -> None:
    """Mutants: one protection less."""
    env = env_for(place)
    count = int(env["GIT_CONFIG_COUNT"])
    for number in range(count):
        if env[f"GIT_CONFIG_KEY_{number}"] == without:
            env[f"GIT_CONFIG_KEY_{number}"] = "unused.key"

    for command in COMMANDS:
        hostile.run(env, *command)

    ran = {name for name in hostile.ran if not name.startswith("in-")}
    assert ran == {without.rpartition(".")[2]}


@pytest.mark.parametrize(
    "config",
    [
        pytest.param("link", id="a link by the name that commands know"),
        pytest.param("names", id="a file with several names"),
        pytest.param("include", id="taken in by an absolute path"),
    ],
)
def test_a_configuration_that_only_git_can_read_is_no_way_around(place: Place, config: str) -> None:
    evil = place.write("evil", '[filter "x"]\nclean = y\n')
    (place.root / "down/.git").mkdir(parents=True)
    path = place.root / "down/.git/config"
    match config:
        case "link":
            path.symlink_to(f"{SEEN_AS}/evil")
        case "names":
            path.hardlink_to(evil)
        case _:
            path.write_text(f"[include]\n\tpath = {SEEN_AS}/evil\n")

    env = git_env(place.beneath, SEEN_AS, {})

    assert env.get("GIT_DIR") == NO_GIT or "filter.x.clean" in env.values()


def test_what_the_machine_itself_says_counts_more(place: Place) -> None:
    given = {
        "GIT_ASKPASS": "/opt/ask",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "credential.helper",
        "GIT_CONFIG_VALUE_0": "store",
    }

    env = git_env(place.beneath, SEEN_AS, given)

    last = int(env["GIT_CONFIG_COUNT"]) - 1
    assert (env[f"GIT_CONFIG_KEY_{last}"], env[f"GIT_CONFIG_VALUE_{last}"]) == (
        "credential.helper",
        "store",
    )
    assert "GIT_ASKPASS" not in env


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ('[filter "a b\\"c"]\nclean=x', [('filter.a b"c.clean', "")]),
        ('[a][FILTER "x"] PROCESS = y', [("filter.x.process", "")]),
        ("[filter.Old]\n  smudge = y", [("filter.old.smudge", "")]),
        ('[merge "m"]\n driver = y\n name = z', [("merge.m.driver", "git merge-file %A %O %B")]),
        ('[filter "x"]\n\t# clean = y\n', []),
        ('[user]\n name = "[filter \\"x\\"]"\n', []),
        ("not a configuration \0", []),
    ],
)
def test_what_runs_something_is_found_however_it_is_written(
    config: str, settings: list[tuple[str, str]]
) -> None:
    assert harmless(config) == settings


def test_a_configuration_too_large_to_look_through_switches_git_off(place: Place) -> None:
    place.write(".git/config", "#" * 300_000 + '\n[filter "x"]\nclean = y\n')

    assert git_env(place.beneath, SEEN_AS, {})["GIT_DIR"] == NO_GIT

    place.write(".git/config", "".join(f'[filter "f{n}"]\nclean = y\n' for n in range(5000)))

    assert git_env(place.beneath, SEEN_AS, {})["GIT_DIR"] == NO_GIT


def test_a_configuration_that_leads_out_is_not_read(place: Place) -> None:
    (place.outside / "secret.txt").write_text('[filter "secret"]\nclean = y\n')
    place.write(".git/config", "[include]\n\tpath = ../../outside/secret.txt\n")

    assert "secret" not in str(git_env(place.beneath, SEEN_AS, {}))
