"""A chat model over a LangChain provider, with limits on the time and the size of each reply."""

import asyncio
import importlib
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from json import dumps
from traceback import clear_frames
from types import ModuleType
from typing import Any

from fathom.llm.base import Call, Completion, Message, OnText, Schema
from fathom.llm.endpoint import Endpoint
from fathom.llm.faults import ModelDeclined, ModelFault, classify_error, redact_key
from fathom.llm.providers.capabilities import Capabilities, ProviderRequest, drop_refused_option
from fathom.llm.providers.http_limits import ReplyTooLarge, limit_bytes
from fathom.llm.streamed_reply import StreamedReply
from fathom.llm.tokens import count_prompt_tokens
from fathom.usage import Usage

# An SDK whose stream is cut off leaves a chain of ten generators, and the event loop needs two
# turns to close each. Twice as many turns leave a margin.
_TURNS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyLimits:
    """Limits on the silence and the size of one reply.

    Attributes:
        first_s: The longest time in seconds until the first chunk, connecting included.
        silence_s: The longest time in seconds between two chunks.
        base_bytes: The bytes that a reply may have in addition to those of its tokens.
        bytes_per_token: The bytes allowed for each token; a streamed token takes some 300 bytes.
        cuts: Whether to cut a reply at `max_tokens` by our own count, which is an estimate. This is
            not needed for a server that Fathom runs, because that one keeps to the limit.
    """

    first_s: float = 60.0
    silence_s: float = 30.0
    base_bytes: int = 100_000
    bytes_per_token: int = 1_000
    cuts: bool = True


class LangChainChat:
    """A `ChatModel` over a LangChain chat model. Every call opens and closes its own connection."""

    def __init__(self, endpoint: Endpoint, limits: ReplyLimits | None = None) -> None:
        """Create the model without importing its provider.

        Args:
            endpoint: The server, the model and the key.
            limits: The limits of each reply; by default those of `ReplyLimits`.
        """
        self.endpoint = endpoint
        self._limits = limits or ReplyLimits()
        self._capabilities = Capabilities()
        self._adapter: ModuleType | None = None
        self._tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"LangChainChat({self.name!r}, base_url={self.endpoint.base_url!r})"

    @property
    def name(self) -> str:
        """The name, `provider:model`."""
        return self.endpoint.name

    def prepare(self) -> None:
        """Import the provider and build a model once, which takes 1 to 4 seconds.

        Call this before a deadline is set. Otherwise the first call does this work, and a deadline
        cannot interrupt an import.
        """
        if self._adapter is None:
            # asyncio.run needs a thread without a running loop, and this thread may have one.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, self._open_model_once()).result()

    async def _open_model_once(self) -> None:
        """Open and close a model without sending anything."""
        adapter, _ = self._load_adapter()
        async with adapter.open_model(self._build_request(None, 1, 1.0)):
            pass

    async def complete(self, call: Call) -> Completion:
        """Send the call to the provider and return its completion.

        Raises:
            ModelFault: If the reply was late, broke off or exceeded its bytes.
            ModelDeclined: If the model or its server declined.
            ReplyGarbled: If the reply is not a chat reply.
        """
        request = self._build_request(
            call.schema, call.max_tokens, call.deadline - time.monotonic()
        )
        prompt = count_prompt_tokens(call.messages, dumps(call.schema) if call.schema else "")
        request_usage = Usage(llm_calls=1, prompt_tokens=prompt, cost_usd=None)
        reply = StreamedReply(call.max_tokens, cuts=self._limits.cuts)
        timeout = asyncio.timeout_at(call.deadline)
        try:
            with _disable_tracing():
                async with _close_generators(), timeout:
                    await self._read_stream(request, call, request_usage, reply)
        # An error after the end of a reply, such as a broken connection, does not harm the reply.
        except ModelFault:
            if not reply.is_complete:
                raise
        except TimeoutError:
            if not reply.is_complete:
                raise self._make_timeout_fault(
                    timeout.expired(), _count_usage(request_usage, reply)
                ) from None
        _pass_on_text(call.on_text, reply.end())
        return self._build_completion(reply, _count_usage(request_usage, reply))

    async def _read_stream(
        self, request: ProviderRequest, call: Call, request_usage: Usage, reply: StreamedReply
    ) -> None:
        """Add the chunks of the stream to `reply` until the stream ends.

        Raises:
            TimeoutError: If the stream falls silent, or the reply is full.
            CallFailure: If the provider fails.
        """
        clock = asyncio.get_running_loop().time
        async with asyncio.timeout(self._limits.first_s) as timeout:
            async with aclosing(
                self._stream_chunks(request, call.messages, request_usage, reply)
            ) as chunks:
                async for chunk in chunks:
                    _pass_on_text(call.on_text, reply.add(chunk))
                    # A full reply is ended by a timeout where the SDK next waits, so that the SDK
                    # cleans up after itself.
                    timeout.reschedule(clock() + (0 if reply.full else self._limits.silence_s))

    async def _stream_chunks(
        self,
        request: ProviderRequest,
        messages: Sequence[Message],
        request_usage: Usage,
        reply: StreamedReply,
    ) -> AsyncGenerator[Any, None]:
        """Yield the chunks of the reply, and turn any error of an SDK into a `CallFailure`.

        Raises:
            CallFailure: If the SDK or the server fails, or the reply exceeds its bytes.
        """
        adapter, _ = self._load_adapter()
        try:
            async with adapter.open_model(request) as model:
                turns = _format_turns(messages, system=request.capabilities.system)
                async with aclosing(model.astream(turns)) as stream:
                    async for chunk in stream:
                        yield chunk
        except ReplyTooLarge as excess:
            usage = _count_usage(request_usage, reply)
            raise ModelFault(f"{self.name} sent {excess}", usage, retriable=False) from None
        except Exception as error:  # noqa: BLE001 - SDKs raise what they like
            raise self._classify_failure(
                error, request, _count_usage(request_usage, reply)
            ) from None

    def _classify_failure(
        self, error: Exception, request: ProviderRequest, usage: Usage
    ) -> Exception:
        """Return the typed error of an SDK's error.

        If the server refused an option, later requests leave it out.
        """
        capabilities = drop_refused_option(request.capabilities, error)
        if capabilities != request.capabilities:
            self._capabilities = self._capabilities.intersect(capabilities)
            reason = f"{self.name} does not know an option of the request; it is left out now"
            # The server refused the request before it generated anything, so only the call counts.
            return ModelFault(reason, Usage(llm_calls=1), at_once=True)
        return classify_error(error, self.endpoint, usage)

    def _build_completion(self, reply: StreamedReply, usage: Usage) -> Completion:
        """Return the completion of a reply that has ended.

        Raises:
            ModelDeclined: If the model or a filter refused to answer.
            ModelFault: If the reply broke off.
        """
        if reply.is_declined:
            raise ModelDeclined(f"{self.name} declined to answer; ask in other words", usage)
        if not reply.is_complete:
            raise ModelFault(f"{self.name}: the reply ended before it was whole", usage)
        return Completion(
            text=redact_key(reply.answer, self.endpoint.key),
            model=self.name,
            finish="length" if reply.is_truncated else "stop",
            usage=usage,
            reported=reply.reported_usage,
            reasoning_tokens=reply.reasoning_tokens,
        )

    def _make_timeout_fault(self, deadline_over: bool, usage: Usage) -> ModelFault:
        """Return the fault of a late reply; after the deadline, another try does not help."""
        if deadline_over:
            reason = f"{self.name} did not finish before the deadline; raise --deadline"
            return ModelFault(reason, usage, retriable=False)
        return ModelFault(f"{self.name} fell silent", usage)

    def _build_request(
        self, schema: Schema | None, max_tokens: int, left_s: float
    ) -> ProviderRequest:
        """Return the request for a call with `left_s` seconds until its deadline."""
        limits = self._limits
        return ProviderRequest(
            model=self.endpoint.model,
            key=self.endpoint.key,
            base_url=self.endpoint.base_url,
            max_tokens=max_tokens,
            schema=schema,
            capabilities=self._capabilities,
            hooks=limit_bytes(limits.base_bytes + limits.bytes_per_token * max_tokens),
            # Connecting and the TLS handshake take up to this time each; together they must stay
            # below the time that is left.
            connect_s=max(0.01, 0.4 * min(left_s, limits.first_s)),
            tls=self._load_adapter()[1],
        )

    def _load_adapter(self) -> tuple[ModuleType, ssl.SSLContext]:
        """Return the provider's module and its TLS settings, both loaded on the first use."""
        if self._adapter is None or self._tls is None:
            self._adapter = importlib.import_module(self.endpoint.adapter)
            self._tls = self._adapter.create_tls()
        return self._adapter, self._tls


