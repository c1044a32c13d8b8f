"""A password goes in clear to this machine only."""

import pytest

from holdfast.cli.exit_codes import CommandEnd
from holdfast.cli.login import refuse_clear_text


@pytest.mark.parametrize(
    "url",
    [
        *("https://chat.example", "https://192.0.2.1", "http://localhost:8080"),
        *("http://127.0.0.1:8080", "http://[::1]:8080", "http://127.9.9.9", "http://dev.localhost"),
    ],
)
def test_an_encrypted_address_and_this_machine_are_accepted(url: str) -> None:
    refuse_clear_text(url)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://chat.example",
            "http://192.0.2.1:8080",
            "http://10.0.0.1",
            "http://[2001:db8::1]",
        ),
        *("http://localhost.example", "http://127.0.0.1.example", "HTTP://chat.example"),
    ],
)
def test_another_machine_without_encryption_is_refused(url: str) -> None:
    with pytest.raises(CommandEnd, match="--insecure"):
        refuse_clear_text(url)
