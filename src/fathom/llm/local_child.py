"""The process in which llama.cpp serves one model on a loopback port, until its owner is gone.

Run by its path, `python -I local_child.py FOLDER OPTIONS`, where FOLDER is where xllamacpp is
installed and OPTIONS are JSON; see `LocalServer`. Of Fathom it imports nothing, so that it starts
at once. On stdin comes the key; when stdin closes, because the owner closed it or died, the
process ends. On stdout goes the address, in one line, once the model is loaded.
"""

import fcntl
import json
import os
import select
import sys
from typing import Any

HOST = "127.0.0.1"
# A call that is cancelled while others wait ends after the batch in hand, so batches are small.
BATCH_TOKENS = 128


def main() -> None:
    """Serve until stdin closes."""
    folder, options = sys.argv[1], json.loads(sys.argv[2])
    key = sys.stdin.readline().strip()
    _end_with_owner()
    # Whatever llama.cpp prints goes to stderr, and the owner gets the address alone.
    address = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.append(folder)
    import xllamacpp

    try:
        server = xllamacpp.Server(_params(xllamacpp.CommonParams(), key, options))
    except RuntimeError:
        sys.exit(1)  # llama.cpp has said why; its log is written as it ends
    address.write(server.listening_address + "\n")
    address.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # nobody reads on
    sys.stdin.read()
    os._exit(0)  # nothing is to be kept, and a reply in progress is not waited for


def _end_with_owner() -> None:
    """Let the system end this process when stdin closes, also while a model is being loaded.

    Loading holds the interpreter, so no thread of ours could see it. The signal's default is to
    end the process; nothing but the end of the owner is ever to be read from now on.
    """
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:
        os._exit(0)  # it has ended already


def _params(params: Any, key: str, options: dict[str, Any]) -> Any:  # noqa: ANN401 - of xllamacpp
    """One question at a time; without `cache_prompts` the same prompt gets the same reply."""
    params.model.path = options["path"]
    params.n_ctx = options["context_tokens"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.n_parallel = 1
    params.cache_prompt = options["cache_prompts"]
    params.cache_ram_mib = 0
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.hostnames = [HOST]
    params.port = 0
    params.api_keys = [key]
    params.offline = True
    params.ui = params.endpoint_slots = False
    params.fit_params = params.warmup = False  # each would read the whole model once more
    params.verbosity = 1  # errors alone
    return params


if __name__ == "__main__":
    main()
