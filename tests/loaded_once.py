"""Weights and tokenizers that are read from a file once for all tests of a process.

Each engine of a test loads its models anew otherwise, a third of a second of the processor each
time. What is loaded keeps nothing of what it was asked; a file that changed is read again.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


def load_models_once(patch: pytest.MonkeyPatch) -> None:
    """See to it for as long as the patch is in force."""
    from tokenizers import Tokenizer

    from fathom.models import cross_reader, embedder, shipped, unigram
    from fathom.models.runtime import hash_file, load_runtime

    load, told = once(load_runtime), once(hash_file)
    for module in (cross_reader, embedder):
        patch.setattr(module, "load_runtime", load)
    for module in (embedder, shipped):
        patch.setattr(module, "hash_file", told)
    read = once(Tokenizer.from_file)
    patch.setattr(unigram, "Tokenizer", SimpleNamespace(from_file=read))


def once(load: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of a file, which gives again what it gave for a file that is as it was."""
    known: dict[object, Any] = {}

    def loaded(file: Any, **options: Any) -> Any:
        try:
            now = Path(file).stat()
        except OSError:
            return load(file, **options)
        key = (str(file), now.st_mtime_ns, now.st_size, *sorted(options.items()))
        if key not in known:
            known[key] = load(file, **options)
        return known[key]

    return loaded
