# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows' time zones, with their standard offsets from UTC in minutes.

Source: https://learn.microsoft.com/windows-hardware/manufacture/desktop/default-time-zones
"""

from __future__ import annotations

from collections.abc import Mapping

_TABLE = """
-720 Dateline Standard Time|-660 UTC-11|-600 Aleutian Standard Time|-600 Hawaiian Standard Time
-570 Marquesas Standard Time|-540 Alaskan Standard Time|-540 UTC-09|-480 Pacific Standard Time (Mexico)
-480 UTC-08|-480 Pacific Standard Time|-420 US Mountain Standard Time|-420 Mountain Standard Time (Mexico)
-420 Mountain Standard Time|-420 Yukon Standard Time|-360 Central America Standard Time
-360 Central Standard Time|-360 Easter Island Standard Time|-360 Central Standard Time (Mexico)
-360 Canada Central Standard Time|-300 SA Pacific Standard Time|-300 Eastern Standard Time (Mexico)
-300 Eastern Standard Time|-300 Haiti Standard Time|-300 Cuba Standard Time|-300 US Eastern Standard Time
-300 Turks And Caicos Standard Time|-240 Paraguay Standard Time|-240 Atlantic Standard Time
-240 Venezuela Standard Time|-240 Central Brazilian Standard Time|-240 SA Western Standard Time
-240 Pacific SA Standard Time|-210 Newfoundland Standard Time|-180 Tocantins Standard Time
-180 E. South America Standard Time|-180 SA Eastern Standard Time|-180 Argentina Standard Time
-180 Greenland Standard Time|-180 Montevideo Standard Time|-180 Magallanes Standard Time
-180 Saint Pierre Standard Time|-180 Bahia Standard Time|-120 UTC-02|-60 Azores Standard Time
-60 Cape Verde Standard Time|0 UTC|0 GMT Standard Time|0 Greenwich Standard Time|0 Sao Tome Standard Time
0 Morocco Standard Time|60 W. Europe Standard Time|60 Central Europe Standard Time|60 Romance Standard Time
60 Central European Standard Time|60 W. Central Africa Standard Time|120 Jordan Standard Time
120 GTB Standard Time|120 Middle East Standard Time|120 Egypt Standard Time|120 E. Europe Standard Time
120 Syria Standard Time|120 West Bank Standard Time|120 South Africa Standard Time|120 FLE Standard Time
120 Israel Standard Time|120 South Sudan Standard Time|120 Kaliningrad Standard Time|120 Sudan Standard Time
120 Libya Standard Time|120 Namibia Standard Time|180 Arabic Standard Time|180 Turkey Standard Time
180 Arab Standard Time|180 Belarus Standard Time|180 Russian Standard Time|180 E. Africa Standard Time
180 Volgograd Standard Time|210 Iran Standard Time|240 Arabian Standard Time|240 Astrakhan Standard Time
240 Azerbaijan Standard Time|240 Russia Time Zone 3|240 Mauritius Standard Time|240 Saratov Standard Time
240 Georgian Standard Time|240 Caucasus Standard Time|270 Afghanistan Standard Time
300 West Asia Standard Time|300 Ekaterinburg Standard Time|300 Pakistan Standard Time
300 Qyzylorda Standard Time|330 India Standard Time|330 Sri Lanka Standard Time|345 Nepal Standard Time
360 Central Asia Standard Time|360 Bangladesh Standard Time|360 Omsk Standard Time|390 Myanmar Standard Time
420 SE Asia Standard Time|420 Altai Standard Time|420 W. Mongolia Standard Time|420 North Asia Standard Time
420 N. Central Asia Standard Time|420 Tomsk Standard Time|480 China Standard Time
480 North Asia East Standard Time|480 Singapore Standard Time|480 W. Australia Standard Time
480 Taipei Standard Time|480 Ulaanbaatar Standard Time|525 Aus Central W. Standard Time
540 Transbaikal Standard Time|540 Tokyo Standard Time|540 North Korea Standard Time|540 Korea Standard Time
540 Yakutsk Standard Time|570 Cen. Australia Standard Time|570 AUS Central Standard Time
600 E. Australia Standard Time|600 AUS Eastern Standard Time|600 West Pacific Standard Time
600 Tasmania Standard Time|600 Vladivostok Standard Time|630 Lord Howe Standard Time
660 Bougainville Standard Time|660 Russia Time Zone 10|660 Magadan Standard Time|660 Norfolk Standard Time
660 Sakhalin Standard Time|660 Central Pacific Standard Time|720 Russia Time Zone 11
720 New Zealand Standard Time|720 UTC+12|720 Fiji Standard Time|765 Chatham Islands Standard Time|780 UTC+13
780 Tonga Standard Time|780 Samoa Standard Time|840 Line Islands Standard Time
"""


def _read() -> dict[str, int]:
    entries = (
        entry.strip().partition(" ") for line in _TABLE.splitlines() for entry in line.split("|") if entry.strip()
    )
    return {name: int(offset) for offset, _, name in entries}


TIME_ZONES: Mapping[str, int] = _read()


def known(name: str) -> str | None:
    """Return the identifier of a time zone as Windows capitalizes it, or None if the time zone does not exist."""
    return next((zone for zone in TIME_ZONES if zone.casefold() == name.casefold()), None)


def display(name: str) -> str:
    """Return the display name of a time zone, such as `(UTC+01:00) W. Europe Standard Time`."""
    offset = TIME_ZONES[name]
    if offset == 0:
        return f"(UTC) {'Coordinated Universal Time' if name == 'UTC' else name}"
    hours, minutes = divmod(abs(offset), 60)
    return f"(UTC{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}) {name}"
