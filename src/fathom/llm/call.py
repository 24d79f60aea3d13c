"""Calls of language models by roles, within the budget of a run and recorded in its trace."""

from dataclasses import dataclass, field
from typing import Generic

from fathom.errors import ModelUnavailable
from fathom.llm.base import Call, ChatModel, Completion, OnText
from fathom.llm.circuit_breaker import CircuitBreaker
from fathom.llm.faults import CallFailure
from fathom.llm.metered_model import MeteredModel
from fathom.llm.prompt import ModelRequest
from fathom.llm.recorded_model import RecordedModel
from fathom.llm.retry import RetryingModel, RetryPolicy
from fathom.llm.structured_reply import Reply, request_object
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.usage import Price, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleModel:
    """A language model together with the limits under which a role uses it.

    Attributes:
        chat: The model; each `complete` makes one call.
        price: The price of its tokens; `None` if it is unknown.
        retry: The policy for trying again after a temporary fault.
        breaker: The circuit breaker of the model's endpoint.
        max_tokens: The largest number of completion tokens of one call.
    """

    chat: ChatModel
    price: Price | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    max_tokens: int = 800

    def bind_to_run(self, context: RunContext) -> ChatModel:
        """Return the model with metering, retries and recording for one step of a run."""
        # Metering is innermost, so that every try is reserved and booked on its own. Recording is
        # outermost, so that a replay needs neither retries nor a circuit breaker.
        metered = MeteredModel(self.chat, context.ledger, self.price)
        retrying = RetryingModel(metered, policy=self.retry, breaker=self.breaker)
        return RecordedModel(retrying, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply(Generic[Reply]):
    """The reply of a language model, or the reason why there is none.

    Attributes:
        value: The reply; `None` if the model gave none or the budget did not allow the call.
        usage: The usage, also of a failed call; `None` if the budget did not allow the call.
        failure: The error in place of a value; `None` if there is a value.
        repaired: Whether the first reply was unusable and the value comes from a second one.
    """

    value: Reply | None = None
    usage: Usage | None = None
    failure: BudgetRefused | CallFailure | None = None
    repaired: bool = False

    @property
    def reason(self) -> str:
        """The reason for a missing value, or a note that a repair was needed; else empty."""
        if self.failure is not None:
            return str(self.failure)
        return "after one repair" if self.repaired else ""

    def require_value(self) -> Reply:
        """Return the value, or raise the failure; for callers that cannot go on without a value.

        Raises:
            BudgetRefused: If the budget did not allow the call.
            CallFailure: If the call gave no usable reply.
        """
        if self.value is None:
            # Every reply without a value is made with a failure; the type checker cannot know this.
            assert self.failure is not None
            raise self.failure
        return self.value


async def ask_model(
    model: RoleModel,
    kind: type[Reply],
    request: ModelRequest,
    context: RunContext,
    *,
    on_text: OnText | None = None,
) -> ModelReply[Reply]:
    """Ask `model` for an object of type `kind`, as one step `ask` of the run.

    The step records the model, the prompt and the usage. Every try of a call is reserved in the
    budget before it is sent, and booked after it. The outcome is an event of the step, which a
    replay returns again. A call may take `model.max_tokens` tokens and the remaining time of the
    run.

    Args:
        model: The model with its limits.
        kind: The type of the reply.
        request: The request of the role.
        context: The context of the run.
        on_text: A function that receives the text of the first reply while it arrives.

    Returns:
        The reply. Refusals of the budget and failures of the model are returned, not raised,
        because the role may do without the model.
    """
    inputs = {"model": model.chat.name, "prompt": request.prompt}
    with context.step("ask", agent=request.agent, inputs=inputs) as step:
        reply = await _request_reply(model, kind, request, step, on_text)
        outputs = None if reply.value is None else {"reply": reply.value}
        step.set_outcome(outputs=outputs, usage=reply.usage, reason=reply.reason)
    return reply


async def _request_reply(
    model: RoleModel,
    kind: type[Reply],
    request: ModelRequest,
    context: RunContext,
    on_text: OnText | None,
) -> ModelReply[Reply]:
    """Return the model's reply, or its failure, within the step that `context` belongs to."""
    try:
        reply = await request_object(
            kind,
            model.bind_to_run(context),
            request,
            max_tokens=model.max_tokens,
            deadline=context.deadline,
            on_text=on_text,
        )
    except BudgetRefused as refusal:
        return ModelReply(failure=refusal)
    except CallFailure as failure:
        return ModelReply(failure=failure, usage=failure.usage)
    return ModelReply(value=reply.value, usage=reply.usage, repaired=reply.repaired)


@dataclass(frozen=True, slots=True)
class AbsentModel:
    """A `ChatModel` for replays, in which recorded replies take the place of a model."""

    name: str

    async def complete(self, call: Call) -> Completion:  # noqa: ARG002
        """Raise an error, because a replay calls no model.

        Raises:
            ModelUnavailable: Always.
        """
        raise ModelUnavailable(f"{self.name}: a replay asks no language model")
