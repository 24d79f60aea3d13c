"""The settings of property tests: no time limit, since the machine may be busy."""

from hypothesis import HealthCheck, settings

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
