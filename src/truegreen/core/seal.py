# SPDX-License-Identifier: Apache-2.0
"""Seals: a DSSE envelope around an in-toto Statement that names files by their digests, signed with ed25519.

What it decides: the bytes that are signed, and whether an envelope's signature and statement can be believed. What
it leaves: which keys count, to the policy; which files must be sealed, to whoever asks.

- The bytes received are verified, before they are read as JSON, and never dumped again.
- Of several signatures one by a listed key is enough; an envelope without one proves nothing.
- A key is written ``ed25519:`` and the Base64 of its 32 bytes; it is known by the SHA-256 of these bytes.
- A seal proves which key signed these digests, not that what they name is true.

Source: DSSE v1.0.2 (secure-systems-lab/dsse, protocol.md and envelope.md); in-toto Attestation Framework, Statement
v1; RFC 8032.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from truegreen.core.canonical import read_json, write_json
from truegreen.core.digest import Sha256, parse_digest
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.quoted import quoted

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
KEY_PREFIX = "ed25519:"
KEY_BYTES = 32
MOST_SIGNATURES = 16
"""Most signatures of one envelope that are tried."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One signature of an envelope."""

    sig: str
    """The signature in Base64."""
    keyid: str = ""
    """A hint at the key; never an authority."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A DSSE envelope."""

    payload: str
    """The signed bytes in Base64."""
    payloadType: str  # noqa: N815 - the name that the specification gives it
    """What the bytes are."""
    signatures: tuple[Signature, ...]
    """Signatures over both."""


class Named(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file that a statement names."""

    name: str
    """Its name."""
    digest: dict[str, str]
    """Algorithm to hexadecimal digits; ``sha256`` is asked."""


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An in-toto Statement v1."""

    type: str = msgspec.field(name="_type")
    """``https://in-toto.io/Statement/v1``."""
    subject: tuple[Named, ...]
    """The files."""
    predicateType: str  # noqa: N815 - the name that the specification gives it
    """What is said of them."""
    predicate: dict[str, Any]
    """The statement's own part."""


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """What a seal that was verified says."""

    files: Mapping[str, Sha256]
    """Name to digest."""
    predicate_type: str
    """What is said of the files."""
    predicate: Mapping[str, Any]
    """The statement's own part."""
    key: str
    """The listed key that signed it."""


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the bytes that are signed. Lengths are in bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def key_id(key: str) -> str:
    """The SHA-256 of a public key's 32 bytes, in hexadecimal digits.

    Raises: UsageProblem ``bad-key``.
    """
    return hashlib.sha256(key_bytes(key)).hexdigest()


def key_bytes(key: str) -> bytes:
    """The 32 bytes of a public key as the policy writes it.

    Raises: UsageProblem ``bad-key``.
    """
    try:
        raw = base64.b64decode(key.removeprefix(KEY_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not key.startswith(KEY_PREFIX) or len(raw) != KEY_BYTES:
        raise UsageProblem(
            "bad-key",
            f"the public key {quoted(key, 60)} is asked as {KEY_PREFIX} and the Base64 of {KEY_BYTES} bytes",
            hint="truegreen cassette seal --help",
        )
    return raw


def sealed_bytes(
    files: Mapping[str, Sha256], *, predicate_type: str, predicate: Mapping[str, Any], private_key: bytes
) -> bytes:
    """The envelope that seals these files, as canonical JSON.

    ``private_key`` is an ed25519 key in PEM (PKCS 8, without a pass phrase). Raises: UsageProblem ``bad-key``;
    EvidenceProblem ``seal-empty`` for no files.
    """
    if not files:
        raise EvidenceProblem("seal-empty", "a seal names 0 files, at least 1 is asked")
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": name, "digest": {"sha256": files[name].partition(":")[2]}} for name in sorted(files)
        ],
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }
    payload = write_json(statement)
    key, public = _private(private_key)
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [
            {"keyid": key_id(public), "sig": base64.b64encode(key.sign(pae(PAYLOAD_TYPE, payload))).decode()}
        ],
    }
    return write_json(envelope)


def public_key(private_key: bytes) -> str:
    """The public key of a private one in PEM, as the policy writes it.

    Raises: UsageProblem ``bad-key``.
    """
    return _private(private_key)[1]


