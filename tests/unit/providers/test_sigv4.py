"""AWS signatures against the vectors of Amazon's own test suite."""

from datetime import UTC, datetime

from holdfast.adapters.providers.sigv4 import signed_headers
from holdfast.adapters.providers.types import AwsAuth

AUTH = AwsAuth("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service")
AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
URL = "https://example.amazonaws.com/"


def signature(url: str, method: str) -> str:
    return signed_headers(AUTH, url, b"", AT, method)["authorization"].rpartition("=")[2]


def test_get_vanilla() -> None:
    assert signed_headers(AUTH, URL, b"", AT, "GET") == {
        "x-amz-date": "20150830T123600Z",
        "authorization": (
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
            " SignedHeaders=host;x-amz-date,"
            " Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        ),
    }


def test_post_vanilla_and_a_query_in_order() -> None:
    assert signature(URL, "POST") == (
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    )
    assert signature(f"{URL}?Param2=value2&Param1=value1", "GET") == (
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
    )


def test_a_session_token_is_signed_too() -> None:
    auth = AwsAuth("A", "s", "r", "bedrock-mantle", "token")

    headers = signed_headers(auth, f"{URL}v1/messages", b"{}", AT)

    assert headers["x-amz-security-token"] == "token"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in headers["authorization"]
