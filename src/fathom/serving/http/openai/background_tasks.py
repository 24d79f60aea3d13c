"""Background tasks of chat clients: prompts for titles, tags and suggestions.

Clients send such prompts to the model of the chat. They are answered from the prompt alone, without
a retrieval and without a budget.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from fathom.question.question import Question
from fathom.text.content_words import ContentTerms

LONGEST_TITLE = 60
"""The number of characters of a title, at most."""
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


def answer_background_task(prompt: str) -> str | None:
    """Answer a prompt if it is a background task; return `None` for a question.

    Recognised are Open WebUI's prompts for titles, tags, follow-up questions, search queries, image
    prompts and completions, and LibreChat's prompts for titles.
    """
    if _LIBRECHAT.match(prompt):
        return _make_title(next(_iterate_messages(prompt, "User"), ""))
    form, chat = _FORM.search(prompt), _extract_chat(prompt)
    if not _OPEN_WEBUI.match(prompt) or form is None or chat is None:
        return None
    reply = _REPLIES.get(form[1])
    questions = list(_iterate_messages(chat, "USER"))
    return json.dumps({form[1]: reply(questions) if reply else ""}, ensure_ascii=False)


def extract_question(prompt: str) -> str:
    """Return the user's question without the documents that Open WebUI puts before it.

    A prompt in which nothing follows the documents is returned unchanged.
    """
    context = _CONTEXT.match(prompt)
    return (prompt[context.end() :] if context else prompt) or prompt


def _extract_chat(prompt: str) -> str | None:
    """Return the text between the first begin mark and the last end mark of a chat."""
    begin, end = _CHAT
    _, has_begin, rest = prompt.partition(begin)
    # The last end: a message may quote the mark itself.
    chat, has_end, _ = rest.rpartition(end)
    return chat.removeprefix("\n") if has_begin and has_end else None


def _iterate_messages(chat: str, speaker: str) -> Iterator[str]:
    """Yield a speaker's messages, in order."""
    _, *fields = _TURN.split(chat)
    for name, message in zip(fields[::2], fields[1::2], strict=True):
        if name == speaker:
            yield " ".join(message.split())


def _make_title(question: str) -> str:
    """Return the question, cut at a word to the length of a title."""
    line = " ".join(question.split())
    if len(line) <= LONGEST_TITLE:
        return line or "Chat"
    return f"{line[:LONGEST_TITLE].rpartition(' ')[0] or line[:LONGEST_TITLE]}…"


def _choose_tags(questions: list[str]) -> list[str]:
    """Return the longest content words, or a general tag if there are none."""
    words = dict.fromkeys(word for question in questions for word in ContentTerms().words(question))
    candidates = (word for word in words if word.isalpha() and len(word) > 3)
    chosen = sorted(candidates, key=len, reverse=True)[:_TAGS]
    general = "Umum" if questions and Question(questions[0]).language == "id" else "General"
    return [word.capitalize() for word in words if word in chosen] or [general]


_REPLIES: Mapping[str, Callable[[list[str]], object]] = {
    "title": lambda questions: _make_title(questions[0] if questions else ""),
    "tags": _choose_tags,
    # Good follow-up questions need a search, which is too expensive for a background task.
    "follow_ups": lambda _: [],
    "queries": lambda questions: questions[-1:],
    "prompt": lambda questions: questions[-1] if questions else "",
}
