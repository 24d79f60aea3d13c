"""The OpenAI-compatible interface: models, chats, responses, files, vector stores."""

from fastapi import APIRouter

from fathom.serving.http.openai import chat, embeddings, files, responses, vector_stores
from fathom.serving.http.openai import models as choices

router = APIRouter(prefix="/v1", tags=["openai"])
for module in (choices, chat, responses, embeddings, files, vector_stores):
    router.include_router(module.router)
