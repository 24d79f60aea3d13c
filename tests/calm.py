"""How properties are tested: no time counts, whatever else the machine does."""

from hypothesis import HealthCheck, settings

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
