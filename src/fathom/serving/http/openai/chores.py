"""What chat clients ask a model for by the way: titles, tags, suggestions; no question at all.

They send such prompts to the model of the chat. They are answered here, of what stands in them:
that costs no retrieval, and nothing of anybody's budget.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from fathom.text.content_words import ContentTerms
from fathom.text.language import question_language

LONGEST_TITLE = 60
_TAGS = 3
_OPEN_WEBUI = re.compile(r"\s*### Task:\s")
_FORM = re.compile(r'\{\s*"(title|tags|follow_ups|queries|prompt|text|emoji)"\s*:')
_CHAT = "<chat_history>", "</chat_history>"
_LIBRECHAT = re.compile(r"\s*(?:Provide|Please generate) a concise, 5-word-or-less title\b")
_TURN = re.compile(r"^(USER|ASSISTANT|User|AI): ", re.MULTILINE)
_CONTEXT = re.compile(
    r"\s*### Task:\s+Respond to the user query using the provided context.*</context>\s*",
    re.DOTALL,
)


def chore(prompt: str) -> str | None:
    """The reply to such a prompt; `None` where it is a question after all.

    Known are Open WebUI's prompts for titles, tags, follow-up questions, search queries, prompts
    of images and completions, and LibreChat's for titles.
    """
    if _LIBRECHAT.match(prompt):
        return _title(next(_turns(prompt, "User"), ""))
    form, chat = _FORM.search(prompt), _chat_in(prompt)
    if not _OPEN_WEBUI.match(prompt) or form is None or chat is None:
        return None
    reply = _REPLIES.get(form[1])
    asked = list(_turns(chat, "USER"))
    return json.dumps({form[1]: reply(asked) if reply else ""}, ensure_ascii=False)


def question_in(prompt: str) -> str:
    """The question of a user: without the documents that Open WebUI puts before it.

    Where there is nothing behind them, the prompt as it is.
    """
    found = _CONTEXT.match(prompt)
    return (prompt[found.end() :] if found else prompt) or prompt


def _chat_in(prompt: str) -> str | None:
    """What stands between the first mark of a chat and the last one of its end."""
    begin, end = _CHAT
    _, begun, rest = prompt.partition(begin)
    chat, ended, _ = rest.rpartition(end)
    return chat.removeprefix("\n") if begun and ended else None


def _turns(chat: str, speaker: str) -> Iterator[str]:
    """What a speaker said, in order."""
    _, *parts = _TURN.split(chat)
    for who, words in zip(parts[::2], parts[1::2], strict=True):
        if who == speaker:
            yield " ".join(words.split())


def _title(question: str) -> str:
    """The question itself, cut at a word."""
    line = " ".join(question.split())
    if len(line) <= LONGEST_TITLE:
        return line or "Chat"
    return f"{line[:LONGEST_TITLE].rpartition(' ')[0] or line[:LONGEST_TITLE]}…"


def _tags(asked: list[str]) -> list[str]:
    """The longest words of meaning."""
    words = dict.fromkeys(word for each in asked for word in ContentTerms().words(each))
    kept = (word for word in words if word.isalpha() and len(word) > 3)
    chosen = sorted(kept, key=len, reverse=True)[:_TAGS]
    general = "Umum" if asked and question_language(asked[0]) == "id" else "General"
    return [word.capitalize() for word in words if word in chosen] or [general]


_REPLIES: Mapping[str, Callable[[list[str]], object]] = {
    "title": lambda asked: _title(asked[0] if asked else ""),
    "tags": _tags,
    # What the documents answer is not known without looking.
    "follow_ups": lambda _: [],
    "queries": lambda asked: asked[-1:],
    "prompt": lambda asked: asked[-1] if asked else "",
}
