# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The kubelet: its settings and certificates, the Node object, and the pods of the node.

Start with `program.py` (the command line and the main loop), then read `pods.py`. `log_runner.py` is
kube-log-runner.exe, which starts a kubelet and writes its output to a file.
"""
