"""AWS signature version 4 by hand: a few hashes do not need an SDK."""

import hashlib
import hmac
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlsplit

from holdfast.providers.types import AwsAuth


def signed_headers(
    auth: AwsAuth, url: str, body: bytes, now: datetime, method: str = "POST"
) -> dict[str, str]:
    """The headers that prove the request: date, token if any, and authorization."""
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    parts = urlsplit(url)
    headers = {"host": parts.netloc, "x-amz-date": stamp}
    if auth.token:
        headers["x-amz-security-token"] = auth.token
    names = ";".join(sorted(headers))
    query = "&".join(
        f"{quote(key, safe='-_.~')}={quote(value, safe='-_.~')}"
        for key, value in sorted(parse_qsl(parts.query, keep_blank_values=True))
    )
    canonical = "\n".join(
        (
            method,
            quote(parts.path or "/", safe="/-_.~"),
            query,
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    scope = f"{stamp[:8]}/{auth.region}/{auth.service}/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    key = b"AWS4" + auth.secret.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashed}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{auth.access_key}/{scope}"
    del headers["host"]  # the transport sets it
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    )
    return headers
