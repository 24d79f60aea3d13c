"""A synchronization of a large bucket in which nothing has changed.

    python -m benchmarks.large_bucket [--objects 100000] [--reply-ms 0,100]

A server of a process of its own speaks the part of S3 that lists a bucket: a thousand objects to a
page, each page after the given time, as a server far away takes it. An index knows all objects in
the state in which they are listed. Printed for each time of a reply: seconds by the clock and of
our processor for the whole synchronization, and the largest memory of its process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

from fathom.index.base import SourceRecord
from fathom.ingest.sources.store import ObjectState, SourceStore
from fathom.testing import make_engine

PAGE = 1000
"""The number of objects of a page, as S3 has it."""
BATCH = 5000
SYNC = """
import json, resource, sys, time
from fathom.testing import make_engine
with make_engine(sys.argv[1]) as engine:
    begun, processor = time.perf_counter(), time.process_time()
    report = engine.sources.sync("large")
    print(json.dumps({
        "listed": report.listed,
        "fetched": report.fetched,
        "fault": report.fault,
        "seconds": round(time.perf_counter() - begun, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }))
"""


def name_key(number: int) -> str:
    """Return the key of an object."""
    return f"team/{number:06}.md"


class ListingHandler(BaseHTTPRequestHandler):
    """Replies of a bucket that can only be listed."""

    protocol_version = "HTTP/1.1"
    count = 0
    wait_s = 0.0

    def do_GET(self) -> None:
        """Send a page of the listing."""
        query = parse_qs(urlsplit(self.path).query)
        begin = int(query.get("continuation-token", ["0"])[0])
        end = min(begin + PAGE, self.count)
        time.sleep(self.wait_s)
        body = format_page(begin, end, self.count).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def format_page(begin: int, end: int, count: int) -> str:
    """Return a page of a listing as XML (ListObjectsV2)."""
    entries = "".join(
        f"<Contents><Key>{name_key(number)}</Key><Size>7</Size>"
        f"<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>&quot;{number:032x}&quot;</ETag><StorageClass>STANDARD</StorageClass></Contents>"
        for number in range(begin, end)
    )
    more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < count else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>large</Name>'
        f"<Prefix>team/</Prefix><KeyCount>{end - begin}</KeyCount><MaxKeys>{PAGE}</MaxKeys>"
        f"<IsTruncated>{str(end < count).lower()}</IsTruncated>{more}{entries}</ListBucketResult>"
    )


def serve_listing(count: int, reply_ms: float) -> None:
    """Serve the listing of a bucket until the process ends; the port is printed."""
    handler = type("Handler", (ListingHandler,), {"count": count, "wait_s": reply_ms / 1000})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


@contextmanager
def run_server(count: int, reply_ms: float) -> Iterator[str]:
    """Run the server as a child and yield its address."""
    command = [sys.executable, "-m", "benchmarks.large_bucket", "--serve"]
    command += ["--objects", str(count), "--reply-ms", str(reply_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def fill_index(folder: Path, count: int) -> None:
    """Make an index that knows every object in its listed state; none has a document."""
    with make_engine(folder) as engine:
        first = folder.with_name("first")
        first.mkdir()
        (first / "first.md").write_text("# First\n\nAn index begins with a document.\n")
        engine.ingest([first])
        engine.sources.add("s3://large/team", name="large")
        addresses = [f"s3://large/{name_key(number)}" for number in range(count)]
        with engine.index.open_writer(None) as writer:
            for begin in range(0, count, BATCH):
                records = [
                    SourceRecord(path=address, digest="d", outcome="no_document", reason="empty")
                    for address in addresses[begin : begin + BATCH]
                ]
                writer.put([], records)
        with SourceStore(folder).open_objects("large") as objects:
            objects.put(
                [
                    ObjectState(address, f'"{number:032x}":7', "d")
                    for number, address in enumerate(addresses)
                ]
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--reply-ms", default="0,100")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_listing(options.objects, float(options.reply_ms))
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        fill_index(folder, options.objects)
        for reply_ms in options.reply_ms.split(","):
            with run_server(options.objects, float(reply_ms)) as address:
                environment = os.environ | {
                    "AWS_ENDPOINT_URL": address,
                    "AWS_ACCESS_KEY_ID": "reader",
                    "AWS_SECRET_ACCESS_KEY": "unused",
                    "AWS_DEFAULT_REGION": "us-east-1",
                }
                command = [sys.executable, "-c", SYNC, str(folder)]
                output = subprocess.run(
                    command, env=environment, check=True, capture_output=True, text=True
                )
            print(json.dumps({"reply_ms": float(reply_ms), **json.loads(output.stdout)}))


if __name__ == "__main__":
    main()
