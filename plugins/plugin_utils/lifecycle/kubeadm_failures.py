# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Explain from kubeadm's output why kubeadm failed (no I/O). The known causes are in data/kubeadm_failures.yml."""

from __future__ import annotations

from . import known_failures

DATA = "kubeadm_failures.yml"


def message(output: str, exit_code: int | None) -> str:
    """Return a message about a failed run of kubeadm: the cause and the remedy if known, and kubeadm's output.

    Args:
        output: the output, without secrets.
        exit_code: the exit code, or None if kubeadm did not end by itself.
    """
    reported = f"exit code {exit_code}: {output}" if exit_code else output
    explained = known_failures.explain(DATA, output)
    return f"{explained}. kubeadm reports: {reported}" if explained else reported
