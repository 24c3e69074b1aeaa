# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""nssm, the service manager for programs that do not support the service control manager.

Start with `program.py`, which simulates nssm as a service program. `commands.py` is nssm's command line.
"""
