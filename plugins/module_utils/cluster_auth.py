# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read a module's options for authenticating with a cluster, and configure the Python client with them.

The options are those of the kubernetes.core collection. An option that is not set is read from the environment
(`K8S_AUTH_…`). A kubeconfig is not needed if `host` is set with a token, a user name and password, or a client
certificate. Otherwise, `kubeconfig` and `context` select a kubeconfig and its context. Without these two options, the
module uses the service account of the pod in which it runs. If it does not run in a pod, it uses the default
kubeconfig, which is `$KUBECONFIG` or `~/.kube/config`. Options override the kubeconfig.

The client of kubernetes.core is not used. Its only public function that creates a client,
`k8s.client.get_api_client`, first requests the version and the APIs of the server, and writes the result into the
temporary folder. All functions that would only read the options are private.
"""

from __future__ import annotations

import os
import typing as t
import urllib.parse

from ansible.module_utils.common.text.converters import to_native
from ansible.module_utils.common.validation import check_type_path
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import (
    AUTH_ARG_MAP,
    AUTH_ARG_SPEC,
    AUTH_PROXY_HEADERS_SPEC,
)

from .redaction.names import is_secret_name
from .redaction.urls import redact_users

AUTH_OPTIONS: t.Mapping[str, t.Any] = AUTH_ARG_SPEC
"""The argument spec of the options for authentication."""
_FILES = ("ca_cert", "client_cert", "client_key")
_HOST_SUFFICES = (("username", "password"), ("api_key",), ("client_cert", "client_key"))
"""Groups of options. If `host` and all options of one group are set, no kubeconfig is needed."""
_PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
_CONFIGURATION_NAMES = {option: name for name, option in AUTH_ARG_MAP.items()}
_TAKEN_AS_THEY_ARE = ("host", "ca_cert", "client_cert", "client_key", "validate_certs", "proxy", "no_proxy")

Options = t.Mapping[str, t.Any]


class AuthError(Exception):
    """An option cannot be used. The message names the option and what is wrong with it."""


class RepeatedHeader(str):
    """The name of an HTTP header. A dict can contain the name several times, as each instance equals only itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def read_options(params: Options, environment: t.Mapping[str, str] | None = None) -> dict[str, t.Any]:
    """Return the options for authentication that are set in the module's parameters or in environment variables.

    Args:
        params: the parameters of the module.
        environment: the environment variables; None means the variables of this process.

    Raises:
        AuthError: an option cannot be used.
    """
    environment = os.environ if environment is None else environment
    options = {name: params.get(name) for name in AUTH_OPTIONS}
    for name, value in options.items():
        if value is None:
            options[name] = _from_environment(name, environment)
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(options.get("kubeconfig"), str):
        options["kubeconfig"] = check_type_path(options["kubeconfig"])
    _check(options)
    return options


def needs_kubeconfig(options: Options) -> bool:
    """Return whether a kubeconfig is needed because the options contain no host or no complete credentials."""
    return not options.get("host") or not any(all(options.get(name) for name in names) for names in _HOST_SUFFICES)


def configure(options: Options) -> t.Any:
    """Return a `kubernetes.client.Configuration` with the host and credentials that the options describe.

    The default configuration of the Python client is not changed, so other clients in this process are not affected.

    Args:
        options: result of `read_options`.

    Raises:
        AuthError: the kubeconfig cannot be used.
    """
    from kubernetes.client import Configuration

    configuration = Configuration()
    if needs_kubeconfig(options):
        _load(options, configuration)
    for name in _TAKEN_AS_THEY_ARE:
        if name in options:
            setattr(configuration, _CONFIGURATION_NAMES[name], options[name])
    if options.get("username") and options.get("password"):
        configuration.username, configuration.password = options["username"], options["password"]
        configuration.api_key = {"authorization": configuration.get_basic_auth_token()}
    if options.get("api_key"):
        configuration.api_key = {"authorization": f"Bearer {options['api_key']}"}
        configuration.refresh_api_key_hook = None
    if options.get("proxy_headers"):
        from urllib3.util import make_headers

        configuration.proxy_headers = make_headers(**options["proxy_headers"])
    return configuration


def anonymous(configuration: t.Any) -> t.Any:
    """Return a configuration for the same API server, without credentials.

    Args:
        configuration: result of `configure`.
    """
    from kubernetes.client import Configuration

    bare = Configuration()
    for name in ("host", "ssl_ca_cert", "verify_ssl", "tls_server_name", "proxy", "no_proxy", "proxy_headers"):
        setattr(bare, name, getattr(configuration, name))
    bare.api_key, bare.refresh_api_key_hook = {}, None
    bare.username = bare.password = bare.cert_file = bare.key_file = None
    return bare


def headers(options: Options) -> dict[str, str]:
    """Return the HTTP headers with which every request impersonates the user and groups in the options, if any.

    Source: kubernetes.io, User impersonation.
    """
    user, groups = str(options.get("impersonate_user") or ""), options.get("impersonate_groups") or ()
    user_header: dict[str, str] = {"Impersonate-User": user} if user else {}
    return {**user_header, **{RepeatedHeader("Impersonate-Group"): group for group in groups}}


