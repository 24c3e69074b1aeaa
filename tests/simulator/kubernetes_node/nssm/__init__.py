# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""nssm, the service manager that runs programs which know nothing of services.

Start with `program.py`, nssm as the program of a service. `commands.py` is its command line.
"""
