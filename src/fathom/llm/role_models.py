"""The language models that the settings give to roles."""

from collections.abc import Callable
from functools import cache
from typing import get_args

from fathom.errors import UsageError
from fathom.llm.base import ChatModel
from fathom.llm.call import AgentRole, RoleModel
from fathom.llm.endpoint import endpoint_of
from fathom.llm.retry import RetryPolicy
from fathom.prices import load_prices
from fathom.settings import Settings

ROLES: tuple[AgentRole, ...] = get_args(AgentRole)
Connect = Callable[[str], ChatModel]
"""Gives the model called `provider:model`."""


class RoleModels:
    """Makes one model for each name, so that roles share its circuit breaker."""

    def __init__(self, settings: Settings, connect: Connect | None = None) -> None:
        """Nothing is made yet.

        Args:
            settings: Which role has which implementation, and what the models are.
            connect: Used instead of real connections.
        """
        self._settings = settings
        self._connect = connect or self._connected
        self._keys: list[str] = []
        self.called = cache(self._called)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of all that was made so far."""
        return tuple(self._keys)

    def prepare(self) -> None:
        """Make all that the settings name, so that what is wrong with it is known at once.

        Raises:
            UsageError: See `of`.
        """
        for role in ROLES:
            self.of(role)

    def of(self, role: AgentRole) -> RoleModel | None:
        """The model of a role; `None` where it has its local implementation.

        Raises:
            UsageError: If the role is to have a model and none is named, or as `endpoint_of`.
        """
        chosen: str = getattr(self._settings.roles, role)
        model = self._settings.llm.model
        if chosen == "local" or (chosen == "auto" and not model):
            return None
        if chosen == "llm" and not model:
            raise UsageError(f"roles.{role} is llm, but no model is named; add -m PROVIDER:MODEL")
        return self.called(model if chosen in {"auto", "llm"} else chosen)

    def _called(self, name: str) -> RoleModel:
        llm = self._settings.llm
        return RoleModel(
            chat=self._connect(name),
            price=load_prices(llm.prices).of(name),
            retry=RetryPolicy(tries=llm.tries),
            max_tokens=llm.max_tokens,
        )

    def _connected(self, name: str) -> ChatModel:
        from fathom.llm.chat import LangChainChat  # takes a while to import

        llm = self._settings.llm
        own = name == llm.model
        endpoint = endpoint_of(
            name,
            base_url=llm.base_url if own else None,
            key_env=llm.key_env if own else None,
            offline=self._settings.offline,
        )
        chat = LangChainChat(endpoint)
        chat.prepare()
        key = endpoint.key
        self._keys += [key.get_secret_value()] if key else []
        return chat
