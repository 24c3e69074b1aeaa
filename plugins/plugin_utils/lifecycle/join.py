# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Join a machine to a cluster: build the batch that runs kubeadm, run it, and read its results."""

from __future__ import annotations

import dataclasses
import enum
import ntpath
import typing as t

from ..node_config import nssm
from ..node_config.kubeadm import DISCOVERY
from ..node_config.kubelet_certificate import CURRENT_CERTIFICATE
from ..remote.errors import BatchLost, NodeError
from ..remote.protocol import RemoteNode
from ..windows import node_paths
from ..windows.path_calls import make_closed
from ..windows.registry_calls import set_value
from ..windows.sddl import ADMINISTRATORS_ONLY, ADMINISTRATORS_ONLY_FILE, SHARED
from ..wire.calls import action, query
from ..wire.messages import Batch, Call, Input, Json, Observation
from . import join_commands, kubeadm_failures
from .join_commands import JoinCommand

_PRIVATE_FOLDERS = (node_paths.KUBERNETES, node_paths.KUBELET_PKI)
"""Folders in which kubeadm and the kubelet keep the join token and the node's key. In older images, access to them is
not restricted."""
_KEY = f"{node_paths.KUBELET_PKI}\\kubelet-client.key.tmp"
"""File with a key for which a kubelet requested a certificate but received none. The kubelet would use this key again
and find its previous request, which was made with the token of an earlier run (kubernetes/kubernetes,
pkg/kubelet/certificate/bootstrap: LoadClientCert)."""
_CA = f"{node_paths.KUBERNETES}\\pki\\ca.crt"
_KUBEADM = "join"
"""Id of the call that runs kubeadm."""
LEFTOVERS = (node_paths.JOIN_CONFIGURATION, node_paths.BOOTSTRAP_KUBELET_CONF, DISCOVERY)
"""Files that contain the join token. If a machine goes down while kubeadm runs, these files stay until the node_join
role removes them."""
MADE_FILES = (*LEFTOVERS, node_paths.KUBELET_CONF, node_paths.JOIN_RECORD)
"""Files that a join creates. A reset removes them."""
MADE_FOLDERS = (ntpath.dirname(_CA), f"{node_paths.KUBERNETES}\\tmp")
"""Folders that kubeadm creates for certificates, and for backups when it upgrades a node. A reset removes them."""
FILLED_FOLDERS = (
    node_paths.KUBELET,
    f"{node_paths.KUBERNETES}\\manifests",
    "C:\\var\\log\\pods",
    "C:\\var\\log\\containers",
)
"""Folders that exist before a join. kubeadm and the kubelet keep their state in them, and the container runtime writes
the logs of pods there. A reset empties them."""


