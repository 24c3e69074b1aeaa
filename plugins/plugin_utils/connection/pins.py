# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read and update the controller's PEM file of trusted server certificates."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import tempfile
import typing as t

try:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding
except ImportError:  # a dependency of pypsrp and pywinrm
    x509 = None  # type: ignore[assignment]


def read_pins(path: pathlib.Path) -> list[x509.Certificate]:
    """Return the certificates in a file, or an empty list if the file does not exist.

    Raises:
        ValueError: the file is not PEM.
        OSError: the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    return x509.load_pem_x509_certificates(content) if content.strip() else []


def update_pins(
    path: pathlib.Path, *, add: t.Iterable[x509.Certificate] = (), remove: t.Iterable[x509.Certificate] = ()
) -> bool:
    """Add certificates to a PEM file, and remove certificates from it, in one atomic update.

    Several hosts may share a file, and Ansible works on many hosts at the same time, so writers use a lock.

    Args:
        path: path of the file. The file and its folder are created if missing.
        add: certificates to add.
        remove: certificates to remove.

    Returns:
        Whether the file changed.

    Raises:
        ValueError: the file is not PEM.
        OSError: the file cannot be read or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        known = read_pins(path)
        removed = list(remove)
        pins = [each for each in known if each not in removed]
        pins += [each for each in add if each not in pins]
        if pins == known:
            return False
        _replace(path, b"".join(each.public_bytes(Encoding.PEM) for each in pins))
        return True


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> t.Iterator[None]:
    """Lock out other processes on this controller.

    The lock is on a separate file, because an update replaces the file of certificates.
    """
    # All users who may write to the folder may change the pins, so they must be able to open the lock file.
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: pathlib.Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Certificates are public, and other operators may use the same inventory.
        pathlib.Path(name).chmod(0o644)
        pathlib.Path(name).replace(path)
    except BaseException:
        pathlib.Path(name).unlink(missing_ok=True)
        raise
