"""Language models.

All stand behind one protocol, bounded in time, bytes, tokens and tries.

Every wrapper is itself a `ChatModel`. From the inside out:

    LangChainChat   one request to one provider, cut off at its limits    chat.py, providers/
    LocalChat       the same, for a model file that Fathom runs           local.py, local_server.py
    MeteredModel    reserves the worst case first, then books the usage   metered.py
    RetryingModel   tries again while the deadline allows it              retry.py
    RecordedModel   records each reply as an event, or replays it         recorded.py

`structured.request_object` turns a reply into a pydantic model, with at most one repair. Roles
call `call.ask_model`, which combines all of these layers.
"""