class JoinChange(enum.Enum):
    """What a run changed on a machine: the action and the reason, as reports show them."""

    JOINED = ("create", "had not joined the cluster")
    FINISHED = ("update", "commands after kubeadm join had not run")

    @property
    def action(self) -> str:
        """The action: `create` or `update`."""
        return self.value[0]

    @property
    def why(self) -> str:
        """The reason for the change."""
        return self.value[1]


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeadmJoin:
    """The settings with which a machine joins a cluster."""

    configuration: str
    """The JoinConfiguration as YAML. It contains the join token."""
    kubeadm: str
    """Windows path of kubeadm.exe."""
    timeout: float
    """Time limit of kubeadm in seconds."""
    discovery: str = ""
    """Content of the discovery file (`kubeadm.DISCOVERY`). It may contain the join token."""
    kubelet: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The setting that makes the kubelet start with the flags that kubeadm will write: the `command_line` of the
    kubelet's service, or `parameters` with the kubelet's arguments if nssm runs the kubelet. Empty if kubeadm passes on
    no flags, or if a launcher script starts the kubelet."""
    before: tuple[JoinCommand, ...] = ()
    """Programs to run before kubeadm."""
    after: tuple[JoinCommand, ...] = ()
    """Programs to run after kubeadm."""

    @property
    def total_timeout(self) -> float:
        """Time limit of kubeadm and all programs together, in seconds."""
        return self.timeout + join_commands.total_timeout((*self.before, *self.after))


def join_cluster(node: RemoteNode, joining: KubeadmJoin) -> JoinChange | None:
    """Join a machine to the cluster, unless the machine has joined already.

    Args:
        node: the machine.
        joining: how the machine joins.

    Returns:
        What the run changed, or None if the machine had joined and all programs after kubeadm had run already.

    Raises:
        NodeError: kubeadm, or a program before or after kubeadm, failed.
        AnsibleConnectionFailure: the node cannot be reached.
    """
    step = "kubeadm join"
    node.timeouts = dataclasses.replace(node.timeouts, batch=max(node.timeouts.batch, joining.total_timeout))
    try:
        seen = node.run(Batch(calls=calls(joining)), step=step, private=True)
    except BatchLost:
        # The batch first undoes an incomplete join, so the batch can be repeated.
        seen = node.run(Batch(calls=calls(joining, again=True)), step=step, private=True)
    why = problem(seen, join_commands.secrets((*joining.before, *joining.after)))
    if why is not None:
        raise NodeError(f"{node.name}: {step}: {why}")
    if not had_joined(seen):
        return JoinChange.JOINED
    return finish_join(node, joining.after, _ended(seen))


def finish_join(node: RemoteNode, after: t.Sequence[JoinCommand], ended: int | None) -> JoinChange | None:
    """On a machine that has already joined, run the post-kubeadm programs that have not run yet.

    Args:
        node: the machine.
        after: all programs to run after kubeadm.
        ended: how many of these programs have ended, as recorded on the node, or None if there is no record.

    Returns:
        What the run changed, or None if no program remained.

    Raises:
        NodeError: a program failed.
        AnsibleConnectionFailure: the node cannot be reached.
    """
    if ended is None:
        return None
    step = "the commands after kubeadm join"
    batch = (*join_commands.calls("post", after, ended), join_commands.end_record())
    limit = float(join_commands.total_timeout(after[ended:]))
    node.timeouts = dataclasses.replace(node.timeouts, batch=max(node.timeouts.batch, limit))
    why = problem(node.run(Batch(calls=batch), step=step, private=True), join_commands.secrets(after))
    if why is not None:
        raise NodeError(f"{node.name}: {step}: {why}")
    return JoinChange.FINISHED


def calls(joining: KubeadmJoin, *, again: bool = False) -> tuple[Call, ...]:
    """Return the batch that joins a machine to the cluster, unless the machine has joined already.

    If an interrupted run has left a join running, that join is ended first: its token no longer exists, and two joins
    would collide. The files of an incomplete join are removed, because kubeadm refuses to continue with them.

    Args:
        joining: how the machine joins.
        again: whether an earlier join used the same token. The kubelet then keeps its key and finds its own certificate
            request. A second key with the same token would look like an attack, and neither key would get a
            certificate.
    """
    discovery, after = joining.discovery, joining.after
    return (
        query("joined", "@read-file", {"paths": [node_paths.KUBELET_CONF]}, select=("path", "exists"), on_error="stop"),
        *([_read_record()] if after else []),
        Call(id="stop-if-joined", command="@stop-if", input=Input(calls=("joined",), where={"exists": True})),
        *_end_former(),
        *_stop_if_registered(),
        *_remove_leftovers(keep_key=again),
        # Create the kubelet's folder with Windows' default access list, because it contains the volumes of pods.
        make_closed(node_paths.KUBELET, SHARED, "kubelet-folder", existing="leave"),
        *(
            make_closed(folder, ADMINISTRATORS_ONLY, f"close-{number}")
            for number, folder in enumerate(_PRIVATE_FOLDERS)
        ),
        *join_commands.calls("pre", joining.before),
        _write_configuration(joining.configuration),
        *([_write_discovery(discovery)] if discovery else []),
        *_set_kubelet(joining.kubelet),
        *([join_commands.record(0)] if after else []),
        action(
            _KUBEADM,
            joining.kubeadm,
            arguments=("join", "--config", node_paths.JOIN_CONFIGURATION),
            timeout=joining.timeout,
            long=True,
        ),
        _remove_configuration(
            [node_paths.JOIN_CONFIGURATION, DISCOVERY] if discovery else node_paths.JOIN_CONFIGURATION
        ),
        *join_commands.calls("post", after),
        *([join_commands.end_record()] if after else []),
    )


def _stop_if_registered() -> tuple[Call, ...]:
    """Return the calls that end the batch if the kubelet received its certificate just before it was stopped.

    After a power failure, the kubelet of an incomplete join starts by itself and continues to request its certificate.
    If it receives the certificate after the first call of the batch, the machine has joined, and needs the files of
    that join. The kubeconfig alone does not show this: a kubelet that rotates its certificates writes the kubeconfig
    before it requests the first certificate (kubernetes/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go,
    LoadClientConfig).
    """
    conf: dict[str, Json] = {"paths": [node_paths.KUBELET_CONF]}
    certificate: dict[str, Json] = {"paths": [CURRENT_CERTIFICATE]}
    exists: t.Mapping[str, Json] = {"exists": True}
    return (
        query("registered", "@read-file", conf, select=("path", "exists"), until=exists),
        query("certificate", "@read-file", certificate, select=("path", "exists"), until=exists, needs=("registered",)),
        action("start-kubelet", "Start-Service", {"Name": "kubelet"}, needs=("certificate",)),
        Call(id="stop-if-registered", command="@stop-if", input=Input(calls=("certificate",), where=exists)),
    )


def _set_kubelet(started: t.Mapping[str, str]) -> t.Iterator[Call]:
    """Yield the call that makes the kubelet start with the flags that kubeadm will write.

    kubeadm starts the kubelet's service, whose command line does not contain these flags yet. The flags may set the
    node's labels and taints, which the kubelet applies only when it registers the node.
    """
    if line := started.get("command_line"):
        yield action("kubelet", "sc.exe", arguments=("config", "kubelet", "binpath=", line), secret=True)
    elif line := started.get("parameters"):
        call = set_value("kubelet", nssm.key("kubelet"), nssm.ARGUMENTS, "ExpandString", line)
        yield dataclasses.replace(call, secret=True)


def _read_record() -> Call:
    """Return the call that reads the number of post-kubeadm programs that have ended."""
    parameters: dict[str, Json] = {"paths": [node_paths.JOIN_RECORD], "content": True}
    return query("record", "@read-file", parameters, select=("content",))


def _ended(seen: Observation) -> int | None:
    """Return the number of post-kubeadm programs that had ended before the batch, or None if none was left to run."""
    result = seen.calls.get("record")
    return join_commands.ended(result.first.get("content")) if result is not None and result.first else None


def _remove_leftovers(*, keep_key: bool) -> tuple[Call, ...]:
    """Return the calls that remove the files of an incomplete join.

    Args:
        keep_key: whether to keep the key for which the kubelet requested a certificate.
    """
    # Without a certificate, a kubeconfig that the kubelet wrote since the first call is useless, too.
    records = [node_paths.JOIN_RECORD, node_paths.LAUNCHER_RECORD]
    former = [node_paths.BOOTSTRAP_KUBELET_CONF, node_paths.KUBELET_CONF, _CA, *records]
    paths: dict[str, Json] = {"paths": [*former, *([] if keep_key else [_KEY])]}
    existing = Input(calls=("leftovers",), where={"exists": True}, parameter="LiteralPath", property="path")
    return (
        query("leftovers", "@read-file", paths, select=("path", "exists"), on_error="stop"),
        action("clear", "Remove-Item", {"Force": True}, input=existing),
    )


def _write_configuration(content: str) -> Call:
    """Return the call that writes the JoinConfiguration, which contains the join token."""
    parameters: dict[str, Json] = {
        "path": node_paths.JOIN_CONFIGURATION,
        "content": content,
        "sddl": ADMINISTRATORS_ONLY_FILE,
    }
    return action("configuration", "@write-file", parameters, secret=True, select=None)


def _remove_configuration(paths: Json) -> Call:
    """Return the call that removes kubeadm's configuration files. It runs even if the join fails."""
    parameters: dict[str, Json] = {"LiteralPath": paths, "Force": True, "ErrorAction": "SilentlyContinue"}
    return action("remove-configuration", "Remove-Item", parameters, always=True, on_error="continue")


