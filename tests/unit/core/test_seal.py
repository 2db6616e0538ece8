# SPDX-License-Identifier: Apache-2.0
"""Seals, against published vectors and an implementation that is not ours."""

import base64
import json

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from truegreen.core import seal
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem, UsageProblem

FILES = {"a.json": Sha256("sha256:" + "1" * 64), "b.json": Sha256("sha256:" + "2" * 64)}
SAID = {"predicate_type": "urn:truegreen:recording:v1", "predicate": {"recorded_at": "2026-01-01T10:00:00Z"}}


@pytest.fixture(scope="module")
def private():
    """A recorder's key."""
    return seal.new_private_key()


@pytest.fixture(scope="module")
def key(private):
    """Its public half, as a policy lists it."""
    return seal.public_key(private)


@pytest.fixture(scope="module")
def data(private):
    """Two sealed files."""
    return seal.sealed_bytes(FILES, private_key=private, **SAID)


def changed(data, **changes):
    """The envelope with other fields."""
    return json.dumps(json.loads(data) | changes).encode()


def stated(private, **changes):
    """An envelope around another statement, signed rightly."""
    statement = {
        "_type": seal.STATEMENT_TYPE,
        "subject": [{"name": "a.json", "digest": {"sha256": "1" * 64}}],
        "predicateType": "urn:x",
        "predicate": {},
    }
    payload = json.dumps(statement | changes).encode()
    return enveloped(private, payload)


def enveloped(private, payload, payload_type=seal.PAYLOAD_TYPE):
    """An envelope around these bytes, signed rightly."""
    signer = serialization.load_pem_private_key(private, None)
    return json.dumps(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": payload_type,
            "signatures": [{"sig": base64.b64encode(signer.sign(seal.pae(payload_type, payload))).decode()}],
        }
    ).encode()


def test_the_published_encoding_comes_out():
    """The example of the specification, and the signature that it publishes over it."""
    signed = seal.pae("http://example.com/HelloWorld", b"hello world")
    assert b"DSSEv1 29 http://example.com/HelloWorld 11 hello world" == signed
    raw = base64.b64decode(
        "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="
    )
    point = ec.EllipticCurvePublicNumbers(
        46950820868899156662930047687818585632848591499744589407958293238635476079160,
        5640078356564379163099075877009565129882514886557779369047442380624545832820,
        ec.SECP256R1(),
    )
    both = utils.encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    point.public_key().verify(both, signed, ec.ECDSA(hashes.SHA256()))


def test_lengths_are_bytes():
    """A letter of two bytes counts twice, an empty payload as none."""
    assert b"DSSEv1 2 \xc3\xa9 0 " == seal.pae("é", b"")


def test_another_implementation_believes_our_seal(data, key):
    """Securesystemslib verifies it with our public key."""
    theirs = SSlibKey(seal.key_id(key), "ed25519", "ed25519", {"public": seal.key_bytes(key).hex()})
    envelope = Envelope.from_dict(json.loads(data))
    assert [seal.key_id(key)] == list(envelope.verify([theirs], 1))
    envelope.payload += b" "
    with pytest.raises(VerificationError):
        envelope.verify([theirs], 1)


def test_we_believe_another_implementations_seal(data):
    """An envelope that securesystemslib signed opens with its key."""
    signer = CryptoSigner(ed25519.Ed25519PrivateKey.generate())
    payload = base64.b64decode(json.loads(data)["payload"])
    envelope = Envelope(payload, seal.PAYLOAD_TYPE, {})
    envelope.sign(signer)
    public = signer._private_key.public_key().public_bytes_raw()
    key = seal.KEY_PREFIX + base64.b64encode(public).decode()
    assert FILES == dict(seal.opened(json.dumps(envelope.to_dict()).encode(), [key]).files)


def test_a_seal_says_what_it_seals(data, key):
    """Files, what is said of them, and which key signed."""
    found = seal.opened(data, [seal.public_key(seal.new_private_key()), key])
    assert (FILES, SAID["predicate_type"], SAID["predicate"], key) == (
        dict(found.files),
        found.predicate_type,
        dict(found.predicate),
        found.key,
    )


def test_url_safe_base64_is_read_too(data, key):
    """A verifier has to take either alphabet."""
    envelope = json.loads(data)
    for signature in envelope["signatures"]:
        signature["sig"] = signature["sig"].replace("+", "-").replace("/", "_")
    assert FILES == dict(seal.opened(json.dumps(envelope).encode(), [key]).files)


