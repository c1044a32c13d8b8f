"""Which commands put themselves into the background."""

import subprocess

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from holdfast.tools.workspace.shell import without_ampersand
from tests.requirements import requirement

PROMOTED = {
    "sleep 5 &": "sleep 5",
    "sleep 5&": "sleep 5",
    "  npm start   &  \n\n": "  npm start",
    "cd app && npm start &": "cd app && npm start",
    "make 2>&1 | tee log &": "make 2>&1 | tee log",
    "a & b &": "a & b",
    "serve >log 2>&1 &": "serve >log 2>&1",
    "serve &>log &": "serve &>log",
    "(cd app; serve) &": "(cd app; serve)",
    "{ a; b; } &": "{ a; b; }",
    "while true; do date; sleep 1; done &": "while true; do date; sleep 1; done",
    "echo 'a & b' &": "echo 'a & b'",
    'echo "$(date & wait)" &': 'echo "$(date & wait)"',
    "echo `date` &": "echo `date`",
    "echo ${a:-'}'} &": "echo ${a:-'}'}",
    "serve & # and tell nobody": "serve  # and tell nobody",
    "serve \\\n  --port 1 \\\n&": "serve \\\n  --port 1 \\\n",
    "echo a#b &": "echo a#b",
    "echo $((1 + (2))) &": "echo $((1 + (2)))",
    "install\nstart &": "install\nstart",
}
UNTOUCHED = [
    *("", "&", " & ", "true", "a && b", "a &&", "a || b", "a |& b", "a |&", "make 2>&1"),
    *("a >&", "a >& &", "a ; &", "a & &", "a | &", "a && &", "a\n&"),
    *(r"echo \&", "echo '&'", 'echo "&"', 'echo "a &', "echo 'a &", "echo `a &", "echo $(a &"),
    *("a & b", "(a &)", "{ a & }", "a & # x\nb", "if a; then b & fi", "# all of it &", "a # &"),
    *("cat <<EOF\na &\nEOF", "cat <<EOF &\na\nEOF", "cat <<-'EOF' | b &\nEOF\n"),
    *("echo $'it\\'s' &", "echo ${a &", "case x in a) b;; esac &", "echo a) &", "(a &", "a \\"),
]


@requirement("L98")
@pytest.mark.parametrize("command", PROMOTED)
def test_a_trailing_ampersand_is_taken_off(command: str) -> None:
    promoted = without_ampersand(command)
    assert promoted is not None
    assert promoted.rstrip() == PROMOTED[command].rstrip()


@requirement("L98")
@pytest.mark.parametrize("command", UNTOUCHED)
def test_any_other_ampersand_is_left_alone(command: str) -> None:
    assert without_ampersand(command) is None


WORDS = st.sampled_from(
    [
        *("a", "b1", "-x", "x=1", r"\&", "'&'", '"&"', '"\\"&"', "'a\n&'", "a#b", "$x", "${x:-&}"),
        *('"${x:-"&"}"', "$(a & b)", '"$(a; (b &))"', "`a & b`", "$((1 & 2))", "2>&1", ">&2"),
        *(">f", "\\\n", "'#'", "\"$(echo '&')\""),
    ]
)
COMMANDS = st.lists(WORDS, min_size=1, max_size=4).map(lambda words: ": " + " ".join(words))
JOINTS = st.sampled_from([" && ", " || ", " | ", "; ", "\n", " & ", " # & '\n", "&&\n"])
AROUND = st.sampled_from(["{}", "({})", "{{ {}; }}", "if {}; then :; fi", "! {}", "({} & )"])


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """Commands that shells accept and that do not end in an operator."""
    pieces = draw(st.lists(st.tuples(AROUND, COMMANDS), min_size=1, max_size=3))
    script = ""
    for number, (around, command) in enumerate(pieces):
        script += (draw(JOINTS) if number else "") + around.format(command)
    return script


def _accepted(script: str) -> bool:
    return subprocess.run(["sh", "-nc", script], check=False, capture_output=True).returncode == 0


ENDS = st.sampled_from(["", " ", "\n", " \n\n", "  # bye & all", "\n# bye\n", " \\\n"])


@pytest.mark.parametrize(
    ("command", "promoted"),
    [
        ("server &# for a while", "server # for a while"),
        ("server&# for a while", "server # for a while"),
        ("server&\\\n# for a while", "server \\\n# for a while"),
    ],
)
def test_a_comment_behind_it_stays_one(command: str, promoted: str) -> None:
    assert without_ampersand(command) in (promoted, promoted.replace("server ", "server  "))


# A shell is asked about each: on a busy machine that takes its time.
SLOWLY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@requirement("L98")
@SLOWLY
@given(script=scripts(), gap=st.sampled_from(["", " ", "\t", " \\\n"]), end=ENDS)
def test_whatever_a_shell_accepts_is_told_apart(script: str, gap: str, end: str) -> None:
    begun = f"{script}{gap}&{end}"
    assume(not script.endswith("\\\n") or gap)
    assume(_accepted(script))
    assert without_ampersand(script + end) is None
    promoted = without_ampersand(begun)
    assert promoted == f"{script}{gap}{end}"
    assert _accepted(promoted or "")


@SLOWLY
@given(text=st.text(alphabet="a &|;<>()$`'\"\\\n#{}", max_size=40))
def test_whatever_somebody_writes_it_is_read_to_its_end_and_at_most_one_letter_goes(
    text: str,
) -> None:
    promoted = without_ampersand(text)
    if promoted is not None:
        assert sorted(promoted + "&") in (sorted(text), sorted(text + " "))
        assert not _accepted(text) or _accepted(promoted)