def _end_former() -> tuple[Call, ...]:
    """Return the calls that end a running kubeadm and its kubelet.

    The kubelet must end because kubeadm refuses to start while the kubelet's port is in use. If the kubelet
    already has its certificate, `_stop_if_registered` starts it again. The last call waits until the previous batch
    has removed kubeadm's configuration file, because the new batch writes to the same path.
    """
    processes: dict[str, Json] = {"Name": "kubeadm", "ErrorAction": "SilentlyContinue"}
    running = Input(calls=("former",), parameter="Id", property="Id")
    return (
        query("former", "Get-Process", processes, select=("Id",)),
        action("end-former", "Stop-Process", {"Force": True}, input=running, on_error="continue"),
        action(
            "stop-kubelet",
            "Stop-Service",
            {"Name": "kubelet", "Force": True, "ErrorAction": "SilentlyContinue"},
            on_error="continue",
        ),
        # If the file still exists afterwards, the machine went down during an earlier join.
        query(
            "former-ended",
            "@read-file",
            {"paths": [node_paths.JOIN_CONFIGURATION]},
            select=("exists",),
            until={"exists": False},
            retries=20,
            delay=0.5,
        ),
    )


def _write_discovery(content: str) -> Call:
    """Return the call that writes the discovery file (`kubeadm.DISCOVERY`)."""
    parameters: dict[str, Json] = {"path": DISCOVERY, "content": content, "sddl": ADMINISTRATORS_ONLY_FILE}
    return action("discovery", "@write-file", parameters, secret=True, select=None)


def had_joined(seen: Observation) -> bool:
    """Return whether the machine had joined earlier, in which case the batch did not join it."""
    return seen.stopped is not None and seen.stopped.id in ("stop-if-joined", "stop-if-registered")


def problem(seen: Observation, known: t.Iterable[str] = ()) -> str | None:
    """Return why the join failed, with kubeadm's output, or None if the join did not fail.

    Args:
        seen: the results of the batch.
        known: the secrets of the programs that run before and after kubeadm.
    """
    if had_joined(seen) or seen.stopped is None:
        return None
    result = seen.calls.get(seen.stopped.id)
    if result is None or result.error is None:
        return f"stopped at {seen.stopped.id}"
    own = join_commands.problem(seen.stopped.id, result, known)
    if own is not None:
        return own
    output = join_commands.shortened(result.stderr.strip() or result.stdout.strip() or str(result.error))
    if seen.stopped.id == _KUBEADM:
        return f"{_KUBEADM}: {kubeadm_failures.message(output, result.exit_code)}"
    return f"{seen.stopped.id}: exit code {result.exit_code}: {output}" if result.exit_code else output