def _disable_tracing() -> AbstractContextManager[None]:
    """Return a context without LangSmith's tracing, so that no text reaches its server.

    It overrides the environment, which may switch the tracing on.
    """
    from langsmith import tracing_context

    return tracing_context(enabled=False)


@asynccontextmanager
async def _close_generators() -> AsyncIterator[None]:
    """Wait until the generators that an SDK leaves behind are closed, however the body ends."""
    try:
        yield
    except BaseException as error:
        _release_frames(error)
        raise
    finally:
        await _pass_turns()


def _release_frames(error: BaseException | None) -> None:
    """Clear the frames of an error and of its causes, because they keep generators open."""
    while error:
        clear_frames(error.__traceback__)
        error = error.__context__


async def _pass_turns() -> None:
    """Wait for `_TURNS` turns of the event loop, even if the task is cancelled meanwhile.

    Raises:
        CancelledError: After the turns, if the task was cancelled.
    """
    cancellation: asyncio.CancelledError | None = None
    for _ in range(_TURNS):
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation:
        raise cancellation


def _format_turns(messages: Sequence[Message], *, system: bool) -> list[tuple[str, str]]:
    """Return the conversation in LangChain's form, as pairs of role and text.

    Args:
        messages: The conversation.
        system: Whether the server knows system messages. If not, the text of the system message is
            put before the first turn.
    """
    turns = [(message.role, message.text) for message in messages]
    if system or len(turns) < 2 or turns[0][0] != "system":
        return [*turns]
    (_, instructions), (role, question), *rest = turns
    return [(role, f"{instructions}\n\n{question}"), *rest]


def _pass_on_text(on_text: OnText | None, text: str) -> None:
    if on_text is not None and text:
        on_text(text)


def _count_usage(request_usage: Usage, reply: StreamedReply) -> Usage:
    return request_usage + Usage(completion_tokens=reply.tokens)