def test_only_a_listed_key_counts(data):
    """A good signature by somebody else is no contradiction and proves nothing."""
    with pytest.raises(EvidenceProblem) as caught:
        seal.opened(data, [seal.public_key(seal.new_private_key())])
    assert ("seal-unknown-key", False) == (caught.value.code, caught.value.contradictory)


def test_a_signature_that_names_a_listed_key_and_does_not_fit_is_forged(data, key):
    """One changed byte of the payload contradicts the key that the envelope names."""
    payload = base64.b64decode(json.loads(data)["payload"]).replace(b"1111", b"1112")
    with pytest.raises(EvidenceProblem) as caught:
        seal.opened(changed(data, payload=base64.b64encode(payload).decode()), [key])
    assert ("seal-unknown-key", True) == (caught.value.code, caught.value.contradictory)


def test_the_type_is_signed(data, key):
    """The same bytes under another type are not signed."""
    with pytest.raises(EvidenceProblem) as caught:
        seal.opened(changed(data, payloadType="text/plain"), [key])
    assert "seal-unknown-key" == caught.value.code


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"{}",
        b"[]",
        b'{"payload":"","payload":"","payloadType":"","signatures":[]}',
        b'{"payload":"","payloadType":"","signatures":[],"more":1}',
        b'{"payload":"?","payloadType":"","signatures":[]}',
        b'{"payload":"","payloadType":"","signatures":[{"sig":"?"}]}',
        b"\xff",
    ],
)
def test_what_is_no_envelope_is_refused(hostile, key):
    """Bytes of another form never become a seal, and never a traceback."""
    with pytest.raises(EvidenceProblem) as caught:
        seal.opened(hostile, [key])
    assert "seal-unreadable" == caught.value.code


@pytest.mark.parametrize(
    "changes",
    [
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"subject": []},
        {"subject": [{"name": "a.json", "digest": {"sha256": "11"}}]},
        {"subject": [{"name": "a.json", "digest": {"sha512": "1" * 64}}]},
        {"subject": [{"name": "a", "digest": {"sha256": d * 64}} for d in "12"]},
        {"predicate": None},
        {"more": 1},
    ],
)
def test_what_a_listed_key_signed_is_still_read_strictly(private, key, changes):
    """An abbreviated digest, a file with two, another statement: refused though the signature fits."""
    with pytest.raises(EvidenceProblem) as caught:
        seal.opened(stated(private, **changes), [key])
    assert "seal-unreadable" == caught.value.code


def test_bytes_that_are_no_statement_are_refused(private, key):
    """A signature over something else is no seal of files."""
    for payload, kind in ((b"hello", seal.PAYLOAD_TYPE), (b"{}", "text/plain")):
        with pytest.raises(EvidenceProblem) as caught:
            seal.opened(enveloped(private, payload, kind), [key])
        assert "seal-unreadable" == caught.value.code


def test_a_file_named_twice_with_one_digest_is_one_file(private, key):
    """Saying the same twice contradicts nothing."""
    twice = [{"name": "a.json", "digest": {"sha256": "1" * 64}}] * 2
    assert ["a.json"] == list(seal.opened(stated(private, subject=twice), [key]).files)


def test_nothing_is_not_sealed(private):
    """A seal without files would cover anything."""
    with pytest.raises(EvidenceProblem) as caught:
        seal.sealed_bytes({}, private_key=private, **SAID)
    assert "seal-empty" == caught.value.code


@pytest.mark.parametrize("key", ["", "ed25519:", "ed25519:AAAA", "rsa:AAAA", "ed25519:" + "é" * 44])
def test_a_key_in_another_spelling_is_refused(key):
    """Nothing but the whole form counts as a key."""
    with pytest.raises(UsageProblem) as caught:
        seal.key_bytes(key)
    assert "bad-key" == caught.value.code


def test_another_private_key_is_refused():
    """Text, another algorithm or a pass phrase."""
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    locked = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"phrase"),
    )
    for pem in (b"no key", other, locked):
        with pytest.raises(UsageProblem) as caught:
            seal.public_key(pem)
        assert "bad-key" == caught.value.code


def test_the_same_seal_has_the_same_bytes(private, data):
    """ed25519 and canonical JSON leave nothing to chance."""
    assert data == seal.sealed_bytes(FILES, private_key=private, **SAID)
