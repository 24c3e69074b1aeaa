# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a host's variables before any node is touched. The only I/O is reading the collection's own files."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import pathlib
import re
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ...module_utils.redaction import hidden
from ...module_utils.redaction.names import may_be_secret
from ..lifecycle import rollout_times
from ..role_variables import roles as role_variables
from ..specification.variable import Variable
from ..values import version_support
from ..values.errors import refusal
from ..values.shown import AsItIs, kind, shown
from ..values.version_support import UnsupportedRelease
from ..values.versions import EXPECTED, Version

ROLES = pathlib.Path(__file__).parents[3] / "roles"
NETBIOS_LENGTH = 15
"""Windows truncates NetBIOS names to this length, so two names with the same beginning collide silently."""
_PLAIN = re.compile(r"v?[\d.]{1,20}|true|false|yes|no", re.IGNORECASE)
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_SERIAL = re.compile(r"[1-9]\d*|(?:[1-9]\d?|100)%")
_SOURCE = re.compile(
    r"^\{\{\s*\(*(?:lookup\('winkube\.node\.cluster_variable', ')?((?!winkube_)\w+)(?:'|\s*\|\s*default)"
)
"""Matches a role default that reads a shared variable first. A default that reads a `winkube_*` variable does not
match, because roles set these variables."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A variable with an invalid value."""

    variable: str
    value: object
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        return refusal(self.variable, self.value, self.expected, self.hint)


class RequestedChange(t.NamedTuple):
    """A change to the Linux side of the cluster that a variable requests."""

    variable: str
    object: str
    before: str
    after: str
    more: str = ""
    """Additional information for the user, as a sentence."""

    def __str__(self) -> str:
        change = f"{self.variable}: this run changes {self.object}: expected {self.after}, got {self.before}."
        return f"{change} {self.more}".strip()


@dataclasses.dataclass(frozen=True)
class UnsupportedVersion(Problem):
    """A version that is not supported. Users may allow it, unless `nearest` is empty."""

    subject: version_support.Subject = "kubernetes"
    nearest: str = ""
    """The version whose rules apply if users allow the unsupported version; empty if they cannot allow it."""

    @classmethod
    def of(cls, variable: str, value: object, release: UnsupportedRelease) -> UnsupportedVersion:
        """Return the problem for a version that is not supported.

        Args:
            variable: the name of the variable with the version, or several names.
            value: the value of the variable, or the values of all of them.
            release: the unsupported release, and why it is not supported.
        """
        may = "allow_unsupported_versions: true allows it, without tests or support." if release.nearest else ""
        hint = " ".join(filter(None, (release.why, may)))
        return cls(variable, value, release.expected, hint, release.subject, release.nearest)

    @property
    def warning(self) -> str:
        """The warning for users who have allowed the version."""
        text = f"{self.variable}: {self.value} is not supported ({self.expected}) and is treated like {self.nearest}"
        why = self.hint.partition("allow_unsupported_versions")[0].strip()
        return f"{text}. {why}" if why else text


def allowed_versions(
    problems: t.Sequence[Problem], *, allowed: bool, own_builds: t.Container[str]
) -> tuple[list[Problem], list[str]]:
    """Separate the problems that users have allowed from the other problems.

    Args:
        problems: problems with versions.
        allowed: whether users allow all unsupported versions.
        own_builds: the programs, such as `containerd`, whose archive comes from a URL that users set.

    Returns:
        The problems that remain, and warnings about the versions that users have allowed.
    """
    kept: list[Problem] = []
    warnings: list[str] = []
    for problem in problems:
        if isinstance(problem, UnsupportedVersion) and problem.nearest and (allowed or problem.subject in own_builds):
            warnings.append(problem.warning)
        else:
            kept.append(problem)
    return kept, warnings


def own_builds(values: t.Mapping[str, t.Any]) -> list[str]:
    """Return which of the programs `kubernetes` and `containerd` come from a URL that users set.

    Args:
        values: templated values of all role options that are set.
    """
    urls = {"kubernetes": "kubernetes_node_url", "containerd": "container_runtime_containerd_url"}
    return [subject for subject, name in urls.items() if values.get(name)]


NO_VERSION = Problem(
    "kubernetes_node_version (from kube_version)",
    None,
    EXPECTED,
    "Without kube_version, the version is read from the cluster, which requires kubeconfig. Only plan.yml and the "
    "playbooks that join or upgrade nodes read it.",
)
"""The problem if no Kubernetes version is set and there is no cluster from which to read it."""


