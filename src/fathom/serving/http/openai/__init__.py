"""The OpenAI-compatible interface: models, chat completions, responses, embeddings."""

from fastapi import APIRouter

from fathom.serving.http.openai import chat, embeddings, responses
from fathom.serving.http.openai import models as choices

router = APIRouter(prefix="/v1", tags=["openai"])
for module in (choices, chat, responses, embeddings):
    router.include_router(module.router)