def account(options: Options) -> str:
    """Return a description of the account that sends the requests, for messages."""
    kubeconfig = options.get("kubeconfig")
    if not needs_kubeconfig(options):
        names = next(names for names in _HOST_SUFFICES if all(options.get(name) for name in names))
        who = f"the user of {' and '.join(names)}"
    elif isinstance(kubeconfig, str):
        who = f"the user of kubeconfig {kubeconfig}"
    elif kubeconfig:
        who = "the user of the given kubeconfig"
    elif "KUBERNETES_SERVICE_HOST" in os.environ and not options.get("context"):
        who = "the service account of this pod"
    else:
        who = "the user of the default kubeconfig"
    impersonated = [options["impersonate_user"]] if options.get("impersonate_user") else []
    impersonated += options.get("impersonate_groups") or []
    return f"{who} as {', '.join(impersonated)}" if impersonated else who


def hidden_values(values: t.Iterable[str], params: Options, options: Options) -> set[str]:
    """Return the secrets that Ansible should hide in the module's output.

    The argument spec of kubernetes.core sets `no_log` for `kubeconfig`. By default, Ansible would therefore hide the
    path of the kubeconfig in all messages. If the kubeconfig is a mapping, Ansible would hide each of its values
    wherever it occurs, for example `v1` in the cluster's version.

    Args:
        values: the values that Ansible would hide by default (`AnsibleModule.no_log_values`).
        params: the parameters of the module.
        options: result of `read_options`.
    """
    kubeconfig = options.get("kubeconfig")
    shown = {*_texts(params.get("kubeconfig")), *_texts(kubeconfig)}
    secrets = [options.get(name) for name in ("api_key", "password", "proxy_headers")]
    secrets.append(urllib.parse.urlsplit(options.get("proxy") or "").password)
    return set(values) - shown | {*_secrets(kubeconfig), *_texts(secrets)}


def _from_environment(name: str, environment: t.Mapping[str, str]) -> t.Any:
    prefix = "K8S_AUTH_"
    if name == "proxy_headers":
        names = {key: f"{prefix}PROXY_HEADERS_{key.upper()}" for key in AUTH_PROXY_HEADERS_SPEC}
        return {key: environment[variable] for key, variable in names.items() if variable in environment} or None
    variables = (name, _CONFIGURATION_NAMES.get(name, name))
    value = next(filter(None, (environment.get(f"{prefix}{variable.upper()}") for variable in variables)), None)
    kind = AUTH_OPTIONS[name].get("type")
    if value is None or kind not in ("bool", "list"):
        return value
    return value.lower() not in ("0", "false", "no") if kind == "bool" else [item for item in value.split(",") if item]


def _check(options: Options) -> None:
    host, proxy = options.get("host"), options.get("proxy")
    if host and not _is_url(host, ("http", "https")):
        raise AuthError(f"host: expected a URL such as https://k8s.example.com:6443, got {redact_users(host)!r}")
    if proxy and not _is_url(proxy, _PROXY_SCHEMES):
        raise AuthError(f"proxy: expected a URL such as http://proxy.example.com:3128, got {redact_users(proxy)!r}")
    for name in _FILES:
        path = options.get(name)
        if path and not os.access(path, os.R_OK):
            raise AuthError(f"{name}: expected the path of a readable file, got {path!r}")
    if not needs_kubeconfig(options) or "kubeconfig" not in options:
        return
    kubeconfig = options["kubeconfig"]
    if not kubeconfig or not isinstance(kubeconfig, (str, dict)):
        given = "nothing" if not kubeconfig else f"a {type(kubeconfig).__name__}"
        raise AuthError(f"kubeconfig: expected the path of a kubeconfig or its content as a mapping, got {given}")


def _is_url(text: str, schemes: t.Collection[str]) -> bool:
    try:
        parts = urllib.parse.urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname)


def _load(options: Options, configuration: t.Any) -> None:
    """Set the host and credentials of a configuration from a kubeconfig or from the pod's service account."""
    import yaml
    from kubernetes import config

    kubeconfig, context = options.get("kubeconfig"), options.get("context") or None
    common = {
        "context": context,
        "client_configuration": configuration,
        "persist_config": bool(options.get("persist_config")),
    }
    if not kubeconfig and not context:
        try:
            config.load_incluster_config(client_configuration=configuration)
        except config.ConfigException:
            pass
        else:
            return
    path = kubeconfig or config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    shown = "with this content" if isinstance(kubeconfig, dict) else repr(path)
    try:
        if isinstance(kubeconfig, dict):
            config.load_kube_config_from_dict(kubeconfig, **common)
        else:
            config.load_kube_config(config_file=kubeconfig, **common)
    except (config.ConfigException, OSError) as error:
        raise AuthError(f"kubeconfig {shown} cannot be used: {to_native(error)}") from error
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        # The messages of these errors may quote the kubeconfig.
        text = f"kubeconfig {shown} cannot be used: expected a kubeconfig in YAML or JSON ({type(error).__name__})"
        raise AuthError(text) from None


def _texts(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _secrets(value: t.Any) -> t.Iterator[str]:
    """Yield the secrets in a kubeconfig.

    These are the values of fields whose names suggest a secret, such as `token`, and everything in an `auth-provider`.
    """
    if isinstance(value, dict):
        paired = is_secret_name(str(value.get("name") or ""))
        for name, item in value.items():
            secret = name == "auth-provider" or is_secret_name(str(name)) or (paired and name == "value")
            yield from (_texts if secret else _secrets)(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _secrets(item)
