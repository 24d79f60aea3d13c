"""What holds for all tests."""

from hypothesis import settings

# A machine that is busy is no failure: no generated example has a time limit.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
