# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patches that are files: the calls that download, verify and install a patch, and how to read their results (no I/O).

If a call fails, the calls that depend on it are skipped. Other patches are still installed, because no call depends on
a call for another patch.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..downloads import attempts, curl
from ..downloads.curl_errors import describe_curl_error
from ..remote.upload import COMMIT, join_calls, join_scope
from ..resources.artifact import Artifact
from ..windows.signatures import SIGNATURE, is_thumbprint, signed_by, signer
from ..wire.calls import action, query
from ..wire.messages import EXISTS, MISSING, Call, CallResult, Json
from ..wire.scopes import Scope
from .codes import describe, hresult, meaning, unsigned
from .observe import CACHE, folder, path
from .outcome import Attempt, Outcome
from .patch import NodePatches, Patch, PatchFile, only_test_signing

_NOT_TRUSTED: tuple[Json, ...] = ("UnknownError", "NotTrusted")
"""Statuses that Get-AuthenticodeSignature returns if the signer's root certificate is not trusted, as with a test
signature."""
_UNSIGNED: tuple[Json, ...] = ("NotSigned", "NotSupportedFileFormat")
_DONE = (0, 3010, 1641)
_ALREADY = 2359302
_UNTRUSTED = (0x800B0109, 0x800B010A, 0x800B0112)
"""Error codes for an untrusted root certificate. Installers also report these codes between enabling test signing and
the reboot that activates test signing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileRules:
    """The user's rules about which patch files are allowed, and how a node downloads these files."""

    test_signing: bool = True
    allowed_signers: tuple[str, ...] = ()
    """Subjects of the signers' certificates, or their thumbprints, but never both."""
    route: curl.DownloadRoute = dataclasses.field(default_factory=curl.DownloadRoute)
    timeout: float = 7200.0
    """Time limit for one installer and for one download, in seconds."""


def refusal(patch: Patch, node: NodePatches, rules: FileRules) -> str:
    """Return why a patch is rejected before any download, or an empty string if it is not rejected."""
    if not patch.test_signed:
        return ""
    if not rules.test_signing:
        return "it is test-signed, but test_signing is false"
    if node.secure_boot:
        return "it is test-signed, but Secure Boot is on: Windows would not load such files"
    return ""


def file_scope(number: int) -> Scope:
    """Return the scope (the common prefix of call IDs) for the calls that install one patch of a batch."""
    return Scope(f"p{number}.")


def file_calls(
    patch: Patch, node: NodePatches, rules: FileRules, present: CallResult, pushed: t.Mapping[str, int]
) -> tuple[Call, ...]:
    """Return the calls that install one patch.

    Args:
        patch: a patch with a file.
        node: the state of the node.
        rules: the user's rules.
        present: the result of `@read-file` for the paths of the patch's files.
        pushed: maps the path of each file that comes from the controller to the number of its uploaded pieces.
    """
    calls: list[Call] = []
    if only_test_signing(patch, node):
        return (_test_signing(()),)
    for index, file in enumerate(patch.files):
        calls += _fetch(patch, file, rules, present, pushed, index)
    have = tuple(f"have-{index}" for index in range(len(patch.files)))
    signature = tuple(_signature(patch, node, rules))
    calls += signature
    accepted = "unsigned" if any(call.id == "unsigned" for call in signature) else "signature"
    needs = (*have, accepted)
    if patch.test_signed and not node.test_signing:
        needs = (*needs, "testsigning")
    calls.append(_install(patch, rules, needs))
    gone: dict[str, Json] = {"LiteralPath": folder(patch), "Recurse": True, "Force": True}
    remove = action("remove", "Remove-Item", gone, needs=("install",))
    calls.append(dataclasses.replace(remove, on_error="continue"))
    return tuple(calls)


def sweep_call() -> Call:
    """Return the call that removes the folder of patch files if it is empty."""
    return action("sweep", "Remove-Item", {"LiteralPath": CACHE, "Confirm": False}, on_error="continue")


