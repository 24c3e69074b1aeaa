# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A file on the controller that contains one password, and that only its owner can access."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import tempfile
import typing as t

from ..values.errors import ResourceError

_VAULT = "$ANSIBLE_VAULT"


class PasswordFile:
    """A file with one password.

    Args:
        path: the file's path. Its folder is created with mode 0700, together with the file.
        option: the option that contains the path, for messages.
    """

    def __init__(self, path: str, option: str) -> None:
        self._path, self._option = pathlib.Path(path), option

    def check(self) -> None:
        """Check that only the owner can access the file or, if there is no file, that it can be created. Write nothing.

        Raises:
            ResourceError: other users can access the file, or its folder is not writable.
        """
        try:
            mode = stat.S_IMODE(self._path.stat().st_mode) if self._path.exists() else 0
            folder = next(folder for folder in self._path.absolute().parents if folder.exists())
        except OSError as error:
            raise self._error(f"expected a file that can be read and written ({error.strerror})") from error
        if not folder.is_dir():
            raise self._error(f"expected a file that can be read and written, but {folder} is not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise self._error(f"expected a file that can be read and written, but {folder} is not writable")
        if mode & 0o077:
            raise self._error(f"expected a file with mode 0600, got 0{mode:o}, which lets other users access it")

    def exists(self) -> bool:
        """Return whether the file exists and is not empty. The password may be encrypted with Ansible Vault.

        Raises:
            ResourceError: the file cannot be read.
        """
        return bool(self._text())

    def read_or_create(self, create: t.Callable[[], str]) -> str:
        """Return the password in the file. If the file is missing or empty, first write a new password to it.

        Args:
            create: the function that returns a new password.

        Raises:
            ResourceError: the file is encrypted, or cannot be read or written.
        """
        known = self._text()
        if not known:
            self._create(create())
            known = self._text()
        if known.startswith(_VAULT):
            raise self._error(
                "expected a password, got a file that is encrypted with Ansible Vault. Decrypt it for this run "
                "(ansible-vault decrypt)"
            )
        return known

    def _create(self, password: str) -> None:
        """Create the file with the password, unless a parallel process for another host has just created the file."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._path.exists() and not self._text():
                self._path.unlink()
            # A temporary file has the mode 0600. A reader sees the whole file or none.
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, prefix=".password-", encoding="utf-8") as file:
                file.write(f"{password}\n")
                file.flush()
                with contextlib.suppress(FileExistsError):
                    os.link(file.name, self._path)
        except OSError as error:
            raise self._error(f"expected a file that can be written ({error.strerror})") from error

    def _text(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8").strip() if self._path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise self._error(f"expected a text file that can be read ({type(error).__name__})") from error

    def _error(self, expected: str) -> ResourceError:
        return ResourceError(self._option, str(self._path), expected)
