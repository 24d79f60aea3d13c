"""The stand-in for a language model, named in an arm's settings like any other model.

    settings = { "llm.model" = "standin:extractive", "llm.skip_above_confidence" = 2 }

It shows what calls and tokens a system needs; how well a real model answers it does not show.
"""

import asyncio
from dataclasses import dataclass
from json import dumps

from experiments.extractive import ExtractiveModel

from fathom.llm.base import Call, Completion
from fathom.llm.tokens import count_tokens, prompt_tokens
from fathom.usage import Usage

NAME = "standin:extractive"


@dataclass(frozen=True, slots=True)
class StandIn:
    """A `ChatModel` that quotes the prompt; it needs no key and no network.

    Attributes:
        model: Replies to a conversation.
    """

    model: ExtractiveModel
    name: str = NAME

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`; tokens are counted as those of any model."""
        turns = [{"role": each.role, "content": each.text} for each in call.messages]
        text = await asyncio.to_thread(self.model, turns)
        if call.on_text is not None:
            call.on_text(text)
        prompt = prompt_tokens(call.messages, dumps(call.schema) if call.schema else "")
        usage = Usage(llm_calls=1, prompt_tokens=prompt, completion_tokens=count_tokens(text))
        return Completion(text=text, model=self.name, usage=usage)