def _fetch(
    patch: Patch, file: PatchFile, rules: FileRules, present: CallResult, pushed: t.Mapping[str, int], index: int
) -> t.Iterator[Call]:
    """Yield the calls that download a file, or join the uploaded pieces of a file, and verify the checksum."""
    target = path(patch, file)
    if file.local:
        fetching = join_calls(target, file.sha256, pushed.get(target, 0), index)
    else:
        artifact = Artifact(
            name=file.name,
            path=target,
            urls=(file.url,),
            sha256=file.sha256,
            proxy=rules.route.proxy,
            no_proxy=rules.route.no_proxy,
            headers=rules.route.headers,
            ignore_revocation=rules.route.ignore_revocation,
            timeout=int(rules.timeout),
        )
        change = artifact.change_for({"file": present})
        scope = _download_scope(index)
        fetching = tuple(scope.call(call) for call in (change.calls if change else ()))
    yield from (dataclasses.replace(call, on_error="continue") for call in fetching)
    yield query(
        f"have-{index}",
        "@read-file",
        {"paths": [target], "hash": True},
        select=("exists", "sha256"),
        until={"sha256": file.sha256},
    )


def _download_scope(index: int) -> Scope:
    """Return the scope (the common prefix of call IDs) for the calls that download a file of a patch."""
    return Scope(f"get-{index}.")


def _signature(patch: Patch, node: NodePatches, rules: FileRules) -> t.Iterator[Call]:
    """Yield the calls that check a file's signature on the node and turn on test signing if the file needs it."""
    may_test = rules.test_signing and not node.secure_boot and patch.test_signed is not False
    allowed: dict[str, Json] = {"Status": ["Valid", *(_NOT_TRUSTED if may_test else ()), *_UNSIGNED]}
    if rules.allowed_signers:
        by_thumbprint = is_thumbprint(rules.allowed_signers[0])
        name, signers = signer(rules.allowed_signers)
        # Anyone can make a certificate with any subject, but a thumbprint identifies one certificate.
        allowed = {
            "Status": ["Valid", *(_NOT_TRUSTED if may_test and by_thumbprint else ())],
            name: signers,
        }
    target = path(patch, patch.files[0])
    check = query(
        "signature",
        "Get-AuthenticodeSignature",
        {"LiteralPath": target},
        select=SIGNATURE,
        until=allowed,
        needs=("have-0",),
    )
    yield check
    if not may_test and not rules.allowed_signers:
        # If there is no certificate, this kind of file cannot be signed, or the file is not a package, which the
        # installer reports.
        unsigned: dict[str, Json] = {"Status": list(_NOT_TRUSTED), "SignerCertificate": MISSING}
        yield dataclasses.replace(check, id="unsigned", until=unsigned, unless=("signature",))
    if not may_test or node.test_signing:
        return
    if patch.test_signed:
        yield _test_signing(("signature",))
        return
    # Require a certificate: a file that is not a package has the same status, but no certificate.
    marks: dict[str, Json] = {"Status": list(_NOT_TRUSTED), "SignerCertificate": EXISTS}
    yield dataclasses.replace(check, id="untrusted", until=marks, needs=("signature",))
    yield _test_signing(("untrusted",))


def _test_signing(needs: tuple[str, ...]) -> Call:
    return action(
        "testsigning", "bcdedit.exe", arguments=("/set", "testsigning", "on"), needs=needs, on_error="continue"
    )


def _install(patch: Patch, rules: FileRules, needs: tuple[str, ...]) -> Call:
    file = patch.files[0]
    target = path(patch, file)
    call = action("install", target, needs=needs, on_error="continue", timeout=rules.timeout, long=True, select=None)
    if file.extension == ".exe":
        return dataclasses.replace(call, arguments=patch.arguments, success_codes=_DONE)
    if file.extension == ".msu" and not patch.requires:
        return dataclasses.replace(
            call, command="wusa.exe", arguments=(target, "/quiet", "/norestart"), success_codes=(*_DONE, _ALREADY)
        )
    parameters: dict[str, Json] = {"Online": True, "PackagePath": target, "NoRestart": True}
    return dataclasses.replace(call, command="Add-WindowsPackage", parameters=parameters, select=("RestartNeeded",))


