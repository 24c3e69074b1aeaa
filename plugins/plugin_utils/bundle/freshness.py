# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reject bundles that are too old, or older than the last used bundle, because old software may be vulnerable."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import json
import os
import pathlib
import typing as t

from . import keys
from .index import BundleError
from .verify import Bundle

_OLDER = (
    "{0}: expected an index at least as new as the one used last (serial {3}), got serial {1}, signed {2}: an old "
    "bundle may have replaced the newer one. bundle_allow_older: true accepts the older bundle"
)


def state_file() -> pathlib.Path:
    """Return the path of the file that records which bundles this controller has used.

    The path follows the XDG Base Directory Specification.
    """
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return pathlib.Path(base).expanduser() / "winkube" / "bundles.json"


def check(
    bundle: Bundle, public: str, *, max_age: int, allow_older: bool, state: pathlib.Path, now: datetime.datetime
) -> str:
    """Reject a bundle that is too old, or older than the last used bundle in the same folder. Record accepted bundles.

    Args:
        bundle: a verified bundle.
        public: the bundle's public key, or the path of the key's file.
        max_age: maximum number of days since the bundle was signed, or 0 for no maximum.
        allow_older: whether to accept a bundle that is older than the last one, and to record it as the last one.
        state: path of the file that records the used bundles.
        now: the current time.

    Returns:
        A warning if the accepted bundle could not be compared with the last one or could not be recorded, or an empty
        string if there is nothing to warn about.

    Raises:
        BundleError: the bundle is older than `max_age`, or older than the last one and `allow_older` is false.
    """
    where, stamp = f"bundle_dir {bundle.directory}", bundle.stamp
    age = stamp.age(now)
    if max_age and (age is None or age > datetime.timedelta(days=max_age)):
        made = stamp.made or "at an unknown time"
        raise BundleError(
            f"{where}: expected an index that was signed in the last {max_age} days (bundle_max_age), got one signed "
            f"{made}. Build the bundle again with bundle.yml and bundle_refresh: true, or increase bundle_max_age"
        )
    name = _name(bundle, public)
    try:
        state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(state):
            seen = _read(state)
            last = seen.get(name, 0)
            if stamp.serial < last and not allow_older:
                raise BundleError(_OLDER.format(where, stamp.serial, stamp.made or "at an unknown time", last))
            if stamp.serial != last:
                _write(state, {**seen, name: stamp.serial})
    except OSError as error:
        return (
            f"{where}: could not check whether the bundle is older than the one used last: "
            f"{state}: {error.strerror or error}"
        )
    return ""


def _name(bundle: Bundle, public: str) -> str:
    """Return a hash that identifies a bundle by its key and its folder, because one key may sign several bundles."""
    key = keys.public_pem(keys.public_key(public))
    return hashlib.sha256(key + b"\0" + str(bundle.directory).encode()).hexdigest()


@contextlib.contextmanager
def _alone(state: pathlib.Path) -> t.Iterator[None]:
    with state.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(state: pathlib.Path) -> dict[str, int]:
    try:
        content = json.loads(state.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    known = content if isinstance(content, dict) else {}
    return {str(name): value for name, value in known.items() if isinstance(value, int)}


def _write(state: pathlib.Path, seen: t.Mapping[str, int]) -> None:
    part = state.with_suffix(".part")
    part.write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.chmod(0o600)
    part.replace(state)
