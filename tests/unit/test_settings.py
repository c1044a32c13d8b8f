"""Settings: what is wrong is said in sentences that name the variable and never the secret."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import ValidationError

from holdfast.settings import ProcessRole, Settings, WrongSettings, read_settings
from holdfast.settings.oidc import OidcSettings

CANARY = "canary-4711"
PROVIDER = {"name": "a", "issuer": "https://a.example", "client_id": "c"}
LOCAL = '{"kind": "local", "name": "a"}'
COMMAND = (
    '{"kind": "command", "name": "a", "start": ["a"], "stop": ["a"], "status": ["a"],'
    ' "delete": ["a"]}'
)
MODEL = '{"name": "a", "vendor": "anthropic", "api_key": "canary-4711"}'


def models_with(**fallbacks: list[str]) -> str:
    rows = ({"name": name, "vendor": "anthropic", "fallback": f} for name, f in fallbacks.items())
    return json.dumps(list(rows))


WRONG: list[tuple[dict[str, str], str]] = [
    ({"WORKER_CAPACITY": "0"}, "HOLDFAST_WORKER_CAPACITY: input should be greater than or equal"),
    ({"ROLE": "king"}, "HOLDFAST_ROLE: input should be 'all', 'api' or 'worker'."),
    ({"BUS_URL": "amqp://host"}, "HOLDFAST_BUS_URL: should be empty or begin with redis"),
    ({"BUS_PREFIX": "a{b}"}, "HOLDFAST_BUS_PREFIX: should not be empty, and should have no braces"),
    ({"DATABASE_URL": "mysql://x"}, "HOLDFAST_DATABASE_URL: URL scheme should be"),
    ({"DATABASE_POOLER": "session"}, "HOLDFAST_DATABASE_POOLER needs HOLDFAST_DATABASE_DIRECT_URL"),
    ({"DATABASE_POOLER": "x"}, "HOLDFAST_DATABASE_POOLER: input should be 'none', 'session' or"),
    *(
        ({"IMAGE_HOSTS": wrong}, "HOLDFAST_IMAGE_HOSTS: should be hosts such as pictures.example")
        for wrong in (
            "https://a.example",
            "*.a.example",
            "*",
            "a.example/x",
            "a.example; script-src *",
            'a"><script>',
            "a.example,,b.example",
            "a b",
        )
    ),
    ({"LOG_LEVEL": "loud"}, "HOLDFAST_LOG_LEVEL: input should be 'DEBUG', 'INFO'"),
    ({"OTLP_ENDPOINT": "localhost"}, "HOLDFAST_OTLP_ENDPOINT: should be empty or an http(s)"),
    ({"HEARTBEAT_EVERY_S": "5"}, "HOLDFAST_HEARTBEAT_EVERY_S must be less than a third of"),
    ({"RETRY_FIRST_DELAY_S": "99"}, "HOLDFAST_RETRY_FIRST_DELAY_S must not be more than"),
    ({"MODELS": "canary-4711"}, "HOLDFAST_MODELS should be a JSON list of objects."),
    ({"MODELS": '[{"name": "a"}]'}, "HOLDFAST_MODELS[0]: set provider, or vendor."),
    ({"MODELS": f'[{MODEL[:-1]}, "speed": 1}}]'}, "HOLDFAST_MODELS[0].speed: extra inputs are not"),
    ({"MODELS": f"[{MODEL}, {MODEL}]"}, "HOLDFAST_MODELS: two models are named a."),
    ({"PROVIDERS": "canary-4711"}, "HOLDFAST_PROVIDERS should be a JSON list of objects."),
    ({"PROVIDERS": "[]", "MODELS": '[{"name": "a", "provider": "p"}]'}, "no provider is named 'p'"),
    *(
        ({"MODELS": models_with(**lists)}, f"HOLDFAST_MODELS: {sentence}")
        for lists, sentence in (
            ({"a": ["x", "b"], "b": []}, "the fallback of 'a' names x, which no model is named."),
            ({"a": ["a"]}, "the fallback of 'a' names the model itself."),
            ({"a": ["b", "b"], "b": []}, "the fallback of 'a' names a model twice."),
            ({"a": ["b"], "b": ["a"]}, "the fallbacks of a and b lead back to a: remove one"),
            (
                {"z": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]},
                "the fallbacks of a and b and c lead back to a: remove one",
            ),
        )
    ),
    ({"DEFAULT_MODEL": "b", "MODELS": f"[{MODEL}]"}, "not among the models of HOLDFAST_MODELS (a)"),
    (
        {"MODELS": f"[{MODEL}]", "MODELS_FILE": "x"},
        "either HOLDFAST_MODELS or HOLDFAST_MODELS_FILE",
    ),
    ({"TEMPLATES": "canary-4711"}, "HOLDFAST_TEMPLATES should be a JSON list of objects."),
    ({"TEMPLATES": '[{"kind": "cloud"}]'}, "HOLDFAST_TEMPLATES[0]: input tag 'cloud' found"),
    ({"TEMPLATES": f"[{LOCAL}]"}, "has a local template: set HOLDFAST_WORKSPACES_FOLDER"),
    (
        {"TEMPLATES": f"[{LOCAL}, {LOCAL}]", "WORKSPACES_FOLDER": "/w"},
        "HOLDFAST_TEMPLATES: two templates are named a.",
    ),
    ({"TEMPLATES": f"[{COMMAND}]"}, "has a command template: set HOLDFAST_WORKSPACE_SECRET"),
    (
        {"TEMPLATES": f"[{COMMAND}]", "WORKSPACE_SECRET": "canary-4711"},
        "HOLDFAST_WORKSPACE_SECRET: ",
    ),
    (
        {"TEMPLATES": f"[{LOCAL}]", "TEMPLATES_FILE": "x", "WORKSPACES_FOLDER": "/w"},
        "either HOLDFAST_TEMPLATES or HOLDFAST_TEMPLATES_FILE",
    ),
    (
        {"MODELS_FILE": "/no/such/file"},
        "HOLDFAST_MODELS_FILE: /no/such/file cannot be read: No such",
    ),
]


KEY: dict[str, object] = {"key": CANARY}
WRONG_PROVIDERS: list[tuple[dict[str, object], str]] = [
    ({"key_env": "no such"}, "[0].key_env: string should match pattern"),
    (KEY | {"key_env": "X"}, "[0]: set only one of key, key_env."),
    (KEY | {"token": {"kind": "azure"}}, "[0]: set only one of key, token."),
    ({"key_env": "NO_SUCH_VARIABLE"}, " (p): key_env leads to no key"),
    ({"key_file": "/no/such/canary"}, " (p): key_file cannot be read: No such file"),
    ({"token": {"kind": "magic"}}, "[0].token: input tag 'magic' found"),
    ({"token": {"kind": "command", "command": []}}, "[0].token.command.command: "),
    ({"proxy": f"socks5://:{CANARY}@h"}, "[0].proxy: should be an address such as http://proxy"),
    ({"proxy": f"http://:{CANARY}@h:x"}, "[0].proxy: should be an address such as http://proxy"),
    ({"headers": {"Host": CANARY}}, "[0].headers: a name is not one of a header"),
    ({"headers": {"x-a": f"{CANARY}\r\nx: y"}}, "[0].headers: the value of x-a should be"),
    ({"speed": CANARY}, "[0].speed: extra inputs are not permitted."),
]
WRONG_MODELS: list[tuple[dict[str, object], str]] = [
    ({"provider": "p", "vendor": "v"}, ": set either provider or vendor, not both."),
    (
        {
            "vendor": "bedrock-chat",
            "api_key": CANARY,
            "aws": {"access_key": "k", "secret": CANARY, "region": "r"},
        },
        ": set either api_key or aws, not both.",
    ),
    ({"provider": "p", "effort": "huge"}, ".effort: input should be 'none', 'minimal'"),
    ({"provider": "p", "output_max": 0}, ".output_max: input should be greater than 0."),
    ({"provider": "p", "temperature": 3}, ".temperature: input should be less than"),
    ({"provider": "p", "cache": {"prefix": "5m", "tail": "1h"}}, ".cache: tail should not be"),
    ({"provider": "p", "betas": ["a b"]}, ".betas[0]: string should match"),
    ({"provider": "p", "facts": {"efforts": ["x"]}}, ".facts.efforts[0]: input should be"),
    ({"provider": "p", "price": {"input": -1}}, ".price.input: input should be greater"),
    (
        {"provider": "p", "price": {"input": 1, "output": 1}, "price_id": "a/b"},
        ": set either price or price_id, not both.",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG_PROVIDERS, ids=lambda each: str(each)[:50])
def test_a_wrong_provider_is_named_by_its_field_and_never_quoted(
    given: dict[str, object], sentence: str
) -> None:
    providers = [{"name": "p", "vendor": "anthropic"} | given]
    with pytest.raises(WrongSettings) as wrong:
        read_settings(providers=providers)
    assert f"HOLDFAST_PROVIDERS{sentence}" in str(wrong.value)
    assert "canary" not in f"{wrong.value!r} {wrong.value.__cause__!r}"


@pytest.mark.parametrize(("given", "sentence"), WRONG_MODELS, ids=lambda each: str(each)[:50])
def test_a_wrong_model_is_named_by_its_field(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(WrongSettings) as wrong:
        read_settings(models=[{"name": "a"} | given])
    assert f"HOLDFAST_MODELS[0]{sentence}" in str(wrong.value)
    assert "canary" not in f"{wrong.value!r} {wrong.value.__cause__!r}"


def test_a_file_may_hold_providers_and_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key"
    key.write_text("canary-in-a-file\n")
    monkeypatch.setenv("VENDOR_KEY", "canary-in-a-variable")
    file = tmp_path / "models.json"
    providers = (
        f'{{"name": "p", "vendor": "anthropic", "key_file": "{key}",'
        ' "proxy": "http://u:canary%2Fproxy@h:1", "headers": {"X-Auth": "canary-header"}},'
        ' {"name": "q", "vendor": "openai", "key_env": "VENDOR_KEY"}'
    )
    file.write_text(f'{{"providers": [{providers}], "models": [{{"name": "a", "provider": "p"}}]}}')
    in_environment(monkeypatch, MODELS_FILE=str(file))
    settings = read_settings()
    assert [model.provider for model in settings.models] == ["p"]
    assert settings.secrets() == {
        *("canary-in-a-file", "canary-in-a-variable", "canary-header"),
        *("canary%2Fproxy", "canary/proxy"),
    }
    assert "canary" not in repr(settings)
    file.write_text('{"providers": [{"name": "p"}]}')
    with pytest.raises(WrongSettings, match=r"MODELS_FILE: providers\[0\].vendor: field required"):
        read_settings()


def in_environment(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"HOLDFAST_{name}", value)


@pytest.mark.parametrize(("variables", "sentence"), WRONG, ids=lambda each: str(each)[:40])
def test_a_wrong_setting_gives_a_sentence_to_act_on(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], sentence: str
) -> None:
    in_environment(monkeypatch, **variables)
    with pytest.raises(WrongSettings) as wrong:
        read_settings()
    assert sentence in str(wrong.value)
    assert CANARY not in f"{wrong.value!r} {wrong.value.__cause__!r}"


def test_everything_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    in_environment(monkeypatch, ROLE="king", WORKER_CAPACITY="0", DRAIN_S="soon")
    with pytest.raises(WrongSettings) as wrong:
        read_settings()
    assert len(wrong.value.sentences) == 3


def test_nothing_need_be_set_and_what_is_empty_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    in_environment(monkeypatch, MODELS_FILE="", DRAIN_S="", ROLE="")
    assert read_settings() == Settings()
    assert read_settings(role=ProcessRole.API).role is ProcessRole.API


def test_models_come_from_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "models.json"
    file.write_text(f"[{MODEL}]")
    in_environment(monkeypatch, MODELS_FILE=str(file), DEFAULT_MODEL="a")
    settings = read_settings()
    assert [model.model_name for model in settings.models] == ["a"]
    assert CANARY in settings.secrets()

    file.write_text('[{"name": "a"}]')
    with pytest.raises(WrongSettings, match="HOLDFAST_MODELS_FILE: entry 0: set provider, or"):
        read_settings()


def test_templates_come_from_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "templates.json"
    file.write_text(f"[{COMMAND}]")
    in_environment(monkeypatch, TEMPLATES_FILE=str(file), WORKSPACE_SECRET="canary-" * 5)
    settings = read_settings()
    assert [template.name for template in settings.templates] == ["a"]
    assert settings.secrets() == {"canary-" * 5}
    assert CANARY[:6] not in repr(settings)
    file.write_text('[{"kind": "local"}]')
    with pytest.raises(WrongSettings, match=r"HOLDFAST_TEMPLATES_FILE: entry 0.local.name: field"):
        read_settings()


def test_secrets_are_known_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = '{"access_key": "k", "secret": "canary-aws", "region": "r", "token": "canary-token"}'
    in_environment(
        monkeypatch,
        DATABASE_URL="postgresql://u:canary%2Fdb@h/d",
        DATABASE_DIRECT_URL="postgresql://u:canary-direct@h/d",
        BUS_URL="valkeys://:canary-bus@h:1",
        MODELS=f'[{MODEL}, {{"name": "b", "vendor": "v", "aws": {aws}}}]',
    )
    settings = read_settings()
    assert settings.secrets() == {
        *("canary%2Fdb", "canary/db", "canary-direct"),
        *("canary-bus", "canary-aws", "canary-token", CANARY),
    }
    assert "canary" not in repr(settings)
    assert settings.redis_url == "rediss://:canary-bus@h:1"


def test_not_even_the_bare_class_repeats_what_was_given() -> None:
    wrong: dict[str, str] = {"bus_url": f"http://:{CANARY}@host"}
    with pytest.raises(ValidationError) as shown:
        Settings(**wrong)  # pyright: ignore[reportArgumentType]
    assert CANARY not in str(shown.value)


@pytest.mark.parametrize(
    ("given", "driver"), [("", ""), ("redis://h", "redis://h"), ("valkey://h/1", "redis://h/1")]
)
def test_the_driver_is_told_redis(given: str, driver: str) -> None:
    assert read_settings(bus_url=given).redis_url == driver


def test_hosts_of_pictures_are_a_list_with_commas_and_none_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert read_settings().image_hosts == ()
    in_environment(monkeypatch, IMAGE_HOSTS="Pictures.example, localhost:8443")
    assert read_settings().image_hosts == ("pictures.example", "localhost:8443")


@pytest.mark.parametrize("given", [f"org_{UUID(int=7).hex}", str(UUID(int=7))])
def test_the_organisation_of_a_provider_is_given_in_either_form(given: str) -> None:
    provider = OidcSettings.model_validate({**PROVIDER, "org_id": given})
    assert provider.org_id == UUID(int=7)


def test_an_id_of_another_type_is_no_organisation() -> None:
    with pytest.raises(ValidationError, match="names a user, not an organisation"):
        OidcSettings.model_validate({**PROVIDER, "org_id": f"user_{UUID(int=7).hex}"})
