"""Embeddings by the embedder of the index."""

import base64
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from fathom.engine import Engine
from fathom.models.base import Embedder, Matrix
from fathom.serving.http.dependencies import CurrentWorkspace, ReadCaller, Runner
from fathom.serving.http.event_stream import build_json_reply, run_while_connected
from fathom.serving.http.openai.bodies import EmbeddingsBody
from fathom.serving.http.openai.errors import (
    OpenAIRoute,
    ParameterProblem,
    build_parameter_problem,
)
from fathom.serving.http.openai.models import EMBEDDING
from fathom.serving.http.question_runner import run_to_end
from fathom.serving.http.workspaces import Workspace

router = APIRouter(route_class=OpenAIRoute)
MOST_TEXTS = 2_048
"""The number of texts of one request, at most, as at OpenAI."""
BATCH = 32
"""The number of texts that are embedded between two checks for a disconnected client."""


@router.post("/embeddings")
async def create_embeddings(
    body: EmbeddingsBody, request: Request, asking: Runner, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Embed texts as unit vectors, as the index embeds its chunks."""
    texts = _check_texts(body)

    async def work() -> tuple[Matrix, int]:
        async with asking.admission.take_turn():
            embedder = await run_to_end(space, lambda: _choose_embedder(space.engine, body))
            return await _embed_texts(space, embedder, texts)

    vectors, tokens = await run_while_connected(request, work())
    as_floats = body.encoding_format != "base64"
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": vector.tolist() if as_floats else _encode_base64(vector),
        }
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return build_json_reply({"object": "list", "model": body.model, "data": data, "usage": usage})


def _choose_embedder(engine: Engine, body: EmbeddingsBody) -> Embedder:
    if body.model not in {EMBEDDING, engine.settings.models.embedder}:
        raise ParameterProblem(
            "model",
            404,
            "model_not_found",
            f"there is no embedding model {body.model[:80]!r}",
            next=f"use {EMBEDDING}",
        )
    embedder = engine.embedder
    if body.dimensions not in {None, embedder.dimension}:
        raise build_parameter_problem("dimensions", f"this model has {embedder.dimension}")
    return engine.assembly.question_embedder if body.input_type == "query" else embedder


def _check_texts(body: EmbeddingsBody) -> Sequence[str]:
    entries = [body.input] if isinstance(body.input, str) else body.input
    if not all(isinstance(entry, str) for entry in entries):
        raise build_parameter_problem(
            "input",
            "send texts, not tokens; with LangChain set check_embedding_ctx_length=False",
        )
    texts = [str(entry) for entry in entries]
    if not texts or not all(text.strip() for text in texts):
        raise ParameterProblem(
            "input", 400, "invalid_request", "input: expected at least one text, none empty"
        )
    if len(texts) > MOST_TEXTS:
        raise ParameterProblem(
            "input", 400, "invalid_request", f"input: at most {MOST_TEXTS} texts at once"
        )
    return texts


async def _embed_texts(
    space: Workspace, embedder: Embedder, texts: Sequence[str]
) -> tuple[Matrix, int]:
    """Embed the texts; return a matrix with a row for each text, and the number of tokens."""
    vectors: list[Matrix] = []
    tokens = 0
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        vectors.append(await run_to_end(space, partial(embedder.embed, batch)))
        tokens += sum(map(embedder.count, batch))
    return np.concatenate(vectors), tokens


def _encode_base64(vector: Any) -> str:  # noqa: ANN401 - a row of a matrix
    """Encode a vector as OpenAI does: little-endian float32."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
