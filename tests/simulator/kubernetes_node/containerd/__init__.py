# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""containerd, and the programs that speak to it: ctr.exe and BuildKit.

Start with `runtime.py`, containerd while it runs. `program.py` is its command line and its service.
"""
