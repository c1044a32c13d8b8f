"""Which server, with which token: arguments, else the environment, else the file."""

from pathlib import Path

import pytest

from holdfast_client.config import Config, Target, config_path, read_config, resolve, write_config
from holdfast_client.errors import ConfigurationError

HOME = Target("https://home.example", "hfst_home")
WORK = Target("https://work.example/holdfast", 'hfst_"\\\x7fü')


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOLDFAST_URL", "HOLDFAST_API_KEY", "HOLDFAST_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOLDFAST_CONFIG_DIR", str(tmp_path / "holdfast"))


def test_what_is_written_is_read_again_and_nobody_else_can() -> None:
    config = Config({"home": HOME, "the work": WORK}, "the work")
    write_config(config)

    assert read_config() == config
    assert config_path().stat().st_mode & 0o777 == 0o600
    assert [path.name for path in config_path().parent.iterdir()] == ["config.toml"]
    assert "hfst_" not in repr(config)


def test_arguments_go_before_the_environment_and_that_before_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigurationError, match="HOLDFAST_URL"):
        resolve()
    write_config(Config({"home": HOME, "work": WORK}, "home"))
    assert resolve() == HOME
    assert resolve(context="work") == WORK
    assert resolve(api_key="hfst_other") == Target(HOME.url, "hfst_other")
    monkeypatch.setenv("HOLDFAST_CONTEXT", "work")
    assert resolve() == WORK
    monkeypatch.setenv("HOLDFAST_URL", "http://127.0.0.1:8080/")
    monkeypatch.setenv("HOLDFAST_API_KEY", "hfst_env")
    assert resolve() == Target("http://127.0.0.1:8080", "hfst_env")
    assert resolve("http://other.example", "hfst_arg") == Target("http://other.example", "hfst_arg")
    with pytest.raises(ConfigurationError, match="no context 'none'"):
        resolve(context="none")


def test_a_token_of_the_file_goes_to_its_own_server_only() -> None:
    write_config(Config({"home": HOME}, "home"))

    assert resolve(HOME.url + "/").api_key == HOME.api_key
    assert resolve("https://elsewhere.example").api_key is None


@pytest.mark.parametrize(
    "text", ["current = ", "[contexts.a]\n", "[contexts.a]\nurl = 7\n", "[contexts]\na = 1\n"]
)
def test_a_file_that_makes_no_sense_is_said_so(text: str) -> None:
    config_path().parent.mkdir()
    config_path().write_text(text)
    with pytest.raises(ConfigurationError, match=r"config\.toml"):
        read_config()


@pytest.mark.parametrize("url", ["ftp://a.example", "localhost:8080", "http://"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="not the URL"):
        resolve(url)
