"""The OpenAI-compatible interface: models, chats, responses, files, vector stores."""

from fastapi import APIRouter

from fathom.serving.http.openai import chat, embeddings, files, models, responses, vector_stores

router = APIRouter(prefix="/v1", tags=["openai"])
for module in (models, chat, responses, embeddings, files, vector_stores):
    router.include_router(module.router)
