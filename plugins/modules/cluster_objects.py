#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Apply a set of Kubernetes objects, and remove objects that are no longer in it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_objects
short_description: Apply a set of Kubernetes objects with server-side apply, and remove objects that are no longer in it
version_added: "0.1.0"
description:
  - Applies O(objects) and O(secret_objects) with server-side apply. The API server first computes the results in a dry
    run, except for new objects in a namespace that does not exist yet. Objects that would not change are not written.
  - A ConfigMap (O(record)) lists the objects of the set. An object that is in this list but no longer in the set is
    deleted, if it still has the label O(label). Namespaces, objects that existed before the module applied them for the
    first time, and objects that other programs have applied since then (C(kubectl apply), Helm, or server-side apply)
    are not deleted. They lose the label O(label), except for a namespace that the module created and no other program
    has applied. They also lose other labels that no other program has applied, unless the API server would remove
    further fields together with these labels.
  - If another program has set a field differently, the task fails before it changes anything, unless
    O(force_conflicts=true).
  - Runs on the controller or a control plane host, never on a Windows node.
  - The account of O(kubeconfig) needs permission to get, create, patch and delete the objects, and to get, create and
    patch the ConfigMap.
options:
  objects:
    description: The objects, with C(apiVersion), C(kind) and C(metadata). Each must have the label O(label).
    type: list
    elements: dict
    default: []
  secret_objects:
    description: Additional objects, such as Secrets, whose contents appear in no output.
    type: list
    elements: dict
    default: []
  record:
    description: The ConfigMap that lists the objects, as C(NAMESPACE/NAME). It is created if it does not exist.
    type: str
    required: true
  label:
    description: Key of the label that marks the objects in O(objects) and O(secret_objects).
    type: str
    required: true
  field_manager:
    description: Name of the field manager for server-side apply.
    type: str
    default: winkube
  force_conflicts:
    description: Whether to overwrite fields that another program has set differently.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Returns what would be done. The API server checks the objects in a dry run.
    support: full
  diff_mode:
    description: Shows the objects before and after the change, without the data of Secrets.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Apply a namespace
  winkube.node.cluster_objects:
    kubeconfig: ~/.kube/config
    record: kube-system/my-objects
    label: example.com/part-of
    objects:
      - apiVersion: v1
        kind: Namespace
        metadata: {name: web, labels: {example.com/part-of: site}}
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
objects:
  description: One entry for each object of the set, and for each object that is no longer in it.
  type: list
  elements: dict
  returned: always
  contains:
    api_version:
      description: The object's API version.
      type: str
    kind:
      description: The object's kind.
      type: str
    namespace:
      description: The object's namespace, or empty if objects of its kind have no namespace.
      type: str
    name:
      description: The object's name.
      type: str
    action:
      description: >-
        V(created), V(changed), V(unchanged) or V(removed). V(kept) is an object that is no longer in the set, but is
        not deleted. V(gone) is an object of an earlier run that no longer exists.
      type: str
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.api_error import ApiError
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.cluster_objects.api import ObjectApi
from ..module_utils.cluster_objects.kinds import Reference
from ..module_utils.cluster_objects.run import UNCHANGED, ObjectSet, ObjectSetError, PlannedObject


def record_of(text: str) -> Reference:
    """Return a reference to the ConfigMap that the option `record` names.

    Raises:
        ObjectSetError: the option does not have the format `NAMESPACE/NAME`.
    """
    namespace, _slash, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise ObjectSetError(f"record: expected NAMESPACE/NAME, got {text!r}")
    return Reference("v1", "ConfigMap", namespace, name)


def refuse_unlabelled(items: t.Iterable[t.Mapping[str, t.Any]], label: str) -> None:
    """Reject objects that a later run could not remove.

    Raises:
        ObjectSetError: an object does not have the label that the option `label` names.
    """
    for item in items:
        about = item.get("metadata") or {}
        if label not in (about.get("labels") or {}):
            raise ObjectSetError(f"{item.get('kind')} {about.get('name')}: expected the label {label}, got none")


def identity_texts(items: t.Iterable[t.Mapping[str, t.Any]]) -> set[str]:
    """Return the strings in secret objects that Ansible need not hide in the module's output.

    They are the API version, kind, type, name, namespace and label values.
    """
    texts: set[str] = set()
    for item in items:
        about = item.get("metadata") or {}
        texts |= {str(item.get(name)) for name in ("apiVersion", "kind", "type")}
        texts |= {str(about.get(name)) for name in ("name", "namespace")}
        texts |= {str(value) for value in (about.get("labels") or {}).values()}
    return texts


def result_of(planned: t.Sequence[PlannedObject]) -> dict[str, t.Any]:
    """Return the module's result: all planned objects, and the diff of those that change."""
    changes = [one for one in planned if one.action != UNCHANGED]
    return {
        "changed": bool(changes),
        "objects": [one.to_result() for one in planned],
        "diff": [one.to_diff() for one in changes],
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            objects={"type": "list", "elements": "dict", "default": []},
            secret_objects={"type": "list", "elements": "dict", "default": [], "no_log": True},
            record={"type": "str", "required": True},
            label={"type": "str", "required": True},
            field_manager={"type": "str", "default": "winkube"},
            force_conflicts={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    params = module.params
    items = [*params["objects"], *params["secret_objects"]]
    cluster = Cluster(module)
    # Ansible would also replace names, such as kube-system, in all output.
    module.no_log_values -= identity_texts(params["secret_objects"])
    api = ObjectApi(cluster, params["field_manager"], force=params["force_conflicts"])
    try:
        refuse_unlabelled(items, params["label"])
        objects = ObjectSet(api, record_of(params["record"]), params["label"])
        planned = objects.plan(items)
        result = result_of(planned)
        if result["changed"] and not module.check_mode:
            objects.perform(planned)
    except (ObjectSetError, ApiError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
