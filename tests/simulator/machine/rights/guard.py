# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The access lists of a machine's files, enforced for whoever acts.

Nobody is stopped from going through a folder: everybody has SeChangeNotifyPrivilege
(https://learn.microsoft.com/windows/security/threat-protection/security-policy-settings/bypass-traverse-checking).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from simulator.machine.access_lists import AccessLists, Descriptor, parse
from simulator.machine.rights import check
from simulator.machine.rights.acting import Acting
from simulator.machine.rights.tokens import Token
from simulator.machine.windows_paths import normalise, parent


class RightsError(PermissionError):
    """Somebody may not do what he asked for."""

    def __str__(self) -> str:
        return str(self.strerror)


class AccessDeniedError(RightsError):
    """ERROR_ACCESS_DENIED. `path` is what may not be used so."""

    def __init__(self, path: str) -> None:
        super().__init__(13, f"Access to the path '{path}' is denied.")
        self.path = path


class InvalidOwnerError(RightsError):
    """ERROR_INVALID_OWNER (1307)."""

    def __init__(self) -> None:
        super().__init__(1, "The security identifier is not allowed to be the owner of this object.")


class Guard:
    """Says what may be done with files.

    Args:
        lists: the machine's access lists.
        acting: who acts.
        follow: returns the path that a path means once its links are followed, in one form and in lower case.
    """

    def __init__(self, lists: AccessLists, acting: Acting | None, follow: Callable[[str], str]) -> None:
        self._lists, self._acting, self._follow = lists, acting, follow
        # What was found, by path and token, for the lists as they are now.
        self._known: dict[tuple[str, Token], tuple[Descriptor, int]] = {}

    def following(self, follow: Callable[[str], str]) -> Guard:
        """Return a guard of the same lists for whoever sees the files under other paths."""
        return Guard(self._lists, self._acting, follow)

    @property
    def token(self) -> Token | None:
        """Who acts; None: Windows."""
        return self._acting.token if self._acting else None

    def require(self, path: str, rights: int, enabled: Collection[str] = ()) -> None:
        """Raise AccessDeniedError unless whoever acts has all these rights on what exists."""
        token = self.token
        if token is not None and rights & ~self._granted(self._follow(path), token, enabled):
            raise AccessDeniedError(path)

    def require_child(self, path: str, *, folder: bool) -> None:
        """Raise AccessDeniedError unless whoever acts may make something new at a path; its folder exists."""
        token = self.token
        wanted = check.ADD_FOLDER if folder else check.ADD_FILE
        if token is not None and wanted & ~self._granted(self._follow(parent(path)), token, ()):
            raise AccessDeniedError(path)

    def may_delete(self, path: str) -> bool:
        """Return whether whoever acts may delete or rename something: by its own list, or by its folder's."""
        token = self.token
        if token is None:
            return True
        above = self._follow(parent(path))
        # A link is deleted itself, not what it leads to.
        own = above.rstrip("\\") + "\\" + normalise(path).rpartition("\\")[2].casefold()
        return bool(
            self._granted(own, token, ()) & check.DELETE or self._granted(above, token, ()) & check.DELETE_CHILD
        )

    def require_delete(self, path: str) -> None:
        """Raise AccessDeniedError unless whoever acts may delete or rename something."""
        if not self.may_delete(path):
            raise AccessDeniedError(path)

    def sees(self, path: str) -> bool:
        """Return whether whoever acts can read the attributes of what exists, or list the folder that it lies in.

        https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfileattributesw
        """
        token = self.token
        if token is None:
            return True
        own = self._granted(self._follow(path), token, ())
        return bool(own & check.READ_ATTRIBUTES or self._granted(self._follow(parent(path)), token, ()) & check.LIST)

    def require_change(self, path: str, sddl: str, enabled: Collection[str] = ()) -> None:
        """Check that whoever acts may set what SDDL names.

        Raises: AccessDeniedError, InvalidOwnerError, ValueError
        """
        token = self.token
        if token is None:
            return
        wanted = parse(sddl)
        owner, listed = wanted.owner is not None, wanted.entries is not None
        # Whoever has become the owner may set the list.
        if owner:
            self.require(path, check.WRITE_OWNER, enabled)
            if not check.may_own(token, wanted.owner or "", enabled):
                raise InvalidOwnerError
        if listed and not owner:
            self.require(path, check.WRITE_DAC, enabled)

    def made(self, key: str) -> None:
        """Note the owner of something new."""
        token = self.token
        if token is not None and not token.administrative:
            self._lists.own(key, token.owner)

    def _granted(self, key: str, token: Token, enabled: Collection[str]) -> int:
        descriptor = self._lists.descriptor(key)
        if enabled:
            return check.granted(descriptor, token, enabled)
        known = self._known.get((key, token))
        # The lists keep their descriptors until one of them changes.
        if known is None or known[0] is not descriptor:
            known = (descriptor, check.granted(descriptor, token))
            self._known[key, token] = known
        return known[1]
