"""Background tasks of chat clients are distinguished from questions and answered without
retrieval.
"""

import json

import pytest

from fathom.serving.http.openai.background_tasks import answer_background_task, extract_question

CHAT = """### Chat History:
<chat_history>
USER: For how many days at most are books lent by the Merrow Town Library?
ASSISTANT: Books are lent for 28 days. [1]
USER: And films?
</chat_history>"""
TASK = """### Task:
{}

### Output:
JSON format: {}

{}"""


def make_open_webui_task(task: str, form: str, chat: str = CHAT) -> str:
    return TASK.format(task, form, chat)


def test_a_title_is_the_first_question() -> None:
    reply = answer_background_task(
        make_open_webui_task(
            "Generate a concise title summarizing the chat history.",
            '{ "title": "your concise title here" }',
        )
    )
    assert json.loads(reply or "") == {
        "title": "For how many days at most are books lent by the Merrow Town…"
    }


def test_tags_are_words_of_the_questions() -> None:
    reply = answer_background_task(
        make_open_webui_task("Generate 1-3 broad tags", '{ "tags": ["tag1", "tag2", "tag3"] }')
    )
    assert json.loads(reply or "") == {"tags": ["Books", "Merrow", "Library"]}


def test_no_follow_up_questions_are_invented() -> None:
    reply = answer_background_task(
        make_open_webui_task(
            "Predict 3-5 useful messages", '{ "follow_ups": ["Suggested next message"] }'
        )
    )
    assert json.loads(reply or "") == {"follow_ups": []}


def test_the_search_query_is_the_last_question() -> None:
    reply = answer_background_task(
        make_open_webui_task("Analyze the chat history", '{\n  "queries": ["query1"]\n}')
    )
    assert json.loads(reply or "") == {"queries": ["And films?"]}


def test_a_title_for_librechat_is_bare() -> None:
    prompt = (
        "Provide a concise, 5-word-or-less title for the conversation, using title case "
        "conventions. Only return the title itself.\n\nConversation:\n"
        "User: When does the library open?\nAI: At nine. [1]"
    )
    assert answer_background_task(prompt) == "When does the library open?"


@pytest.mark.parametrize(
    "question",
    [
        "When does the library open?",
        "### Task:\nWhich tasks does the bridge inspector have?",
        'What does {"title": "x"} mean?',
        "Provide a concise summary of the winter service.",
        "### Task:\nExplain <chat_history> in the manual",
    ],
)
def test_questions_are_no_background_tasks(question: str) -> None:
    assert answer_background_task(question) is None
    assert extract_question(question) == question


def test_the_question_behind_documents_of_open_webui_is_found() -> None:
    prompt = (
        "### Task:\nRespond to the user query using the provided context, incorporating inline "
        'citations.\n\n<context>\n<source id="1">Some text</source>\n</context>\n\n'
        "When does the library open?"
    )
    assert answer_background_task(prompt) is None
    assert extract_question(prompt) == "When does the library open?"


@pytest.mark.parametrize("text", ["\n", " ", "<chat_history>", "### Task: "])
def test_prompts_of_any_length_are_classified_in_linear_time(text: str) -> None:
    prompt = text * (4_000_000 // len(text))  # would take hours if each place were tried
    assert answer_background_task(prompt) is None
    assert extract_question(prompt) == prompt
