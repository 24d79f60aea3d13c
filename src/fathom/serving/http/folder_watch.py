"""The watch that synchronizes sources in folders soon after a change, with the extra `watch`."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from fathom.documents.discover import FileFilter, discover_folders, make_absolute
from fathom.serving.http.access import LOCAL
from fathom.serving.http.jobs import lower_priority
from fathom.serving.http.source_schedule import UNREADABLE, SourceName
from fathom.serving.http.workspaces import Workspaces
from fathom.serving.notifications import Notifications, can_notify

REST_S = 2.0
"""The seconds without a change after which a source is synchronized."""
CLOSE_S = 5.0
"""The seconds for which the end of the server waits for a walk through folders."""


class FolderWatch:
    """The watch over the sources, in all workspaces, that are folders and have an interval."""

    def __init__(
        self,
        spaces: Workspaces,
        list_names: Callable[[], Sequence[str]],
        request: Callable[[SourceName], None],
    ) -> None:
        """Create the watch; nothing is watched before `start`.

        Args:
            spaces: The workspaces.
            list_names: Returns the workspaces that keys name.
            request: Requests the synchronization of a source.
        """
        self._spaces, self._list_names, self._request = spaces, list_names, request
        self._ending = threading.Event()
        self._sources: Mapping[SourceName, tuple[Path, FileFilter]] = {}
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch, if the extra is installed."""
        if can_notify():
            self._thread = threading.Thread(target=self._run, name="fathom-folders", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the watch."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _run(self) -> None:
        lower_priority()
        notifications = Notifications(self._iterate_folders, self._ending)
        changing: set[SourceName] = set()
        while not self._ending.is_set():
            try:
                changed = notifications.wait(REST_S if changing else None)
            # Such as an index that is unavailable for a while.
            except Exception as error:  # noqa: BLE001 - nobody would start this thread again
                self._spaces.warnings.warn(
                    "folders", f"the folders of sources cannot be watched: {error}"
                )
                self._ending.wait(REST_S)
                continue
            self._spaces.warnings.forget("folders")
            places = {place for path in changed for place in (path, *path.parents)}
            still = {name for name, (folder, _) in self._sources.items() if folder in places}
            # A source that was paused or removed meanwhile is left out.
            for source in (changing & self._sources.keys()) - still:
                self._request(source)
            changing = still

    def _iterate_folders(self) -> Iterator[Path]:
        self._sources = dict(self._iterate_sources())
        # A synchronization changes the index: an index within the source would start the next one.
        index = make_absolute(self._spaces.get_workspace(LOCAL).engine.settings.index.directory)
        for folder, wanted in self._sources.values():
            for inner in discover_folders([folder], wanted):
                if not inner.is_relative_to(index):
                    yield inner

    def _iterate_sources(self) -> Iterator[tuple[SourceName, tuple[Path, FileFilter]]]:
        for workspace, sources in self._spaces.visit(
            self._spaces.list_names(self._list_names),
            lambda space: space.engine.sources.list(),
            UNREADABLE,
        ):
            for source in sources:
                if source.is_folder and source.every and not source.paused:
                    wanted = FileFilter(exclude=tuple(source.exclude))
                    yield SourceName(workspace, source.name), (Path(source.url), wanted)
