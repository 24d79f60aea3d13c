"""The language models that the settings assign to roles."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from fathom import registry
from fathom.errors import UsageError
from fathom.llm.base import ChatModel
from fathom.llm.call import RoleModel
from fathom.llm.endpoint import resolve_endpoint, split_name
from fathom.llm.local_server import LocalOptions, LocalServer
from fathom.llm.prices import load_prices
from fathom.llm.retry import RetryPolicy
from fathom.runs.concurrency import run_in_loop
from fathom.settings import Settings
from fathom.settings.maf import MafSettings

if TYPE_CHECKING:  # imported only if a model of a file is named
    from fathom.llm.local import LocalChat, Speed

ROLES = tuple(name for name, role in registry.ROLES.items() if not role.model_of)
"""The roles that the settings may give a language model."""
Connect = Callable[[str], ChatModel]
"""A function that returns the model with the name `provider:model`."""


class RoleModels:
    """The models of all roles. Roles with the same model share it and its circuit breaker."""

    def __init__(
        self, settings: Settings, connect: Connect | None = None, *, cores: int = 1
    ) -> None:
        """Prepare the models; each of them is made on its first use.

        Args:
            settings: The settings; `roles` and `llm` name the models.
            connect: A function that makes a model, for tests; by default one that connects to the
                real model.
            cores: The number of threads of `local:` models, unless `llm.threads` gives one.
        """
        self._settings = settings
        self._connect = connect or self._connect_model
        self._keys: list[str] = []
        self._local: list[LocalChat] = []
        self.server = LocalServer(
            LocalOptions(
                threads=settings.llm.threads or cores,
                context_tokens=settings.llm.context_tokens,
                cache_prompts=settings.llm.cache_prompts,
            )
        )
        self.get_by_name = cache(self._build_model)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of all models made so far."""
        return tuple(self._keys)

    def prepare(self) -> None:
        """Make all models that the settings name, so that mistakes show at once.

        Raises:
            UsageError: As in `get_model`.
            ModelUnavailable: If a `local:` model has already failed to load.
        """
        for role in ROLES:
            self.get_model(role)
        _ = self.debaters
        for chat in self._local[:1]:  # the server holds one model at a time
            chat.prepare()

    def load(self) -> None:
        """Wait until the first `local:` model is loaded, if there is one; this blocks the thread.

        Raises:
            ModelUnavailable: If its weights cannot be loaded.
        """
        for chat in self._local[:1]:
            chat.load()

    def measure_speed(self) -> "Speed | None":
        """Measure the speed of the first `local:` model; return `None` if there is none.

        Raises:
            ModelUnavailable: If its weights cannot be loaded, or it does not answer.
        """
        return run_in_loop(self._local[0].measure_speed()) if self._local else None

    def close(self) -> None:
        """Stop the server of `local:` models; the next use starts it again."""
        self.server.stop()

    def get_model(self, role: str) -> RoleModel | None:
        """Return the model of a role; `None` if the role has its local implementation.

        Args:
            role: A name in `ROLES`.

        Raises:
            UsageError: If the role needs a model and the settings name none, or as in
                `resolve_endpoint`.
        """
        return self._choose_model(f"roles.{role}", getattr(self._settings.roles, role))

    @property
    def debaters(self) -> tuple[RoleModel | None, ...]:
        """The models that the agents of a debate take in turn; at least one entry.

        An entry is `None` for the local implementation.

        Raises:
            UsageError: As in `get_model`.
        """
        names = self._settings.get_section(MafSettings).debaters
        models = tuple(self._choose_model("maf.debaters", name) for name in names)
        return models or (self.get_model("debater"),)

    def _choose_model(self, setting: str, choice: str) -> RoleModel | None:
        """Return the model for the value of a setting; `None` for the local implementation.

        Args:
            setting: The dotted key, for messages.
            choice: `local`, `llm`, `auto` or the name of a model.

        Raises:
            UsageError: As in `get_model`.
        """
        model = self._settings.llm.model
        if choice == "local" or (choice == "auto" and not model):
            return None
        if choice == "llm" and not model:
            raise UsageError(f"{setting} is llm, but no model is named; add -m PROVIDER:MODEL")
        return self.get_by_name(model if choice in {"auto", "llm"} else choice)

    def _build_model(self, name: str) -> RoleModel:
        """Return a model with its price and the limits of the settings."""
        llm = self._settings.llm
        return RoleModel(
            chat=self._connect(name),
            price=load_prices(llm.prices).get_price(split_name(name)[0]),
            retry=RetryPolicy(tries=llm.tries),
            max_tokens=llm.max_tokens,
        )

    def _connect_model(self, name: str) -> ChatModel:
        """Return the real model `provider:model`, prepared for its first call.

        Raises:
            UsageError: As in `resolve_endpoint` and `find_weights`.
        """
        from fathom.llm.chat import LangChainChat  # takes a while to import
        from fathom.llm.local import LocalChat, find_weights

        llm = self._settings.llm
        is_main = name == llm.model
        endpoint = resolve_endpoint(
            name,
            # The address and the key of [llm] belong to `llm.model` alone; the key must reach no
            # other server.
            base_url=llm.base_url if is_main else None,
            key_env=llm.key_env if is_main else None,
            offline=self._settings.offline,
        )
        if not endpoint.base_url:
            self._local.append(LocalChat(endpoint, find_weights(name), self.server))
            return self._local[-1]
        chat = LangChainChat(endpoint)
        chat.prepare()
        key = endpoint.key
        self._keys += [key.get_secret_value()] if key else []
        return chat
