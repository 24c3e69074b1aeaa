# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Docker: dockerd, docker.exe, and cri-dockerd, which provides CRI for dockerd.

Read `dockerd.py`, the running daemon, first. `program.py` is docker.exe.
"""
