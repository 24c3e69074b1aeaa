# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CRI (the interface between a kubelet and a container runtime), sandboxes, containers and crictl.exe.

Read `interface.py` first. `shims.py` contains the sandboxes and containers, which outlive the runtime.
"""
