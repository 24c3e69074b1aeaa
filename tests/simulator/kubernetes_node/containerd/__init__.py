# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""containerd and its clients: ctr.exe and BuildKit.

Start with `runtime.py`, the running containerd. `program.py` contains its command line and its service.
"""
