# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Enforce the access lists of a machine's files for the acting user.

Traversing folders is always allowed, because everyone has SeChangeNotifyPrivilege
(https://learn.microsoft.com/windows/security/threat-protection/security-policy-settings/bypass-traverse-checking).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from simulator.machine.access_lists import AccessLists, SecurityDescriptor, parse
from simulator.machine.rights import check
from simulator.machine.rights.acting import Acting
from simulator.machine.rights.tokens import Token
from simulator.machine.windows_paths import normalise, parent


class RightsError(PermissionError):
    """Raised if the acting user lacks a right."""

    def __str__(self) -> str:
        return str(self.strerror)


class AccessDeniedError(RightsError):
    """Raised if the acting user is denied access to the item `path` (ERROR_ACCESS_DENIED)."""

    def __init__(self, path: str) -> None:
        super().__init__(13, f"Access to the path '{path}' is denied.")
        self.path = path


class InvalidOwnerError(RightsError):
    """Raised if the acting user may not set the requested owner (ERROR_INVALID_OWNER, 1307)."""

    def __init__(self) -> None:
        super().__init__(1, "The security identifier is not allowed to be the owner of this object.")


class Guard:
    """The guard of a machine's files, which checks whether the acting user may access a file.

    Args:
        lists: the machine's access lists.
        acting: the tokens of the machine's threads; None disables all checks.
        follow: a function that follows all links in a path, and returns the target's normalized path in lower case.
    """

    def __init__(self, lists: AccessLists, acting: Acting | None, follow: Callable[[str], str]) -> None:
        self._lists, self._acting, self._follow = lists, acting, follow
        # Cached results for the current lists, by path and token.
        self._known: dict[tuple[str, Token], tuple[SecurityDescriptor, int]] = {}

    def following(self, follow: Callable[[str], str]) -> Guard:
        """Return a guard with the same access lists but another function for following links, such as a container's."""
        return Guard(self._lists, self._acting, follow)

    @property
    def token(self) -> Token | None:
        """The token of the acting user. None means that Windows itself acts, or that checks are disabled."""
        return self._acting.token if self._acting else None

    def require(self, path: str, rights: int, enabled: Collection[str] = ()) -> None:
        """Raise AccessDeniedError unless the acting user has all of the given rights on an existing item."""
        token = self.token
        if token is not None and rights & ~self._granted(self._follow(path), token, enabled):
            raise AccessDeniedError(path)

    def require_child(self, path: str, *, folder: bool) -> None:
        """Raise AccessDeniedError unless the acting user may create an item at a path.

        The parent folder must exist.
        """
        token = self.token
        requested = check.ADD_FOLDER if folder else check.ADD_FILE
        if token is not None and requested & ~self._granted(self._follow(parent(path)), token, ()):
            raise AccessDeniedError(path)

    def may_delete(self, path: str) -> bool:
        """Return whether the access list of an item or its folder lets the acting user delete or rename the item."""
        token = self.token
        if token is None:
            return True
        above = self._follow(parent(path))
        # To delete a link, the user needs the right on the link itself, not on its target.
        own = above.rstrip("\\") + "\\" + normalise(path).rpartition("\\")[2].casefold()
        return bool(
            self._granted(own, token, ()) & check.DELETE or self._granted(above, token, ()) & check.DELETE_CHILD
        )

    def require_delete(self, path: str) -> None:
        """Raise AccessDeniedError unless the acting user may delete or rename an item."""
        if not self.may_delete(path):
            raise AccessDeniedError(path)

    def sees(self, path: str) -> bool:
        """Return whether the acting user may read the attributes of an existing item.

        The right to list the folder that contains the item is sufficient.

        Source: https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfileattributesw
        """
        token = self.token
        if token is None:
            return True
        own = self._granted(self._follow(path), token, ())
        return bool(own & check.READ_ATTRIBUTES or self._granted(self._follow(parent(path)), token, ()) & check.LIST)

    def require_change(self, path: str, sddl: str, enabled: Collection[str] = ()) -> None:
        """Check that the acting user may set the parts of a security descriptor that the SDDL contains.

        Raises:
            AccessDeniedError: the acting user lacks a right.
            InvalidOwnerError: the acting user is not allowed to set the owner in the SDDL.
            ValueError: the SDDL is invalid.
        """
        token = self.token
        if token is None:
            return
        requested = parse(sddl)
        owner, listed = requested.owner is not None, requested.entries is not None
        # The new owner may set the list.
        if owner:
            self.require(path, check.WRITE_OWNER, enabled)
            if not check.may_own(token, requested.owner or "", enabled):
                raise InvalidOwnerError
        if listed and not owner:
            self.require(path, check.WRITE_DAC, enabled)

    def made(self, key: str) -> None:
        """Record the owner of a new item."""
        token = self.token
        if token is not None and not token.administrative:
            self._lists.own(key, token.owner)

    def _granted(self, key: str, token: Token, enabled: Collection[str]) -> int:
        descriptor = self._lists.descriptor(key)
        if enabled:
            return check.granted(descriptor, token, enabled)
        known = self._known.get((key, token))
        # The lists return the same descriptors until one of them changes.
        if known is None or known[0] is not descriptor:
            known = (descriptor, check.granted(descriptor, token))
            self._known[key, token] = known
        return known[1]