def read(patch: Patch, results: t.Mapping[str, CallResult], boots: int) -> Attempt:
    """Return the outcome of an attempt to install a patch.

    Args:
        patch: the patch.
        results: maps the ID of each call for the patch, without the scope's prefix, to the call's result.
        boots: number of reboots in this run so far.
    """
    signing = results.get("testsigning")
    signed = signing is not None and signing.ok and signing.skipped is None
    install = results.get("install")
    if install is None and signed:
        return Attempt(outcome="reboot", why="test signing was off", boots=boots, test_signing=True)
    if install is None or install.skipped is not None:
        outcome, why = _before(patch, results)
        return Attempt(outcome=outcome, why=why, boots=boots, test_signing=signed)
    outcome, why = _answer(patch, install)
    if outcome in ("failed", "not_applicable") and (hint := _hint(results.get("signature"))):
        why = f"{why}; {hint}"
    if signed and outcome in ("done", "already"):
        outcome = "reboot"
    elif signed and _code(install) in _UNTRUSTED:
        outcome, why = "reboot", f"{why}; test signing takes effect only after a reboot"
    return Attempt(outcome=outcome, why=why, boots=boots, seconds=install.seconds, test_signing=signed)


def _code(install: CallResult) -> int | None:
    """Return the installer's exit code or the HRESULT in its message, or None if there is neither."""
    if install.exit_code is not None:
        return unsigned(install.exit_code)
    return hresult(f"{install.error} {install.error.id}") if install.error else None


def _answer(patch: Patch, install: CallResult) -> tuple[Outcome, str]:
    """Return the outcome that the installer reported, and the explanation for it."""
    program = {".msu": "Add-WindowsPackage" if patch.requires else "wusa", ".cab": "Add-WindowsPackage"}
    name = program.get(patch.files[0].extension, patch.files[0].name)
    if install.exit_code is not None:
        kind = meaning(install.exit_code)
        return kind, f"{name}: {describe(install.exit_code) if install.exit_code else 'installed'}"
    if install.ok:
        restart = bool(install.first and install.first.get("RestartNeeded"))
        return ("reboot", f"{name}: installed, a reboot is needed") if restart else ("done", f"{name}: installed")
    code = _code(install)
    if code is None:
        return "failed", f"{name}: {install.error}"
    kind = meaning(code)
    return ("failed" if kind in ("done", "reboot", "already") else kind), f"{name}: {describe(code)}"


def _before(patch: Patch, results: t.Mapping[str, CallResult]) -> tuple[Outcome, str]:
    """Return the outcome, and why, for a patch whose installer did not run, based on the first call that failed."""
    for index, file in enumerate(patch.files):
        have = results.get(f"have-{index}")
        if have is None:
            return "temporary", "the batch ended before it reached this patch"
        if not have.ok:
            return "failed", _missing(file, index, have, results)
    signature = results.get("signature")
    if signature is not None and not signature.ok:
        return "failed", f"its signature is not accepted: {signed_by(signature)}"
    signing = results.get("testsigning")
    if signing is not None and not signing.ok:
        return (
            "failed",
            f"test signing could not be turned on: {(signing.stderr or signing.stdout or str(signing.error)).strip()}",
        )
    return "temporary", "the batch ended before it reached this patch"


def _missing(file: PatchFile, index: int, have: CallResult, results: t.Mapping[str, CallResult]) -> str:
    source = file.local or redact_url(file.url)
    steps = (_download_scope(index), join_scope(index))
    errors = [
        (scope.own(name), result)
        for name, result in results.items()
        for scope in steps
        if result.error is not None and name in scope
    ]
    for name, result in reversed(errors):
        if name in attempts.VERIFY or name == COMMIT:
            if result.error and "ChecksumMismatch" in result.error.id:
                return f"{source} does not have the expected SHA-256: {result.error.message}"
            continue
        if name in attempts.DOWNLOAD and result.exit_code is not None:
            return f"{source} was not downloaded: {describe_curl_error(result.exit_code)}"
    if errors:
        return f"{source} was not transferred: {errors[0][1].error}"
    actual = have.first.get("sha256") if have.first else None
    return (
        f"{source} is not on the node: expected SHA-256 {file.sha256}, got {actual}"
        if actual
        else f"{source} is not on the node"
    )


def _hint(signature: CallResult | None) -> str:
    """Return a hint that the file's signer is not trusted, or an empty string if the signature does not show this."""
    status = (signature.first or {}).get("Status") if signature is not None else None
    return f"its signature is {signed_by(t.cast('CallResult', signature))}" if status in _NOT_TRUSTED else ""
