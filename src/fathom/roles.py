"""The language models that the settings give to roles, and what asks the web."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, get_args

from fathom.errors import UsageError
from fathom.llm.base import ChatModel
from fathom.llm.call import Role, RoleModel
from fathom.llm.endpoint import endpoint_of
from fathom.llm.retry import RetryPolicy
from fathom.prices import load_prices
from fathom.settings import Settings

if TYPE_CHECKING:
    from fathom.agents.web import WebEngine
    from fathom.llm.chat import LangChainChat

ROLES: tuple[Role, ...] = get_args(Role)
Connect = Callable[[str], ChatModel]
"""Gives the model called `provider:model`."""


class Roles:
    """Makes one model for each name, so that roles share its circuit breaker."""

    def __init__(self, settings: Settings, connect: Connect | None = None) -> None:
        """Nothing is made yet.

        Args:
            settings: Who has which mind.
            connect: Used instead of real connections.
        """
        self._settings = settings
        self._connect = connect or self._connected
        self._keys: list[str] = []
        self.model_called = cache(self._model_called)
        self.web_engine = cache(self._web_engine)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of all that was made so far."""
        return tuple(self._keys)

    def prepare(self) -> None:
        """Make all that the settings name, so that what is wrong with it is known at once.

        Raises:
            UsageError: See `model`.
        """
        for role in ROLES:
            self.model(role)
        if self._settings.web.provider:
            self.web_engine()

    def model(self, role: Role) -> RoleModel | None:
        """The model of a role; `None` where it has its local mind.

        Raises:
            UsageError: If the role is to have a model and none is named, or as `endpoint_of`.
        """
        chosen: str = getattr(self._settings.roles, role)
        model = self._settings.llm.model
        if chosen == "local" or (chosen == "auto" and not model):
            return None
        if chosen == "llm" and not model:
            raise UsageError(f"roles.{role} is llm, but no model is named; add -m PROVIDER:MODEL")
        return self.model_called(model if chosen in {"auto", "llm"} else chosen)

    def _web_engine(self) -> "WebEngine":
        """What asks the web.

        Raises:
            UsageError: As `load_web_engine`.
        """
        from fathom.agents.web_engines import load_web_engine  # its HTTP client takes a while

        web = self._settings.web
        engine = load_web_engine(
            web.provider,
            base_url=web.base_url,
            key_env=web.key_env,
            offline=self._settings.offline,
            most_bytes=web.max_kb << 10,
        )
        self._keys += [engine.key.get_secret_value()] if engine.key else []
        return engine

    def _model_called(self, name: str) -> RoleModel:
        llm = self._settings.llm
        return RoleModel(
            chat=self._connect(name),
            price=load_prices(llm.prices).of(name),
            retry=RetryPolicy(tries=llm.tries),
            max_tokens=llm.max_tokens,
        )

    def _connected(self, name: str) -> "LangChainChat":
        from fathom.llm.chat import LangChainChat

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
        key = endpoint.culprit.key
        self._keys += [key.get_secret_value()] if key else []
        return chat
