# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate containerd and its clients ctr.exe and BuildKit.

Start reading with `runtime.py`, which simulates the running containerd. `program.py` contains containerd's command line
and service.
"""
