# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Answer review requests, which ask who a user is, what a user may do, or to whom a token belongs."""

from __future__ import annotations

from .authentication import Authenticator
from .authorization import Authorizer
from .requests import ApiRequest, Response, Target, User
from .resources import Object, ResourceType


class Reviews:
    """The handler for SelfSubjectReview, TokenReview, SelfSubjectAccessReview and SubjectAccessReview."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer

    def answer(self, kind: ResourceType, request: ApiRequest) -> Response:
        """Answer a review request.

        Args:
            kind: the resource type of the review.
            request: the request, whose body is the review.
        """
        body = request.parse_object()
        spec = body.get("spec") or {}
        if kind.kind == "SelfSubjectReview":
            status: Object = {"userInfo": _user_info(request.user)}
        elif kind.kind == "TokenReview":
            user = self._authenticator.token_user(spec.get("token", ""))
            status = {"authenticated": True, "user": _user_info(user)} if user else {"authenticated": False, "user": {}}
        else:
            asked = request.user
            if kind.kind == "SubjectAccessReview":
                asked = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
            allowed, reason = self._authorizer.decide(asked, _target(spec))
            status = {"allowed": allowed} | ({"reason": reason} if reason else {})
        identity = {"kind": kind.kind, "apiVersion": kind.group_version, "metadata": body.get("metadata") or {}}
        return Response(201, identity | ({"spec": spec} if spec else {}) | {"status": status})


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name, "groups": list(user.groups)}
    return info | ({"uid": user.uid} if user.uid else {})


def _target(spec: Object) -> Target:
    if path := spec.get("nonResourceAttributes"):
        return Target(path.get("verb", ""), path.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    return Target(
        verb=asked.get("verb", ""),
        path="",
        group=asked.get("group", ""),
        version=asked.get("version", ""),
        resource=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        namespace=asked.get("namespace", ""),
        name=asked.get("name", ""),
    )
