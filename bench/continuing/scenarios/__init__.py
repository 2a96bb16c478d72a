"""The scenarios; four are for tuning, the others for quoting, by hash of their names."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from bench.continuing.scenario import Half, Scenario
from bench.continuing.scenarios.bakery_plan import SCENARIO as BAKERY_PLAN
from bench.continuing.scenarios.bus_transfers import SCENARIO as BUS_TRANSFERS
from bench.continuing.scenarios.cave_survey import SCENARIO as CAVE_SURVEY
from bench.continuing.scenarios.clinic_rota import SCENARIO as CLINIC_ROTA
from bench.continuing.scenarios.film_subtitles import SCENARIO as FILM_SUBTITLES
from bench.continuing.scenarios.library_reminders import SCENARIO as LIBRARY_REMINDERS
from bench.continuing.scenarios.meter_bills import SCENARIO as METER_BILLS
from bench.continuing.scenarios.museum_loans import SCENARIO as MUSEUM_LOANS
from bench.continuing.scenarios.radio_contest import SCENARIO as RADIO_CONTEST
from bench.continuing.scenarios.seed_withdrawals import SCENARIO as SEED_WITHDRAWALS
from bench.continuing.scenarios.tide_notices import SCENARIO as TIDE_NOTICES
from bench.continuing.scenarios.vineyard_labels import SCENARIO as VINEYARD_LABELS

SCENARIOS: Final[tuple[Scenario, ...]] = (
    BAKERY_PLAN,
    BUS_TRANSFERS,
    CAVE_SURVEY,
    CLINIC_ROTA,
    FILM_SUBTITLES,
    LIBRARY_REMINDERS,
    METER_BILLS,
    MUSEUM_LOANS,
    RADIO_CONTEST,
    SEED_WITHDRAWALS,
    TIDE_NOTICES,
    VINEYARD_LABELS,
)
TUNING: Final = 4


def half_of(scenario: Scenario) -> Half:
    """The scenarios with the smallest hashes are for tuning."""
    ranked = sorted(SCENARIOS, key=lambda one: sha256(one.name.encode()).hexdigest())
    return "tune" if scenario in ranked[:TUNING] else "report"
