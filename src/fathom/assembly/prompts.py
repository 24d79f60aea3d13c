"""The prompts of all roles: the shipped ones, or those in the folder `llm.prompts`."""

from pathlib import Path
from pkgutil import resolve_name

from fathom.llm.prompt import Prompt
from fathom.registry import ROLES
from fathom.runs.trace import Trace
from fathom.settings import Settings


def list_shipped_prompts() -> tuple[Prompt, ...]:
    """Return the shipped prompts of all roles, which users can replace by files."""
    return tuple(resolve_name(place) for role in ROLES.values() for place in role.prompts.values())


def choose_prompt(shipped: Prompt, settings: Settings) -> Prompt:
    """Return a shipped prompt, or the one in the user's file that replaces it.

    Raises:
        SettingsError: If the file cannot be read, or lacks a placeholder or has another one.
    """
    file = getattr(settings.llm.prompts, shipped.name)
    return shipped.replace_from_file(Path(file)) if file else shipped


def choose_prompts(settings: Settings) -> dict[str, Prompt]:
    """Return the prompts in use, by their names.

    Raises:
        SettingsError: If a file cannot be read, or lacks a placeholder or has another one.
    """
    return {shipped.name: choose_prompt(shipped, settings) for shipped in list_shipped_prompts()}


def list_changed_prompts(trace: Trace, settings: Settings) -> tuple[str, ...]:
    """Return a line for each prompt that has changed since a run, so that its replay may fail.

    Only prompts with which the run asked a language model are compared, by their digests.

    Args:
        trace: The trace of the run.
        settings: The settings in force.

    Raises:
        SettingsError: If a file cannot be read, or lacks a placeholder or has another one.
    """
    asking = {event.step for event in trace.events if event.kind == "llm"}
    used = {str(step.inputs.get("prompt", "")) for step in trace.steps if step.id in asking}
    now = {name: prompt.id for name, prompt in choose_prompts(settings).items()}
    current = {prompt: now[name] for prompt in used if (name := prompt.partition(" ")[0]) in now}
    changed = [
        f"prompt {then} is {today} now"
        for then, today in sorted(current.items())
        if then.split()[1:2] != today.split()[1:2]
    ]
    if "" in used:
        changed.append("its prompts had no versions yet; ask again instead: fathom ask")
    return tuple(changed)
