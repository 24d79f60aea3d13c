"""Language models behind one protocol, bounded in time, bytes, tokens and tries.

Each wrapper is a `ChatModel` itself. From the inside out:

    LangChainChat   one request to one provider, cut at its limits        chat.py, providers/
    LocalChat       the same, to a model of a file that Fathom runs       local.py, local_server.py
    Metered         reserves the worst case before, books what was spent  metered.py
    Retrying        tries again while the deadline allows                 retry.py
    RecordedModel   keeps what came back as an event, or replays it       recorded.py

`structured.ask_for` turns a reply into a pydantic model, with at most one repair, and a role asks
by `call.ask_model`, which is all of this in one.
"""