def new_private_key() -> bytes:
    """A fresh ed25519 key in PEM (PKCS 8, without a pass phrase)."""
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - only seals need it
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - as above
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    made = ed25519.Ed25519PrivateKey.generate()
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def opened(data: bytes, keys: Iterable[str]) -> Sealed:
    """What an envelope says, once one of ``keys`` is shown to have signed it.

    Raises: EvidenceProblem ``seal-unreadable`` (no envelope of this form), ``seal-unknown-key`` (no signature by a
    listed key; contradictory if one names a listed key and does not fit); UsageProblem ``bad-key``.
    """
    envelope = _envelope(data)
    payload = _decoded(envelope.payload, "payload")
    key = _signer(envelope, payload, tuple(keys))
    if envelope.payloadType != PAYLOAD_TYPE:
        raise _unreadable(f"the payload is {quoted(envelope.payloadType, 60)}, asked {PAYLOAD_TYPE}")
    statement = _statement(payload)
    files: dict[str, Sha256] = {}
    for named in statement.subject:
        try:
            digest = parse_digest(f"sha256:{named.digest.get('sha256', '')}")
        except EvidenceProblem as err:
            raise _unreadable(f"{quoted(named.name, 60)} has no whole sha256") from err
        if files.setdefault(named.name, digest) != digest:
            raise _unreadable(f"{quoted(named.name, 60)} has two digests")
    if not files:
        raise _unreadable("it names no file")
    return Sealed(files=files, predicate_type=statement.predicateType, predicate=statement.predicate, key=key)


def _envelope(data: bytes) -> Envelope:
    try:
        return msgspec.convert(read_json(data), Envelope, strict=True)
    except msgspec.ValidationError as err:
        raise _unreadable(str(err)) from err
    except EvidenceProblem as err:
        raise _unreadable(err.message) from err


def _statement(payload: bytes) -> Statement:
    try:
        statement = msgspec.convert(read_json(payload), Statement, strict=True)
    except msgspec.ValidationError as err:
        raise _unreadable(str(err)) from err
    except EvidenceProblem as err:
        raise _unreadable(err.message) from err
    if statement.type != STATEMENT_TYPE:
        raise _unreadable(f"the statement is {quoted(statement.type, 60)}, asked {STATEMENT_TYPE}")
    return statement


def _signer(envelope: Envelope, payload: bytes, keys: tuple[str, ...]) -> str:
    """The listed key that signed.

    Raises: EvidenceProblem ``seal-unknown-key``.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - only seals need it
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - as above

    message = pae(envelope.payloadType, payload)
    ids = {key_id(key): key for key in keys}
    is_forged = False
    for signature in envelope.signatures[:MOST_SIGNATURES]:
        raw = _decoded(signature.sig, "sig")
        for key in keys:
            try:
                ed25519.Ed25519PublicKey.from_public_bytes(key_bytes(key)).verify(raw, message)
            except InvalidSignature:
                continue
            return key
        is_forged = is_forged or signature.keyid in ids
    raise EvidenceProblem(
        "seal-unknown-key",
        f"of {len(envelope.signatures)} signatures none is by one of the {len(keys)} listed keys",
        hint="list the recorder's public key in [cassettes] keys of the base's policy",
        contradictory=is_forged,
    )


def _decoded(text: str, what: str) -> bytes:
    """Bytes of standard or URL-safe Base64: a verifier has to take either (DSSE, protocol.md)."""
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError) as err:
        raise _unreadable(f"{what} is not Base64") from err


def _private(pem: bytes) -> tuple[Any, str]:
    """The private key and its public one as text."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - only seals need it
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - as above

    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageProblem(
            "bad-key",
            f"the private key of {len(pem)} bytes is not ed25519 in PEM without a pass phrase, which is asked",
            hint="truegreen cassette seal --help",
        )
    raw = key.public_key().public_bytes_raw()
    return key, KEY_PREFIX + base64.b64encode(raw).decode()


def _unreadable(problem: str) -> EvidenceProblem:
    return EvidenceProblem("seal-unreadable", f"the seal cannot be read: {quoted(problem, 200)}")
