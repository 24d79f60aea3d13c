"""Language models.

All of them implement one protocol, `base.ChatModel`. Each call is bounded in time, bytes, tokens
and tries. Every wrapper is itself a `ChatModel`. From the inside out:

    LangChainChat   sends one request to one provider                 chat.py, providers/
    LocalChat       the same, to a model file that Fathom runs        local.py, local_server.py
    MeteredModel    reserves the worst case, then books the usage     metered_model.py
    RetryingModel   tries again while the deadline allows it          retry.py
    RecordedModel   records each reply as an event, or replays it     recorded_model.py

`structured_reply.request_object` turns a reply into a pydantic model, with at most one repair.
Roles call `call.ask_model`, which combines all of these layers.
"""
