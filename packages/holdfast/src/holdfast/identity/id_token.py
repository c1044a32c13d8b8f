"""Whether an id_token holds: signed by the issuer, for us, now, for this login. Pure.

The key is chosen here, by its id, and only among keys that can sign: no symmetric ones, so that a
public key is never taken for a shared secret, and no guess. Only signed tokens are read: a library
that also decrypts would let the sender of the token choose how it is checked.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

import orjson
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from holdfast.domain.denials import OidcRefused

ALGORITHMS: Final = ("RS256", "PS256", "ES256")
TOKEN_CHARS_MAX: Final = 32 * 1024
RSA_BITS_MIN: Final = 2048
SUBJECT_CHARS_MAX: Final = 255

PublicKey = RSAKey | ECKey | OKPKey
_KEY_TYPES: Final[Mapping[str, type[PublicKey]]] = {"RSA": RSAKey, "EC": ECKey}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedClaims:
    issuer: str
    client_id: str
    nonce: str
    algorithms: Sequence[str] = ALGORITHMS
    leeway_s: float = 60.0
    age_max_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    subject: str
    email: str | None
    email_verified: bool
    name: str | None


def public_keys(jwks: Any) -> dict[str, PublicKey]:  # noqa: ANN401  (whatever the issuer sent)
    """The keys of a key set that can sign, by id; one without an id is under the empty one."""
    listed: Any = cast("dict[str, Any]", jwks).get("keys") if isinstance(jwks, dict) else None
    if not isinstance(listed, list):
        raise OidcRefused("provider", "the key set is none")
    keys: dict[str, PublicKey] = {}
    for each in cast("list[Any]", listed)[:100]:
        if not isinstance(each, dict):
            continue
        jwk = cast("dict[str, Any]", each)
        kind = _KEY_TYPES.get(str(jwk.get("kty")))
        if kind is None or jwk.get("use", "sig") != "sig":
            continue
        try:
            keys[str(jwk.get("kid", ""))] = kind.import_key(jwk)
        except (JoseError, ValueError, TypeError, KeyError):
            continue  # one that we cannot read is as good as absent
    return keys


def key_id_of(token: str) -> str:
    """Which key the token says it was signed with. Not yet to be trusted."""
    if len(token) > TOKEN_CHARS_MAX or token.count(".") != 2:
        raise OidcRefused("token", "not a signed token")
    try:
        header = jws.extract_compact(token.encode()).protected
    except (JoseError, ValueError) as error:
        raise OidcRefused("token", f"unreadable: {type(error).__name__}") from error
    return str(header.get("kid", ""))


def check_id_token(token: str, key: PublicKey, expected: ExpectedClaims, now: datetime) -> Claims:
    """What the issuer vouches for; `OidcRefused` unless everything holds."""
    claims = _signed(token, key, expected.algorithms)
    if claims.get("iss") != expected.issuer:
        raise OidcRefused("issuer", "the token is from another issuer")
    _check_audience(claims, expected.client_id)
    _check_times(claims, expected, now.timestamp())
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(
        nonce.encode("utf-8", "replace"), expected.nonce.encode()
    ):
        raise OidcRefused("token", "the nonce is not the one of this login")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_CHARS_MAX:
        raise OidcRefused("token", "no subject")
    email, name = claims.get("email"), claims.get("name")
    return Claims(
        subject=subject,
        email=email if isinstance(email, str) else None,
        email_verified=claims.get("email_verified") in (True, "true"),
        name=name if isinstance(name, str) else None,
    )


def _signed(token: str, key: PublicKey, algorithms: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(key, RSAKey) and key.raw_value.key_size < RSA_BITS_MIN:
        raise OidcRefused("provider", f"a signing key of under {RSA_BITS_MIN} bits")
    try:
        payload = jws.deserialize_compact(token, key, algorithms=list(algorithms)).payload
        claims = orjson.loads(payload)
    except (JoseError, ValueError, TypeError) as error:
        raise OidcRefused("token", f"not signed as it should be: {type(error).__name__}") from error
    if not isinstance(claims, dict):
        raise OidcRefused("token", "no claims")
    return cast("dict[str, Any]", claims)


def _check_audience(claims: Mapping[str, Any], client_id: str) -> None:
    audience: Any = claims.get("aud")
    audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise OidcRefused("token", "for another audience")
    party = claims.get("azp")
    if (party is not None or len(audiences) > 1) and party != client_id:
        raise OidcRefused("token", "issued to another party")


def _check_times(claims: Mapping[str, Any], expected: ExpectedClaims, now: float) -> None:
    expires, issued = _number(claims, "exp"), _number(claims, "iat")
    if expires is None or issued is None:
        raise OidcRefused("token", "no time of issue or expiry")
    if now >= expires + expected.leeway_s:
        raise OidcRefused("token", "expired")
    if issued > now + expected.leeway_s or (_number(claims, "nbf") or 0) > now + expected.leeway_s:
        raise OidcRefused("token", "from the future")
    if issued < now - expected.age_max_s - expected.leeway_s:
        raise OidcRefused("token", "issued too long ago for this login")


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
