"""Three casts: all minds local, the reader's a language model, and every role's."""

import os
from collections.abc import Mapping
from typing import Any

from fathom.llm.call import AgentRole
from fathom.llm.role_models import ROLES

MIXES: Mapping[str, tuple[AgentRole, ...]] = {"local": (), "mixed": ("reader",), "all roles": ROLES}
"""Which roles a language model has."""
_KEY = "SCRIPTED_KEY"


def sections(mix: str, base_url: str) -> dict[str, Any]:
    """The settings of a mix, with a server of OpenAI's protocol that wants no true key.

    Whoever has a language model always asks it, so that what it costs is seen in full.
    """
    os.environ.setdefault(_KEY, "scripted")
    if not MIXES[mix]:
        return {}
    model = {"model": "openai:scripted", "base_url": base_url, "key_env": _KEY, "tries": 1}
    minds = {role: "llm" if role in MIXES[mix] else "local" for role in ROLES}
    return {"llm": {**model, "skip_above_confidence": 2}, "roles": minds}
