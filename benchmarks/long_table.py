"""A long table, read and asked: python benchmarks/long_table.py [--rows 100000].

Makes a CSV file and an XLSX file of the same orders with a seed, and prints the seconds of the
processor for each step from the file to the typed table that the index keeps, the milliseconds of
each question computed over it, and the most memory that reading the CSV file took. No index and no
model take part.
"""

import argparse
import csv
import io
import random
import resource
import time
from collections.abc import Callable
from datetime import date
from typing import TypeVar

from openpyxl import Workbook

from fathom.documents.base import Parser
from fathom.documents.formats.csv import parse as parse_csv
from fathom.documents.formats.office.xlsx import parse as parse_xlsx
from fathom.question.question import Question
from fathom.tables.answer import answer_over_tables
from fathom.tables.packing import pack_tables, unpack_tables
from fathom.types import Document

QUESTIONS = (
    "What is the total amount in Norland?",
    "How many orders are from Sudria?",
    "Which order has the highest amount?",
    "How many orders have more than 30 items?",
    "What is the average amount of Customer 77?",
    "What is the amount of ORD-000123?",
    "How many orders before 2015?",
)
T = TypeVar("T")
_COUNTRIES = ("Norland", "Sudria", "Vestmark", "Ostland")


def make_orders(rows: int) -> bytes:
    """Return a CSV file of orders."""
    draw = random.Random(1)
    lines = [
        f"ORD-{at:06d},Customer {draw.randrange(5000)},{draw.choice(_COUNTRIES)},"
        f"{draw.randrange(100, 99999) / 100:.2f},{draw.randrange(1, 40)},"
        f"20{draw.randrange(10, 25)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}"
        for at in range(rows)
    ]
    return "\n".join(["Order,Customer,Country,Amount (crowns),Items,Date", *lines, ""]).encode()


def measure(name: str, job: Callable[[], T]) -> T:
    """Return the value of a job, and print how long it took."""
    started = time.process_time()
    value = job()
    print(f"{name}: {time.process_time() - started:.2f} s")
    return value


def make_workbook(data: bytes) -> bytes:
    """Return an XLSX file of a CSV file of orders."""
    book = Workbook()
    rows = csv.reader(io.StringIO(data.decode()))
    book.active.append(next(rows))
    for order, customer, country, amount, items, day in rows:
        values = [float(amount), int(items), date.fromisoformat(day)]
        book.active.append([order, customer, country, *values])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def read_file(name: str, parse: Parser, data: bytes) -> bytes:
    """Return the packed table of a file, as the index keeps it, and print how long it took."""
    started = time.process_time()
    parsed = measure(f"{name} parsed", lambda: parse(data))
    document = Document(
        id="orders", text=parsed.text, path=f"orders.{name}", title="Orders", blocks=parsed.blocks
    )
    packed = measure(f"{name} typed and packed", lambda: pack_tables(document))
    print(
        f"{name} in all: {time.process_time() - started:.2f} s, {len(packed) / 1e6:.1f} MB packed"
    )
    return packed


def main() -> None:
    """Read, ask, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    data = make_orders(parser.parse_args().rows)
    packed = read_file("csv", parse_csv, data)
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    for question in QUESTIONS:
        started = time.process_time()
        # Each question opens the table anew, as the first one of a process does.
        tables = [table.content for table in unpack_tables(packed)]
        answer = answer_over_tables(Question(question), tables).answer
        elapsed = 1_000 * (time.process_time() - started)
        print(f"{elapsed:4.0f} ms  {question}  {answer.result.values[0] if answer else '-'}")
    read_file("xlsx", parse_xlsx, make_workbook(data))


if __name__ == "__main__":
    main()
