"""Three mixes of roles: all local, the reader on a language model, and all on a language model."""

import os
from collections.abc import Mapping
from typing import Any

from fathom.llm.role_models import ROLES

MIXES: Mapping[str, tuple[str, ...]] = {"local": (), "mixed": ("reader",), "all roles": ROLES}
"""The roles that use a language model, by mix."""
_KEY = "SCRIPTED_KEY"


def sections(mix: str, base_url: str) -> dict[str, Any]:
    """Return the settings of a mix, for a server of OpenAI's protocol that accepts any key.

    A role with a language model always asks it, so that its full cost is measured.
    """
    os.environ.setdefault(_KEY, "scripted")
    if not MIXES[mix]:
        return {}
    model = {"model": "openai:scripted", "base_url": base_url, "key_env": _KEY, "tries": 1}
    implementations = {role: "llm" if role in MIXES[mix] else "local" for role in ROLES}
    return {"llm": {**model, "skip_above_confidence": 2}, "roles": implementations}
