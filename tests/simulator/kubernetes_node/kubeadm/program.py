# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate kubeadm.exe (join, upgrade node, reset, version, config). The flags are in contracts/kubernetes.json.

If a real kubeadm of the same version is available (real.py, reset_real.py), it runs the resets, `config validate` and
`config migrate`. It also runs joins and upgrades, unless the node's clock differs from the host's. A join does not use
the real kubeadm while another program uses the port of the kubelet's health check.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import yaml

from simulator.kubernetes_node.kubeadm import join_configuration, join_validation, preflight, reset
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.kubernetes_node.kubeadm import reset_real as kubeadm_reset_real
from simulator.kubernetes_node.kubeadm.join import Joiner, JoinError
from simulator.kubernetes_node.kubeadm.join_validation import ValidationError
from simulator.kubernetes_node.kubeadm.upgrade import UpgradeError, Upgrader
from simulator.kubernetes_node.kubelet import node_status
from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.configuration import ConfigurationError
from simulator.kubernetes_node.programs.flags import CommandFlags, FlagError, parse
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_TRACE = "To see the stack trace of this error execute with --v=5 or higher\n"


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate kubeadm.exe."""
    version = invocation.version
    command, rest = _command(invocation.argv, version)
    if command is None:
        return _error(version, f'unknown command "{rest[0]}" for "kubeadm"')
    try:
        flags, arguments = parse(rest, contracts.flags("kubeadm", version, command))
    except FlagError as error:
        return _error(version, str(error))
    if flags.on("help") or not command:
        return ProgramResult(0, f"Usage:\n  kubeadm {command} [flags]\n")
    try:
        if command == "join":
            return _join(machine, invocation, flags, arguments, rest)
        if command == "upgrade node":
            return _upgrade(machine, invocation, flags, rest)
        if command == "reset":
            return _reset(machine, invocation, flags, rest)
        if command == "version":
            return _version(version, flags.text("output"))
        if command in ("config validate", "config migrate"):
            return _config(machine, version, command, flags)
        if command == "config print join-defaults":
            return ProgramResult(0, _join_defaults(version))
    except ConfigurationError as error:
        old = isinstance(error, ValidationError) and not contracts.at_least(version, "1.34")
        return _error(version, str(error), 3 if old else 1)
    return _error(version, f"the simulator does not model kubeadm {command}")


def _command(argv: list[str], version: str) -> tuple[str | None, list[str]]:
    """Return the command with its subcommands, and the remaining arguments.

    The command is None if the first argument is neither a command nor a flag. The command is an empty string if there
    are no arguments, or if the first one is a flag.
    """
    known = contracts.commands(version) | {"config", "join", "reset", "version"}
    words = list(argv)
    command = ""
    while words and not words[0].startswith("-"):
        longer = f"{command} {words[0]}".strip()
        if not any(name == longer or name.startswith(f"{longer} ") for name in known):
            break
        command = longer
        words.pop(0)
    if not command and words and not words[0].startswith("-"):
        return None, words
    return command, words


def _error(version: str, text: str, code: int = 1) -> ProgramResult:
    head = "error: " if contracts.at_least(version, "1.34") else ""
    return ProgramResult(code, "", f"{head}{text}\n{_TRACE}")


def _read(machine: Machine, path: str, head: str = "") -> str:
    if not machine.files.is_file(path):
        raise ConfigurationError(f"{head}open {path}: The system cannot find the file specified.")
    return machine.files.read_text(path)


def _read_config(machine: Machine, flags: CommandFlags) -> str | None:
    path = flags.text("config")
    return _read(machine, path, f'unable to read config from "{path}" : ') if path else None


def _join(
    machine: Machine, invocation: Invocation, flags: CommandFlags, arguments: list[str], words: list[str]
) -> ProgramResult:
    version = invocation.version
    if wrong := join_validation.mixed(list(flags)):
        return _error(version, wrong)
    config = _read_config(machine, flags)
    host = node_status.host_name(machine)
    requested = join_configuration.read(config, flags, arguments, version, host, _is_file(machine))
    # A real kubeadm uses the host's clock, and would not detect that the node's clock is wrong.
    real = None if machine.clock.offset else kubeadm_real.find(version)
    if real is not None:
        warnings, errors = preflight.check(machine, requested, version, invocation.environment)
        if errors:
            return _failed(
                version,
                JoinError("preflight", preflight.fatal(errors), 2),
                ["[preflight] Running pre-flight checks"],
                warnings,
            )
        result = kubeadm_real.join(machine, invocation, real, _without_config(words), config, requested)
    else:
        result = None
    if result is not None:
        return ProgramResult(result.exit_code, result.stdout, "".join(f"{line}\n" for line in warnings) + result.stderr)
    joiner = Joiner(machine, invocation, requested, version)
    joiner.complained += [
        f"W1121 00:00:00.000000    1000 joinconfiguration.go:124] {text}" for text in requested.warnings
    ]
    try:
        joiner.run()
    except JoinError as error:
        return _failed(version, error, joiner.printed, joiner.complained)
    return ProgramResult(
        0, "".join(f"{line}\n" for line in joiner.printed), "".join(f"{line}\n" for line in joiner.complained)
    )


def _reset(machine: Machine, invocation: Invocation, flags: CommandFlags, words: list[str]) -> ProgramResult:
    config = _read_config(machine, flags)
    real = kubeadm_real.find(invocation.version)
    if real is not None:
        words = _without_config(words)
        return kubeadm_reset_real.reset(machine, real, words, config, invocation)
    settings = reset.read(config, flags, invocation.version)
    return reset.reset(machine, settings, invocation.stdin, invocation.version)


def _upgrade(machine: Machine, invocation: Invocation, flags: CommandFlags, words: list[str]) -> ProgramResult:
    version = invocation.version
    if flags.text("kubeconfig") or flags.on("dry-run") or flags.text("config"):
        return _error(
            version, "the simulator models kubeadm upgrade node only without --kubeconfig, --dry-run, --config"
        )
    real = None if machine.clock.offset else kubeadm_real.find(version)
    if real is not None:
        return kubeadm_real.upgrade(machine, invocation, real, words)
    upgrader = Upgrader(machine, version)
    try:
        upgrader.run()
    except UpgradeError as error:
        failed = _error(version, str(error))
        return ProgramResult(failed.exit_code, "".join(f"{line}\n" for line in upgrader.printed), failed.stderr)
    return ProgramResult(0, "".join(f"{line}\n" for line in upgrader.printed))


def _failed(version: str, error: JoinError, printed: list[str], complained: list[str]) -> ProgramResult:
    message, lines = str(error), list(complained)
    if error.phase == "preflight" and error.code == 2 and contracts.at_least(version, "1.34"):
        lines.append(message)
        message = "preflight checks failed"
    failed = _error(version, f"error execution phase {error.phase}: {message}", error.code)
    return ProgramResult(
        error.code, "".join(f"{line}\n" for line in printed), "".join(f"{line}\n" for line in lines) + failed.stderr
    )


def _without_config(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == "--config":
            skip = True
        elif not word.startswith("--config="):
            kept.append(word)
    return kept


def _version(version: str, form: str) -> ProgramResult:
    major, minor = contracts.minor_of(version).split(".")
    about = {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{version}",
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "2026-11-21T00:00:00Z",
        "goVersion": "go1.26.8",
        "compiler": "gc",
        "platform": "windows/amd64",
    }
    if form == "short":
        return ProgramResult(0, f"v{version}\n")
    if form == "json":
        return ProgramResult(0, json.dumps({"clientVersion": about}, indent=2) + "\n")
    if form == "yaml":
        return ProgramResult(0, yaml.safe_dump({"clientVersion": about}))
    if form:
        return _error(version, f"invalid output format: {form}")
    listed = ", ".join(f'{name[0].upper() + name[1:]}:"{value}"' for name, value in about.items())
    return ProgramResult(0, f"kubeadm version: &version.Info{{{listed}}}\n")


def _config(machine: Machine, version: str, command: str, flags: CommandFlags) -> ProgramResult:
    name = "config" if command == "config validate" else "old-config"
    path = flags.text(name)
    if not path:
        return _error(version, f"the --{name} flag is mandatory")
    text = _read(machine, path)
    real = kubeadm_real.find(version)
    if real is not None:
        extra = ["--allow-experimental-api"] if flags.on("allow-experimental-api") else []
        return kubeadm_real.plain(real, [*command.split(), f"--{name}", "\0", *extra], text)
    if command == "config migrate":
        return _error(
            version, "the simulator does not model kubeadm config migrate without a real kubeadm of its version"
        )
    for document in join_configuration.documents(text):
        unknown = join_configuration.check(document, version, flags.on("allow-experimental-api"))
        if unknown:
            raise ConfigurationError(join_configuration.strict_error(document, unknown))
        if document["kind"] == "JoinConfiguration":
            host = node_status.host_name(machine)
            join_validation.require(join_configuration.with_defaults(document, host), _is_file(machine))
    return ProgramResult(0, "ok\n")


def _is_file(machine: Machine) -> Callable[[str], bool]:
    # A path without a drive is on the drive of the current folder. The simulator's programs run on C:.
    return lambda path: machine.files.is_file(path if path[1:2] == ":" else "C:" + path.replace("/", "\\"))


def _join_defaults(version: str) -> str:
    kinds = contracts.kinds(version)
    api = "v1beta4" if kinds.get("kubeadm.k8s.io/v1beta4 JoinConfiguration") == "yes" else "v1beta3"
    token = {
        "apiServerEndpoint": "kube-apiserver:6443",
        "token": "abcdef.0123456789abcdef",
        "unsafeSkipCAVerification": True,
    }
    document = {
        "apiVersion": f"kubeadm.k8s.io/{api}",
        "caCertPath": "\\etc\\kubernetes\\pki\\ca.crt",
        "discovery": {"bootstrapToken": token, "tlsBootstrapToken": token["token"]},
        "kind": "JoinConfiguration",
        "nodeRegistration": {
            "criSocket": join_configuration.PIPE,
            "imagePullPolicy": "IfNotPresent",
            "name": "node",
            "taints": None,
        },
    }
    return str(yaml.safe_dump(document))


PROGRAMS: Mapping[str, Program] = {"kubeadm": run}
