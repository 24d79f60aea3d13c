"""The prompts of all roles: our own, or those of the files that the settings name."""

from pathlib import Path

from fathom.llm.prompt import Prompt
from fathom.runs.trace import Trace
from fathom.settings import Settings


def own_prompts() -> tuple[Prompt, ...]:
    """Those that are declared with their roles; each has a setting of its name."""
    from fathom.agents import (
        decomposer,
        hyde,
        judge,
        questioner,
        reorderer,
        rewriter,
        selector,
        summarizer,
    )
    from fathom.agents.debate import aggregator, debater
    from fathom.agents.reader import citations as cited_answer
    from fathom.planner import workflows as planner

    return (
        cited_answer.QUOTES_PROMPT,
        cited_answer.NUMBERS_PROMPT,
        judge.PROMPT,
        debater.PROMPT,
        aggregator.PROMPT,
        rewriter.PROMPT,
        rewriter.STAND_ALONE,
        decomposer.SERIAL,
        decomposer.PARALLEL,
        hyde.PROMPT,
        reorderer.PROMPT,
        selector.PROMPT,
        summarizer.PROMPT,
        planner.PROMPT,
        questioner.PROMPT,
    )


def chosen(own: Prompt, settings: Settings) -> Prompt:
    """One of our own, or what stands in the file that replaces it.

    Raises:
        SettingsError: If the file is not as the prompt must be; see `Prompt.replaced`.
    """
    file = getattr(settings.llm.prompts, own.name)
    return own.replaced(Path(file)) if file else own


def chosen_prompts(settings: Settings) -> dict[str, Prompt]:
    """All prompts by their names.

    Raises:
        SettingsError: See `chosen`.
    """
    return {own.name: chosen(own, settings) for own in own_prompts()}


def changed_prompts(trace: Trace, settings: Settings) -> tuple[str, ...]:
    """Which prompts of a run are others now: a replay asks what nobody has answered then.

    Raises:
        SettingsError: See `chosen`.
    """
    asking = {event.step for event in trace.events if event.kind == "llm"}
    used = {str(step.inputs.get("prompt", "")) for step in trace.steps if step.id in asking}
    now = {name: each.id for name, each in chosen_prompts(settings).items()}
    known = {each: now[name] for each in used if (name := each.partition(" ")[0]) in now}
    changed = [
        f"prompt {then} is {today} now"
        for then, today in sorted(known.items())
        if then.split()[1:2] != today.split()[1:2]
    ]
    if "" in used:
        changed.append("its prompts had no versions yet; ask again instead: fathom ask")
    return tuple(changed)
