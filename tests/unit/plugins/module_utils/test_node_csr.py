# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Only the certificate request of the kubelet with the token is approved, whatever other requests there are."""

from __future__ import annotations

import base64
import functools
import ipaddress
import typing as t

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.module_utils.node_csr import SIGNER, approval, decide, is_issued

EXPECTED = {"win1": "aaaaaa", "win2": "bbbbbb"}
USAGES = ["digital signature", "client auth"]
SANS = [
    x509.DNSName("win1"),
    x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
    x509.RFC822Name("a@example.com"),
    x509.UniformResourceIdentifier("https://example.com"),
]


@functools.cache
def key(number: int) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@functools.cache
def pem(
    common: tuple[str, ...], organizations: tuple[str, ...], sans: tuple[int, ...], number: int, unit: bool = False
) -> str:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    names += [x509.NameAttribute(NameOID.COMMON_NAME, one) for one in common]
    names += [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "x")] if unit else []
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    if sans:
        builder = builder.add_extension(x509.SubjectAlternativeName([SANS[one] for one in sans]), critical=False)
    return builder.sign(key(number), hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def request(
    common: t.Sequence[str] = ("system:node:win1",),
    organizations: t.Sequence[str] = ("system:nodes",),
    sans: t.Sequence[int] = (),
    number: int = 1,
    *,
    name: str = "node-csr-1",
    username: str = "system:bootstrap:aaaaaa",
    conditions: t.Sequence[str] = (),
    unit: bool = False,
    **spec: t.Any,
) -> dict[str, t.Any]:
    text = pem(tuple(common), tuple(organizations), tuple(sans), number, unit)
    encoded = base64.b64encode(text.encode()).decode()
    whole = {"request": encoded, "signerName": SIGNER, "usages": USAGES, "username": username, **spec}
    return {
        "metadata": {"name": name},
        "spec": whole,
        "status": {"conditions": [{"type": one, "status": "True"} for one in conditions]},
    }


def test_a_kubelets_request_is_approved() -> None:
    (verdict,) = decide([request()], EXPECTED, ready=["win2"])
    assert verdict == ("node-csr-1", "win1", "approve", "")


def test_an_older_kubelet_has_an_rsa_key() -> None:
    name = x509.Name([
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, "system:node:win1"),
    ])  # fmt: skip
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = x509.CertificateSigningRequestBuilder().subject_name(name).sign(private, hashes.SHA256())
    encoded = base64.b64encode(text.public_bytes(Encoding.PEM)).decode()
    asked = request(request=encoded, usages=[*USAGES, "key encipherment"])
    assert [one.decision for one in decide([asked], EXPECTED, [])] == ["approve"]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request(common=["system:node:ubuntu01"]), "common name is 'system:node:ubuntu01'"),
        (request(common=["system:node:win2"]), "expected 'system:node:win1'"),
        (request(common=["system:node:WIN1"]), "common name"),
        (request(common=["system:node:win1", "system:node:ubuntu01"]), "common name"),
        (request(common=[]), "common name is missing"),
        (request(organizations=["system:masters"]), "organization is 'system:masters'"),
        (request(organizations=["system:nodes", "system:masters"]), "organization"),
        (request(organizations=[]), "organization is missing"),
        (request(unit=True), "more than a common name"),
        *((request(sans=[number]), "subject alternative names") for number in range(len(SANS))),
        (request(signerName="kubernetes.io/kube-apiserver-client"), "signer"),
        (request(usages=[*USAGES, "server auth"]), "usages"),
        (request(usages=["client auth"]), "usages"),
        (request(usages="client auth"), "usages"),
        (request(request=base64.b64encode(b"none").decode()), "cannot be read"),
        (request(request="not base64!"), "cannot be read"),
        (request(request=None), "cannot be read"),
        (request(conditions=["Denied"]), "denied"),
        (request(conditions=["Approved", "Failed"]), "could not be signed"),
    ],
)
def test_a_request_that_no_kubelet_sends_is_refused(asked: dict[str, t.Any], reason: str) -> None:
    (verdict,) = decide([asked], EXPECTED, [])
    assert (verdict.node, verdict.decision) == ("win1", "refuse")
    assert reason in verdict.reason


def test_a_request_whose_signature_is_not_its_keys() -> None:
    der = bytearray(x509.load_pem_x509_csr(pem(("system:node:win1",), ("system:nodes",), (), 1).encode()).public_bytes(
        Encoding.DER
    ))  # fmt: skip
    der[-1] ^= 1
    text = b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.encodebytes(bytes(der))
    text += b"-----END CERTIFICATE REQUEST-----\n"
    (verdict,) = decide([request(request=base64.b64encode(text).decode())], EXPECTED, [])
    assert verdict.decision == "refuse"


@pytest.mark.parametrize(
    "username", ["system:bootstrap:cccccc", "system:node:win1", "kubernetes-admin", "aaaaaa", "", None]
)
def test_requests_of_others_are_left_alone(username: str | None) -> None:
    asked = request()
    asked["spec"]["username"] = username
    assert decide([asked], EXPECTED, []) == []


def test_two_keys_for_one_name() -> None:
    first, second = request(number=1, name="one"), request(number=2, name="two")
    verdicts = decide([first, second, request(number=3, common=["system:node:win2"], name="three",
                                              username="system:bootstrap:bbbbbb")], EXPECTED, [])  # fmt: skip
    assert [one.decision for one in verdicts] == ["refuse", "refuse", "approve"]
    assert "2 different keys used the token that this run created for win1" in verdicts[0].reason


