# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Send access reviews, which ask the API server whether a user may make a request.

Source: kubernetes.io, Authorization Overview, "Checking API access".
"""

from __future__ import annotations

import typing as t

from .api_forms import REVIEW
from .cluster_client import Cluster

_API = "apis/authorization.k8s.io/v1"


def allowed(cluster: Cluster, attributes: t.Mapping[str, str], **user: t.Any) -> bool:
    """Return whether a user is allowed to make the request that the attributes describe.

    Args:
        cluster: the cluster.
        attributes: `resourceAttributes` of the access review. Empty values are not sent.
        user: `user` and `groups` of the user. Without them, the permission of the current credentials is checked.

    Raises:
        ApiError: the request failed.
    """
    kind = "SubjectAccessReview" if user else "SelfSubjectAccessReview"
    spec = {**user, "resourceAttributes": {key: value for key, value in attributes.items() if value}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    answer = cluster.ask("POST", _API, f"{kind.lower()}s", body=body, form=REVIEW)
    return bool(answer["status"]["allowed"])