def misspelt_value(name: str, value: object) -> AsItIs:
    """Return an unknown variable's value for a message. A value that may be secret is replaced with its type."""
    is_hidden = may_be_secret(name) or (isinstance(value, str) and not _PLAIN.fullmatch(value))
    return AsItIs(f"an unknown name set to {hidden(f'a {kind(value)}') if is_hidden else shown(value)}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Role:
    """The variables of a role."""

    name: str
    options: t.Mapping[str, Variable]
    """The variables that users may set."""
    own: frozenset[str]
    """Variables that the role itself sets."""
    sources: t.Mapping[str, str]
    """Maps the name of each option whose default reads a shared variable to the name of the shared variable."""
    defaults: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """Defaults, not templated."""


def _yaml(path: pathlib.Path) -> t.Any:
    return yaml_load(path.read_text(encoding="utf-8")) if path.exists() else None


def _registered(tasks: t.Any) -> t.Iterator[str]:
    """Return the names of the variables that tasks register, including those of tasks in blocks."""
    for task in tasks or ():
        if "register" in task:
            yield task["register"]
        for section in ("block", "rescue", "always"):
            yield from _registered(task.get(section))


@functools.cache
def roles() -> tuple[Role, ...]:
    """Return all roles of the collection."""
    all_roles = []
    for name in sorted(role_variables.ROLES):
        folder = ROLES / name
        defaults = _yaml(folder / "defaults" / "main.yml") or {}
        # Ansible reads vars/main.yml, or all files of a folder vars/main.
        files = [folder / "vars" / "main.yml", *(folder / "vars" / "main").glob("*.yml")]
        own = {key for path in files for key in _yaml(path) or {}}
        for tasks in (folder / "tasks").glob("*.yml"):
            own.update(_registered(_yaml(tasks)))
        sources = {key: match[1] for key, value in defaults.items() if (match := _SOURCE.match(str(value)))}
        options = role_variables.of_role(name)
        all_roles.append(Role(name=name, options=options, own=frozenset(own), sources=sources, defaults=defaults))
    return tuple(all_roles)


def unknown_variables(variables: t.Mapping[str, object], known_roles: t.Sequence[Role]) -> list[Problem]:
    """Return a problem for each variable that has a role's prefix, but is unknown to the role (misspelled or outdated).

    Args:
        variables: all variables of a host, not templated. The messages hide values that may be secret.
        known_roles: the roles to check.
    """
    options = {name for role in known_roles for name in role.options}
    own = {name for role in known_roles for name in role.own}
    prefixes = {role.name + "_": role for role in known_roles}
    problems = []
    for name in sorted(set(variables) - options - own):
        role = next((role for prefix, role in prefixes.items() if name.startswith(prefix)), None)
        if role is not None:
            close = difflib.get_close_matches(name, sorted(role.options), n=3, cutoff=0.6)
            hint = f"Did you mean {' or '.join(close)}?" if close else f"See the README of role {role.name}."
            value = misspelt_value(name, variables[name])
            problems.append(Problem(name, value, f"expected a variable of role {role.name}", hint))
    return problems


def version_problems(kubernetes: str, containerd: str) -> list[Problem]:
    """Return problems with malformed or incompatible versions of Kubernetes and containerd."""
    parsed: list[Version] = []
    for variable, value in (
        ("kubernetes_node_version (from kube_version)", kubernetes),
        ("container_runtime_containerd_version", containerd),
    ):
        try:
            parsed.append(Version.parse(value))
        except ValueError:
            return [Problem(variable, value, EXPECTED)]
    pair = f"Kubernetes {kubernetes} with containerd {containerd}"
    where = "kubernetes_node_version, container_runtime_containerd_version"
    return [UnsupportedVersion.of(where, pair, one) for one in version_support.pair_problems(*parsed)]


_HOST_PROCESS = ("cni_flannel_image", "cni_kube_proxy_image")


def docker_problems(runtime: str, kubernetes: str, values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return problems with the variables of a node that runs Docker.

    Args:
        runtime: docker or moby.
        kubernetes: version of Kubernetes.
        values: templated values of all role options that are set.
    """
    problems: list[Problem] = []
    engine = f"container_runtime_{runtime}_version"
    parsed: list[Version] = []
    for variable, value in (
        ("kubernetes_node_version (from kube_version)", kubernetes),
        (engine, values.get(engine)),
        ("container_runtime_cri_dockerd_version", values.get("container_runtime_cri_dockerd_version")),
    ):
        try:
            parsed.append(Version.parse(str(value)))
        except ValueError:
            problems.append(Problem(variable, value, EXPECTED))
    where, pair = "container_runtime, kubernetes_node_version", f"{runtime} with {kubernetes}"
    unsupported = version_support.docker_problems(*parsed) if len(parsed) == 3 else []
    problems += [UnsupportedVersion.of(where, pair, one) for one in unsupported]
    if runtime == "docker" and not values.get("container_runtime_docker_url"):
        expected = "expected the URL of Mirantis' archive (docker-VERSION.zip) with container_runtime: docker"
        hint = "Mirantis' Docker requires a license. container_runtime: moby needs no URL."
        problems.append(Problem("container_runtime_docker_url (from docker_url)", None, expected, hint))
    for name in _HOST_PROCESS:
        if values.get(name):
            hint = (
                f"It names an image for HostProcess containers, which only containerd can run. With {runtime}, "
                "flannel and kube-proxy run as services."
            )
            problems.append(Problem(name, values[name], "expected an empty value", hint))
    problems += _mirror_problems(values.get("container_runtime_registries") or {})
    return problems


def _mirror_problems(registries: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem if Docker would ignore some mirrors. Docker supports only mirrors of Docker Hub.

    Source: docs.docker.com, Mirror the Docker Hub library.
    """
    hosts = sorted(host for host, entry in registries.items() if host != "docker.io" and (entry or {}).get("mirrors"))
    if not hosts:
        return []
    hint = (
        "Docker mirrors only Docker Hub. Use the mirror's host in the names of container images "
        "(container_runtime_sandbox_image, image_cache_images)."
    )
    given = AsItIs(f"mirrors of {', '.join(hosts)}")
    return [Problem("container_runtime_registries", given, "expected mirrors of docker.io only", hint)]


def name_problems(names: t.Mapping[str, str]) -> list[Problem]:
    """Return a problem for each host name that is malformed, or that Windows cannot distinguish from another name.

    Args:
        names: maps each inventory host to its `kubernetes_node_hostname`.
    """
    problems = []
    seen: dict[str, str] = {}
    for host, name in names.items():
        where = f"kubernetes_node_hostname of {host}"
        if not _HOST_NAME.fullmatch(name) or name.isdigit():
            expected = "expected at most 63 letters, digits and hyphens, no hyphen at either end, and not only digits"
            problems.append(Problem(where, name, expected))
            continue
        short = name[:NETBIOS_LENGTH].lower()
        if short in seen:
            problems.append(
                Problem(
                    where,
                    name,
                    f"expected a name whose first {NETBIOS_LENGTH} characters differ from those of {seen[short]}",
                    "Windows compares only these characters.",
                )
            )
        seen.setdefault(short, host)
    return problems


_KUBECONFIG_NEEDED = {
    "node_join": (
        "expected the path of a kubeconfig whose user may create bootstrap tokens",
        "A kubeconfig is needed to join nodes to a cluster.",
    ),
    "node_maintenance": (
        "expected the path of a kubeconfig whose user may change nodes and evict pods",
        "A kubeconfig is needed to drain nodes. Set node_maintenance_drain: false for machines without a cluster.",
    ),
}


def kubeconfig_problems(path: str, *, joins: bool, missing: bool, role: str = "node_join") -> list[Problem]:
    """Return problems with the path of the kubeconfig.

    Args:
        path: the value of the role's variable ROLE_kubeconfig, or an empty string.
        joins: whether a kubeconfig is needed, because nodes will join a cluster or be drained.
        missing: whether the kubeconfig does not exist on the controller.
        role: the role whose variable is checked.
    """
    where = f"{role}_kubeconfig (from kubeconfig, or KUBECONFIG in the environment)"
    if ":" in path:
        # kubectl uses the first file's current context (kubernetes.io: Organizing Cluster Access Using kubeconfig
        # Files), the Python client the last one's (kubernetes-client/python, KubeConfigMerger.load_config).
        expected = "expected the path of one file"
        hint = (
            "With several files, kubectl and the Python client may choose different clusters. "
            "`kubectl config view --flatten --minify` merges the files into one."
        )
    elif joins and not path:
        expected, hint = _KUBECONFIG_NEEDED[role]
    elif path and missing:
        expected, hint = "expected the path of a kubeconfig", "There is no such file."
    else:
        return []
    return [Problem(where, path, expected, hint)]


def rollout_problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return problems with a rollout's limits (nodes at a time, nodes that may fail) and its maintenance windows.

    Ansible treats 0 and negative numbers as all nodes at once, and ends with a traceback for anything other than a
    number or a percentage.

    Args:
        values: templated values of all role options that are set.
    """
    problems = []
    serial, failed = values.get("node_maintenance_serial", 1), values.get("node_maintenance_max_failed", 0)
    if not _SERIAL.fullmatch(str(serial).strip()):
        expected = "expected a single number of nodes, 1 or more, or a single percentage such as 10%"
        problems.append(Problem("node_maintenance_serial", serial, expected))
    if isinstance(failed, (int, str)) and re.fullmatch(r"-\d+", str(failed)):
        problems.append(Problem("node_maintenance_max_failed", failed, "expected a number of nodes, 0 or more"))
    return [*problems, *_time_problems(values)]


def _time_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    """Yield a problem for each malformed maintenance window, and for an unknown time zone."""
    windows = values.get("node_maintenance_windows")
    for number, window in enumerate(windows if isinstance(windows, list) else ()):
        try:
            rollout_times.MaintenanceWindow.parse(str(window))
        except ValueError as error:
            yield Problem(f"node_maintenance_windows[{number}]", window, str(error))
    zone = values.get("node_maintenance_time_zone", "UTC")
    try:
        rollout_times.zone(str(zone))
    except ValueError as error:
        yield Problem("node_maintenance_time_zone", zone, str(error))