def test_requests_for_other_names_are_no_conflict() -> None:
    """A user who reads a token cannot block the join of its node with requests for other names."""
    verdicts = decide([request(), request(number=2, name="two", common=["system:node:ubuntu01"])], EXPECTED, [])
    assert [one.decision for one in verdicts] == ["approve", "refuse"]


def test_a_second_key_after_the_first_was_approved() -> None:
    verdicts = decide([request(number=1, conditions=["Approved"]), request(number=2, name="two")], EXPECTED, [])
    assert [one.decision for one in verdicts] == ["refuse", "refuse"]


def test_a_kubelet_that_was_started_again_asks_with_the_same_key() -> None:
    verdicts = decide([request(conditions=["Approved"]), request(name="again")], EXPECTED, [])
    assert [one.decision for one in verdicts] == ["approved", "approve"]


def test_the_name_of_a_ready_node_is_not_assigned_twice() -> None:
    (verdict,) = decide([request()], EXPECTED, ready=["win1"])
    assert verdict.decision == "refuse"
    assert "delete it first" in verdict.reason
    # Approvals from before it became Ready are not a problem.
    (verdict,) = decide([request(conditions=["Approved"])], EXPECTED, ready=["win1"])
    assert verdict.decision == "approved"


def test_a_token_is_for_one_node() -> None:
    with pytest.raises(ValueError, match="a different token for each node"):
        decide([], {"win1": "aaaaaa", "win2": "aaaaaa"}, [])


def test_a_reason_shows_no_control_characters() -> None:
    (verdict,) = decide([request(common=["system:node:\x1b]0;title\x07" + "x" * 40])], EXPECTED, [])
    assert verdict.reason.isprintable()


def test_the_approval_keeps_what_is_there() -> None:
    asked = request(conditions=["Other"])
    body = approval(asked, "because", "2026-11-22T12:00:00Z")
    assert [one["type"] for one in body["status"]["conditions"]] == ["Other", "Approved"]
    assert asked["status"]["conditions"] == [{"type": "Other", "status": "True"}]
    assert not is_issued(asked)
    assert is_issued({"status": {"certificate": "eA=="}})


ASKED = st.builds(
    request,
    common=st.lists(
        st.sampled_from(["system:node:win1", "system:node:win2", "system:node:ubuntu01", "win1", "kubernetes-admin"]),
        max_size=2,
    ).map(tuple),
    organizations=st.lists(st.sampled_from(["system:nodes", "system:masters"]), max_size=2).map(tuple),
    sans=st.lists(st.integers(0, 3), max_size=1).map(tuple),
    number=st.integers(1, 3),
    name=st.sampled_from(["a", "b", "c"]),
    username=st.sampled_from(["system:bootstrap:aaaaaa", "system:bootstrap:bbbbbb", "system:bootstrap:other1", "x"]),
    conditions=st.lists(st.sampled_from(["Approved", "Denied", "Failed"]), max_size=1).map(tuple),
    signerName=st.sampled_from([SIGNER, "kubernetes.io/kube-apiserver-client", None]),
    usages=st.sampled_from([USAGES, ["client auth"], [*USAGES, "server auth"], None]),
)


@given(asked=st.lists(ASKED, max_size=5), ready=st.sets(st.sampled_from(["win1", "win2"])))
def test_only_the_expected_request_is_approved(asked: list[dict[str, t.Any]], ready: set[str]) -> None:
    verdicts = decide(asked, EXPECTED, ready)
    ours = {f"system:bootstrap:{token_id}" for token_id in EXPECTED.values()}
    assert len(verdicts) == sum(one["spec"]["username"] in ours for one in asked)
    for verdict in verdicts:
        if verdict.decision != "approve":
            continue
        assert verdict.node not in ready
        possible = [
            one["spec"]
            for one in asked
            if one["metadata"]["name"] == verdict.request
            and one["spec"]["username"] == f"system:bootstrap:{EXPECTED[verdict.node]}"
            and one["spec"]["signerName"] == SIGNER
            and one["spec"]["usages"] == USAGES
        ]
        requested = {
            pem((f"system:node:{verdict.node}",), ("system:nodes",), (), number, False) for number in (1, 2, 3)
        }
        assert {base64.b64decode(spec["request"]).decode() for spec in possible} & requested


SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "é", "\x00", SIGNER]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["", "a"]), inner, max_size=3),
    max_leaves=6,
)


@given(
    spec=st.fixed_dictionaries(
        {"username": st.just("system:bootstrap:aaaaaa")},
        optional={"request": SHAPES, "signerName": SHAPES, "usages": SHAPES},
    )
)
def test_a_request_of_any_shape_ends_in_a_refusal(spec: dict[str, t.Any]) -> None:
    (verdict,) = decide([{"metadata": {"name": "x"}, "spec": spec}], EXPECTED, [])
    assert verdict.decision == "refuse"


@given(data=st.binary(max_size=300))
def test_invalid_bytes_are_refused_as_a_request(data: bytes) -> None:
    (verdict,) = decide([request(request=base64.b64encode(data).decode())], EXPECTED, [])
    assert verdict.decision == "refuse"
