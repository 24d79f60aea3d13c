"""The language models that the settings give to roles."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, get_args

from fathom.errors import UsageError
from fathom.llm.base import ChatModel
from fathom.llm.call import AgentRole, RoleModel
from fathom.llm.endpoint import endpoint_of, split_name
from fathom.llm.local_server import LocalOptions, LocalServer
from fathom.llm.prices import load_prices
from fathom.llm.retry import RetryPolicy
from fathom.settings import Settings

if TYPE_CHECKING:  # only where a model of a file is named
    from fathom.llm.local import LocalChat

ROLES: tuple[AgentRole, ...] = get_args(AgentRole)
Connect = Callable[[str], ChatModel]
"""Gives the model called `provider:model`."""


class RoleModels:
    """Makes one model for each name, so that roles share its circuit breaker."""

    def __init__(
        self, settings: Settings, connect: Connect | None = None, *, cores: int = 1
    ) -> None:
        """Nothing is made yet.

        Args:
            settings: Which role has which implementation, and what the models are.
            connect: Used instead of real connections.
            cores: What `local:` models take where the settings do not say.
        """
        self._settings = settings
        self._connect = connect or self._connected
        self._keys: list[str] = []
        self._local: list[LocalChat] = []
        self.server = LocalServer(
            LocalOptions(
                threads=settings.llm.threads or cores,
                context_tokens=settings.llm.context_tokens,
                cache_prompts=settings.llm.cache_prompts,
            )
        )
        self.called = cache(self._called)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of all that was made so far."""
        return tuple(self._keys)

    def prepare(self) -> None:
        """Make all that the settings name, so that what is wrong with it is known at once.

        Raises:
            UsageError: See `of`.
            ModelUnavailable: If it turned out that a `local:` model cannot be loaded.
        """
        for role in ROLES:
            self.of(role)
        _ = self.debaters
        for chat in self._local[:1]:  # one at a time; the others are loaded when they are asked
            chat.prepare()

    def load(self) -> None:
        """Wait until a `local:` model is ready to be asked.

        Raises:
            ModelUnavailable: If its weights cannot be loaded.
        """
        for chat in self._local[:1]:
            chat.load()

    def close(self) -> None:
        """End what runs for `local:` models; may be used again."""
        self.server.stop()

    def of(self, role: AgentRole) -> RoleModel | None:
        """The model of a role; `None` where it has its local implementation.

        Raises:
            UsageError: If the role is to have a model and none is named, or as `endpoint_of`.
        """
        return self._chosen(f"roles.{role}", getattr(self._settings.roles, role))

    @property
    def debaters(self) -> tuple[RoleModel | None, ...]:
        """The models of the agents of a debate, who take turns; at least one.

        Raises:
            UsageError: See `of`.
        """
        several = self._settings.maf.debaters
        found = tuple(self._chosen("maf.debaters", each) for each in several)
        return found or (self.of("debater"),)

    def _chosen(self, setting: str, chosen: str) -> RoleModel | None:
        model = self._settings.llm.model
        if chosen == "local" or (chosen == "auto" and not model):
            return None
        if chosen == "llm" and not model:
            raise UsageError(f"{setting} is llm, but no model is named; add -m PROVIDER:MODEL")
        return self.called(model if chosen in {"auto", "llm"} else chosen)

    def _called(self, name: str) -> RoleModel:
        llm = self._settings.llm
        return RoleModel(
            chat=self._connect(name),
            price=load_prices(llm.prices).of(split_name(name)[0]),
            retry=RetryPolicy(tries=llm.tries),
            max_tokens=llm.max_tokens,
        )

    def _connected(self, name: str) -> ChatModel:
        from fathom.llm.chat import LangChainChat  # takes a while to import
        from fathom.llm.local import LocalChat, local_file

        llm = self._settings.llm
        own = name == llm.model
        endpoint = endpoint_of(
            name,
            base_url=llm.base_url if own else None,
            key_env=llm.key_env if own else None,
            offline=self._settings.offline,
        )
        if not endpoint.base_url:
            self._local.append(LocalChat(endpoint, local_file(name), self.server))
            return self._local[-1]
        chat = LangChainChat(endpoint)
        chat.prepare()
        key = endpoint.key
        self._keys += [key.get_secret_value()] if key else []
        return chat
