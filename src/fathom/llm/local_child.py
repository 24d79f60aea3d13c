"""The child process in which llama.cpp serves one model on a loopback port while its owner lives.

It is run by its path, `python -I local_child.py FOLDER OPTIONS`: FOLDER is the place where
xllamacpp is installed, and OPTIONS are JSON, made by `LocalServer`. It imports nothing of Fathom,
so that it starts at once. It reads the key from stdin. It writes its address to stdout, in one
line, once the model is loaded. It ends when stdin closes, which happens when its owner ends.
"""

import json
import os
import select
import sys
from typing import Any

HOST = "127.0.0.1"
# A cancelled call ends only after its current batch, so small batches free the server sooner. They
# also make the rest of a prompt's beginning small that fills no batch and is not reused.
BATCH_TOKENS = 64


def main() -> None:
    """Serve the model until stdin closes."""
    folder, options = sys.argv[1], json.loads(sys.argv[2])
    key = sys.stdin.readline().strip()
    _end_with_owner()
    # llama.cpp prints to stdout. Its output is sent to stderr, so that the owner reads only the
    # address.
    address = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.append(folder)
    import xllamacpp

    try:
        server = xllamacpp.Server(_set_params(xllamacpp.CommonParams(), key, options))
    except RuntimeError:
        sys.exit(1)  # llama.cpp has logged the reason; a normal exit flushes that log
    address.write(server.listening_address + "\n")
    address.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the owner no longer reads stderr
    sys.stdin.read()
    os._exit(0)  # nothing has to be saved, and a reply in progress may break off


def _end_with_owner() -> None:
    """Ask the system to end this process when stdin closes, even while a model is being loaded.

    A thread could not do this, because loading holds the interpreter's lock. Instead the system
    sends SIGIO, whose default action ends the process. After the key, stdin can only close.
    """
    try:
        import fcntl
    except ImportError:
        return  # not a POSIX system: the child ends once the model is loaded
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:
        os._exit(0)  # the owner has ended already


def _set_params(params: Any, key: str, options: dict[str, Any]) -> Any:  # noqa: ANN401 - of xllamacpp
    """Return llama.cpp's parameters with our options.

    The server answers one request at a time and reuses the tokens that a prompt shares with the one
    before.

    Args:
        params: The parameters to change, a `CommonParams` of xllamacpp.
        key: The key that every request must carry.
        options: `path`, `context_tokens` and `threads`, as in `LocalOptions`.
    """
    params.model.path = options["path"]
    params.n_ctx = options["context_tokens"]
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = options["threads"]
        threads.poll = 0  # spinning threads take processor time from others on a busy machine
    params.n_parallel = 1
    params.cache_prompt = True
    params.cache_ram_mib = 0
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.hostnames = [HOST]
    params.port = 0
    params.api_keys = [key]
    params.offline = True
    params.ui = params.endpoint_slots = False
    params.fit_params = params.warmup = False  # either would read the whole model again
    params.verbosity = 1  # only errors
    return params


if __name__ == "__main__":
    main()
