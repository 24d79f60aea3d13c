"""Answers that are computed over a table, with their lines and operands."""

from dataclasses import replace

import pytest
from tests.tables.ports import PELABUHAN, PORTS, PORTS_CSV, ask, read_document, read_table

from fathom.question.question import Question
from fathom.tables.answer import answer_over_tables
from fathom.tables.links import TableWords
from fathom.tables.rows import list_document_tables


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How many cranes does Corvo have?", ["22"]),
        ("When was Dunmor opened?", ["1 March 1958"]),
        ("What is the total number of cranes in Norland?", ["23"]),
        ("What is the average number of cranes in Norland?", ["11.5"]),
        ("Which port has the most cranes?", ["Egmont"]),
        ("Which port has the second most cranes?", ["Corvo"]),
        ("Which port has the fewest cranes?", ["Brask", "Dunmor"]),
        ("What is the largest number of cranes?", ["31"]),
        ("How many ports opened before 1930?", ["2"]),
        ("How many ports opened between 1925 and 1960?", ["3"]),
        ("How many ports have more than 10 cranes?", ["3"]),
        ("How many ports are in Sudria?", ["3"]),
        ("How many ports are not in Sudria?", ["2"]),
        ("How many ports are outside of Sudria?", ["2"]),
        ("How many cranes do all ports but Aldby and Corvo have?", ["49"]),
        ("Which port has neither 9 nor 14 nor 22 cranes?", ["Egmont"]),
        ("Which ports are not Aldby, Corvo or Egmont?", ["Brask", "Dunmor"]),
        ("Is Brask neither in Sudria nor in Norland?", ["no"]),
        ("How many ports are neither in Sudria nor in Norland?", ["0"]),
        ("Which port in Norland is not named Aldby?", ["Brask"]),
        ("How many different countries are there?", ["2"]),
        ("Which country has the most ports?", ["Sudria"]),
        ("Which port opened first?", ["Aldby"]),
        ("Which port comes after Brask?", ["Corvo"]),
        ("Which port is listed before Dunmor?", ["Corvo"]),
        ("What is the difference in cranes between Aldby and Brask?", ["5"]),
        ("How many more cranes does Corvo have than Brask?", ["13"]),
        ("How many years passed between the opening of Aldby and Brask?", ["14"]),
        ("Which has more cranes, Aldby or Corvo?", ["Corvo"]),
        ("Which port opened earlier, Brask or Corvo?", ["Brask"]),
        ("Does Aldby have more or less cranes than Corvo?", ["less"]),
        ("What share of the cranes is in Norland?", ["27.0588"]),
        ("What is the ratio of cranes in Dunmor to cranes in Brask?", ["1"]),
        ("Is Brask in Norland?", ["yes"]),
        ("Is Brask or Corvo in Sudria?", ["Corvo"]),
        ("Which port has the same number of cranes as Brask?", ["Dunmor"]),
        ("List the ports that have exactly 9 cranes.", ["Brask", "Dunmor"]),
        ("How many ports have a tour of at least 2 minutes?", ["2"]),
        ("Pelabuhan mana yang memiliki cranes terbanyak?", ["Egmont"]),
        ("Berapa jumlah cranes di Corvo?", ["22"]),
    ],
)
def test_a_question_is_computed(question: str, values: list[str]) -> None:
    assert list(ask(question).result.values) == values
    assert list(ask(question, PORTS_CSV, "ports.csv").result.values) == values


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("What is the total number of cranes in Norland?", "14 + 9 = 23"),
        ("What is the average number of cranes in Norland?", "(14 + 9) / 2 = 11.5"),
        ("What is the difference in cranes between Aldby and Brask?", "14 - 9 = 5"),
        (
            "What share of the cranes is in Norland?",
            "(14 + 9) / (14 + 9 + 22 + 9 + 31) = 27.0588 %",
        ),
        ("How many years passed between the opening of Aldby and Brask?", "1925 - 1911 = 14 years"),
        (
            "What is the total traffic?",
            "3.2 + 1.5 + 12.75 + 20.5 = 37.95 million tonnes (1 of 5 rows without a value)",
        ),
    ],
)
def test_a_line_tells_how_a_value_was_computed(question: str, line: str) -> None:
    assert ask(question).result.line == line


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Berapa jumlah derek di Norland?", "14 + 9 = 23"),
        ("Berapa rata-rata derek di Sudria?", "(22 + 9) / 2 = 15,5"),
        ("Berapa selisih derek antara Aldby dan Brask?", "14 - 9 = 5"),
        ("Berapa total lalu lintas di Sudria?", "7,5 + 12,75 = 20,25 juta ton"),
        ("Berapa total penduduk Aldby dan Brask?", "1.250.000 + 240.500 = 1.490.500"),
        ("Pelabuhan mana yang memiliki derek terbanyak?", "highest Derek of 4 rows: 22"),
        ("Pelabuhan mana yang penduduk paling sedikit?", "lowest Penduduk of 4 rows: 1.100"),
        ("Berapa banyak pelabuhan dengan lebih dari 10 derek?", "2 of 4 rows: Derek > 10"),
        (
            "Berapa banyak pelabuhan dengan penduduk di atas 200.000?",
            "2 of 4 rows: Penduduk > 200.000",
        ),
        ("Berapa banyak pelabuhan yang dibuka sebelum tahun 1930?", "2 of 4 rows: Dibuka < 1930"),
    ],
)
def test_numbers_are_read_and_written_as_the_table_writes_them(question: str, line: str) -> None:
    assert ask(question, PELABUHAN).result.line == line


def test_growth_leads_from_the_earlier_period_to_the_later_one() -> None:
    text = "Year,Revenue,Staff\n2021,500,12\n2022,640,14\n2023,800,15\n"
    answer = ask("What was the growth of revenue from 2021 to 2023?", text, "sales.csv")
    assert answer.result.line == "(800 - 500) / 500 = 60 %"
    assert answer.result.number == 60


YEARS = "Year,Profit,Revenue,Loans\n2021,-50,0,4\n2022,10,100,0\n2023,0,300,6\n"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What was the growth of profit from 2021 to 2022?", "growth from -50 is not defined"),
        ("What was the growth of revenue from 2021 to 2023?", "growth from 0 is not defined"),
        ("What percentage of the profit was made in 2022?", "a share of -40 is not defined"),
    ],
)
def test_growth_from_a_base_without_a_meaning_is_refused(question: str, reason: str) -> None:
    tables = [TableWords.of(read_table(YEARS, "years.csv"))]
    answer = answer_over_tables(Question(question), tables)
    assert (answer.answer, answer.refusal) == (None, reason)


def test_terms_of_zero_are_shown() -> None:
    text = "Port,Country,Berths\nAldby,Norland,4\nBrask,Norland,0\nCorvo,Sudria,6\n"
    answer = ask("What share of the berths is in Norland?", text, "berths.csv")
    assert answer.result.line == "(4 + 0) / (4 + 0 + 6) = 40 %"
    assert {"0", "4", "6"} <= {operand.cell.text for operand in answer.result.operands}


@pytest.mark.parametrize(
    "question",
    [
        "What share of the cost is of kind paint?",
        "Which order has the lowest cost?",
        "How many different orders are there?",
        "Which kind is the most frequent?",
        "What is the difference in cost between paint and rope?",
    ],
)
def test_the_operands_of_a_long_table_are_limited(question: str) -> None:
    rows = "".join(f"T{at},{'paint' if at % 3 else 'rope'},5\n" for at in range(2100))
    candidates = answer_over_tables(
        Question(question), [TableWords.of(read_table(f"Order,Kind,Cost\n{rows}", "orders.csv"))]
    ).candidates
    for candidate in candidates:
        assert len({operand.row for operand in candidate.result.operands}) <= 2000
        assert len(candidate.result.values) <= 1000


def test_every_operand_is_a_cell_of_the_document() -> None:
    document = read_document(PORTS)
    (raw,) = list_document_tables(document)
    answer = ask("What is the total number of cranes in Norland?")
    assert {operand.cell.text for operand in answer.result.operands} == {"14", "9", "Norland"}
    for operand in answer.result.operands:
        place = raw.rows[operand.row][operand.column].span
        assert place.cut(document.text) == operand.cell.text


def test_a_row_that_totals_the_others_is_not_added_to_them() -> None:
    assert ask("What is the total number of cranes?").result.values == ("85",)


@pytest.mark.parametrize(
    "question",
    [
        "Who is the mayor of Aldby?",
        "What is the colour of the sky?",
        "How much traffic did Corvo have?",
        "What is the difference between Aldby and Corvo?",
    ],
)
def test_a_question_that_the_table_does_not_answer_gets_no_answer(question: str) -> None:
    assert answer_over_tables(Question(question), [TableWords.of(read_table())]).answer is None


def test_tables_that_answer_equally_well_but_differently_are_candidates() -> None:
    other = read_table(PORTS.replace("| 22 |", "| 25 |"))
    content = [TableWords.of(read_table()), TableWords.of(other)]
    answer = answer_over_tables(Question("How many cranes does Corvo have?"), content)
    assert answer.answer is None
    assert {candidate.result.values for candidate in answer.candidates} >= {("22",), ("25",)}


def test_a_question_with_words_that_the_table_lacks_gets_a_tentative_answer() -> None:
    assert ask("How many mooring permits did the old council of Sudria sell?").is_tentative
    assert not ask("How many cranes does Corvo have?").is_tentative


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("How many ferries does Aldby have?", "ferries"),
        ("How much tax did the ports in Sudria pay?", "tax"),
        ("How many lamps do the ports in Norland have altogether?", "lamps"),
        ("Berapa selisih kedalaman Aldby dan Brask?", "kedalaman"),
    ],
)
def test_rows_are_not_counted_for_an_amount_that_no_column_has(question: str, noun: str) -> None:
    text = PELABUHAN if question.startswith("Berapa") else PORTS
    answer = answer_over_tables(Question(question), [TableWords.of(read_table(text))])
    assert (answer.answer, answer.refusal) == (None, f"no column has {noun}")


SETTINGS = """\
# Uploads

| setting | default | meaning |
|---|---|---|
| `files` | 512 | The most files that an upload may have, folders not counted. |
| `pages` | 1000 | The most pages of a file that are read from pictures. |
| `days` | 30 | The days that a refused upload is held for its owner. |
"""


@pytest.mark.parametrize(
    ("question", "is_counted"),
    [
        ("How many files may an upload have?", False),
        ("How many pages of a file are read from pictures at most?", False),
        ("How many settings mention an upload?", True),
    ],
)
def test_rows_are_counted_by_words_of_their_prose_only_if_asked_for_a_mention(
    question: str, is_counted: bool
) -> None:
    tables = [TableWords.of(read_table(SETTINGS, "settings.md"))]
    candidates = answer_over_tables(Question(question), tables).candidates
    assert is_counted == any(plan.computation.operation == "count" for plan in candidates)


def test_a_count_of_one_row_is_less_probable_than_one_of_several() -> None:
    single, several = ask("How many ports opened in 1932?"), ask("How many ports are in Sudria?")
    assert (single.result.values, several.result.values) == (("1",), ("3",))
    plan = replace(single.computation, rows=several.computation.rows)
    assert single.probability < replace(single, computation=plan).probability


def test_rows_that_total_others_are_not_added_up_with_them() -> None:
    text = "Item,Amount\nCash,10\nStock,30\nTotal current assets,40\nLand,50\nShips,60\n"
    tables = [TableWords.of(read_table(text, "assets.csv"))]
    assert answer_over_tables(Question("What is the total amount?"), tables).answer is None


def test_a_mean_of_the_first_rows_is_not_taken_for_one_of_all() -> None:
    tables = [TableWords.of(read_table())]
    question = Question("What is the average number of cranes of the first 3 ports?")
    candidates = answer_over_tables(question, tables).candidates
    assert "mean" not in {candidate.computation.operation for candidate in candidates}


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What is the traffic of Corvo?", "a cell that is needed is empty"),
        ("What is the total traffic of Aldby and Corvo?", "a cell that is needed is empty"),
        ("What is the difference in cranes between Aldby and Falun?", "no table has Falun"),
        (
            "What is the sum of the cranes and the traffic of Aldby?",
            "Cranes and Traffic (million tonnes) have no common unit",
        ),
        ("What is the average cranes income?", "no column has income"),
        ("How many cranes does quay 5b have?", "no row has 5b"),
        ("What is the total number of cranes in b12?", "no row has b12"),
        (
            "What is the total number of cranes of Aldby and Sudria?",
            "no row that is meant has Country: sudria",
        ),
    ],
)
def test_a_question_that_cannot_be_computed_is_refused(question: str, reason: str) -> None:
    answer = answer_over_tables(Question(question), [TableWords.of(read_table())])
    assert answer.answer is None
    assert answer.refusal == reason


def test_a_word_of_letters_and_digits_above_a_table_needs_no_row() -> None:
    content = [TableWords.of(read_table(PORTS.replace("Harbours", "Harbours in B12")))]
    answer = answer_over_tables(Question("How many cranes does Corvo in b12 have?"), content)
    assert answer.answer is not None
    assert answer.answer.result.values == ("22",)


def test_a_condition_leaves_a_named_measure_to_be_averaged() -> None:
    text = "Shop,City,Profit,Staff\nGate,Leeds,14000,5\nMill,Hull,-5500,3\nSide,York,-3000,4\n"
    for question, line in (
        ("What is the average profit of shops that made a loss?", "(-5,500 - 3,000) / 2 = -4,250"),
        ("What is the total staff of shops with more than 3 staff?", "5 + 4 = 9"),
    ):
        assert ask(question, text, "shops.csv").result.line == line


def test_a_word_that_two_measures_share_is_refused() -> None:
    text = "Farm,Cost planned,Cost final\nAmber,10,20\nBlue,30,50\nCopper,70,60\n"
    content = [TableWords.of(read_table(text, "farms.csv"))]
    refused = answer_over_tables(Question("What is the total cost of all farms?"), content)
    assert refused.refusal == "it may mean Cost planned or Cost final"
    answer = ask("What is the total final cost of all farms?", text, "farms.csv")
    assert answer.result.values == ("130",)


def test_a_head_with_small_words_is_named_by_its_other_words() -> None:
    text = "Street,Damage,Households without water\nWeir Lane,burst,40\nMill Road,leak,7\n"
    answer = ask("How many households were without water in Weir Lane?", text, "log.csv")
    assert answer.result.values == ("40",)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Berapa total derek pelabuhan di Norland?", "23"),
        ("Jumlahkan derek semua pelabuhan di Norland.", "23"),
        ("Pelabuhan mana yang dereknya paling banyak?", "Corvo"),
        ("Berapa banyak pelabuhan dibuka lebih awal dari 1930?", "2"),
        ("Derek Corvo dan Aldby selisihnya berapa?", "8"),
    ],
)
def test_indonesian_wordings_are_computed(question: str, value: str) -> None:
    assert ask(question, PELABUHAN, "pelabuhan.md").result.values == (value,)


MEDALS = """\
Rank,Nation,Gold,Silver,Bronze,Total
1,Norland,4,2,1,7
2,Sudria,1,3,0,4
"""


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the number of silver medals won by Norland and Sudria combined?", "5"),
        ("What is the difference in gold medals between Norland and Sudria?", "3"),
        ("What is the total numbers of medals won by Sudria?", "4"),
    ],
)
def test_medals_are_counted_by_their_kind(question: str, value: str) -> None:
    assert ask(question, MEDALS, "medals.csv").result.values == (value,)


BRANCHES = """\
# Branches

| Branch | Profit (USD) | Margin |
|---|---|---|
| Northport | 1,250,000 | 12.5% |
| Eastcove | (45,300) | -3.1% |
| Southbay | 310,700 | 4.2% |
| Westquay | (12,000) | -0.9% |
"""


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (
            "What is the total profit of all branches?",
            "1,250,000 - 45,300 + 310,700 - 12,000 = 1,503,400 USD",
        ),
        ("What is the average margin?", "(12.5 - 3.1 + 4.2 - 0.9) / 4 = 3.175 %"),
        (
            "What is the difference in profit between Northport and Eastcove?",
            "1,250,000 - (-45,300) = 1,295,300 USD",
        ),
        ("Which branch has the lowest profit?", "lowest Profit (USD) of 4 rows: (45,300)"),
        ("How many branches have a profit below 0?", "2 of 4 rows: Profit (USD) < 0"),
    ],
)
def test_amounts_in_brackets_are_below_zero(question: str, line: str) -> None:
    assert ask(question, BRANCHES).result.line == line


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("How many branches made a loss?", "2 of 4 rows: Profit (USD) < 0"),
        ("How many branches did not make a loss?", "2 of 4 rows: Profit (USD) >= 0"),
        ("How many branches are profitable?", "2 of 4 rows: Profit (USD) > 0"),
        ("Which branches made a loss?", "Branch, Profit (USD) < 0"),
        ("Did Southbay make a loss?", "0 of 4 rows: Profit (USD) < 0; Branch: southbay"),
        (
            "How many branches made a loss of more than 20,000?",
            "1 of 4 rows: loss by Profit (USD) > 20,000",
        ),
        ("Which branch made the largest loss?", "lowest Profit (USD) of 2 rows: (45,300)"),
        ("Which branch made the smallest loss?", "highest Profit (USD) of 2 rows: (12,000)"),
        ("Cabang mana yang merugi?", "Branch, Profit (USD) < 0"),
    ],
)
def test_a_loss_is_an_amount_below_zero(question: str, line: str) -> None:
    assert ask(question, BRANCHES).result.line == line


SALES = """\
Shop,City,Revenue,Cost,Weight (kg)
Amber,Aldby,500,320,12
Blue,Brask,250,400,0
Copper,Aldby,,90,7
"""


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("What is the difference between revenue and cost of Amber?", "500 - 320 = 180"),
        ("Berapa selisih revenue dan cost Blue?", "400 - 250 = 150"),
        (
            "What is the difference between the total cost and the total weight?",
            "Cost and Weight (kg) have no common unit",
        ),
        (
            "What is the difference between revenue and cost of Copper?",
            "a cell that is needed is empty",
        ),
    ],
)
def test_two_columns_of_one_unit_are_subtracted(question: str, line: str) -> None:
    answer = answer_over_tables(Question(question), [TableWords.of(read_table(SALES, "sales.csv"))])
    assert (answer.answer.result.line if answer.answer else answer.refusal) == line


OFFICES = """\
Branch,Country,Revenue (USD),Cost (USD),Opened
Northport,Norland,100,80,2001
Southbay,Norland,200,250,1999
Eastcove,Sudria,300,40,2010
Westquay,Sudria,50,20,2015
"""


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("What is the second highest revenue?", "place 2, maximum of 4 cells: 200"),
        (
            "How many branches have a cost between 30 and 100?",
            "2 of 4 rows: Cost (USD) >= 30 and <= 100",
        ),
        (
            "Which branches opened after 2000 and have revenue over 90?",
            "Branch, Opened > 2000; Revenue (USD) > 90",
        ),
        ("How many countries have more than one branch?", "2 values of Country: Norland, Sudria"),
        ("How many branches opened between 2000 and 2012?", "2 of 4 rows: Opened 2000 .. 2012"),
        ("What is the total revenue from branches with a cost below 50?", "300 + 50 = 350 USD"),
    ],
)
def test_places_ranges_and_bounds_are_applied(question: str, line: str) -> None:
    assert ask(question, OFFICES, "offices.csv").result.line == line


@pytest.mark.parametrize(
    "question",
    [
        "What is the sum of revenue and cost of Southbay?",
        "Which country has the highest total revenue?",
        "Which are the two branches with the highest revenue?",
        "What are the three largest branches by revenue?",
        "What are the top 3 branches by revenue?",
        "Which were the first two branches?",
    ],
)
def test_a_part_of_what_is_asked_for_is_no_answer(question: str) -> None:
    tables = [TableWords.of(read_table(OFFICES, "offices.csv"))]
    assert answer_over_tables(Question(question), tables).answer is None


SONGS = "Song,Time,Length\nAmber,3:05,12\nBlue,4:10,10\nCopper,2:00,30\nDusk,1:30,5\n"


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Which song is the longest?", ""),
        ("Which song is longer, Amber or Blue?", ""),
        ("Which song is longer, Amber or Dusk?", "Amber"),
        ("Which song is the shortest?", "Dusk"),
        ("Which song has the longest time?", "Blue"),
        ("Which song has the longest length?", "Copper"),
    ],
)
def test_an_order_by_two_columns_counts_only_if_both_agree(question: str, value: str) -> None:
    tables = [TableWords.of(read_table(SONGS, "songs.csv"))]
    answer = answer_over_tables(Question(question), tables).answer
    assert (answer.result.values[0] if answer else "") == value


def test_years_in_brackets_are_dates() -> None:
    table = read_table("Ship,Note\nAmber,(1998)\nBlue,(2004)\nCopper,unknown\n", "ships.csv")
    assert table.columns[1].kind == "date"


STORES = """\
Item,Weight,Length,Worth
Anchor,500 g,1.2 m,840 thousand
Chain,2 kg,300 cm,1.5 million
Rope,1.5 kg,12 m,12000
Buoy,750 g,80 cm,90 thousand
"""


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Which item is the heaviest?", "highest Weight of 4 rows: 2 kg"),
        ("What is the total weight?", "500 + 2,000 + 1,500 + 750 = 4,750 g"),
        ("What is the average length?", "(1.2 + 3 + 12 + 0.8) / 4 = 4.25 m"),
        ("Which is heavier, Anchor or Chain?", "more of 500 g and 2 kg"),
        (
            "What is the difference in weight between Anchor and Chain?",
            "2,000 - 500 = 1,500 g",
        ),
        ("How many items weigh more than 600 g?", "3 of 4 rows: Weight > 600"),
        ("How many items weigh more than 1 kg?", "2 of 4 rows: Weight > 1 kg"),
        ("Which item has the highest worth?", "highest Worth of 4 rows: 1.5 million"),
    ],
)
def test_amounts_in_unlike_units_are_compared_in_one(question: str, line: str) -> None:
    assert ask(question, STORES, "stores.csv").result.line == line


def test_a_bound_is_compared_in_the_unit_of_its_column() -> None:
    text = "Item,Weight (g)\nAnchor,900\nChain,2000\nRope,1500\n"
    answer = ask("How many items have a weight of more than 1 kg?", text, "stores.csv")
    assert answer.result.line == "2 of 3 rows: Weight (g) > 1 kg"


VIDEOS = """\
# Videos

| Video | Views | Revenue | Cost (thousands) |
|---|---|---|---|
| Anchors | 12k | $1.5 million | 20 |
| Buoys | 950 | $840 thousand | 45 |
| Cranes | 3.5M | $12k | 70 |
"""
KOTA = """\
# Data kota

| Kota | Anggaran | Penduduk |
|---|---|---|
| Amar | Rp 1,5 miliar | 12,34,567 |
| Budi | Rp 840 juta | 500 rb |
| Cinta | Rp 3 M | 98.000 |
"""


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Which video has the most views?", "highest Views of 3 rows: 3.5M"),
        ("What is the total revenue?", "1,500,000 + 840,000 + 12,000 = 2,352,000 $"),
        ("How many videos have more than 10k views?", "2 of 3 rows: Views > 10k"),
        ("How many videos have a revenue over $0.8M?", "2 of 3 rows: Revenue > $0.8m"),
        (
            "How many videos have a cost of more than 40 thousand?",
            "2 of 3 rows: Cost (thousands) > 40 thousand",
        ),
    ],
)
def test_amounts_with_scales_are_compared_as_numbers(question: str, line: str) -> None:
    assert ask(question, VIDEOS).result.line == line


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (
            "Berapa total anggaran semua kota?",
            "1.500.000.000 + 840.000.000 + 3.000.000.000 = 5.340.000.000 Rp",
        ),
        (
            "Berapa banyak kota dengan anggaran di atas Rp 1 miliar?",
            "2 of 3 rows: Anggaran > rp 1 miliar",
        ),
        (
            "Berapa banyak kota dengan penduduk lebih dari 4 ratus ribu?",
            "2 of 3 rows: Penduduk > 4 ratus ribu",
        ),
    ],
)
def test_indonesian_amounts_with_scales_are_compared_as_numbers(question: str, line: str) -> None:
    assert ask(question, KOTA).result.line == line


MEETINGS = """\
Meeting,Date,Attendance
Budget,05/03/2024,12
Roads,14/03/2024,9
Pool,02/11/2024,15
Harbour,28/06/2024,11
"""


@pytest.mark.parametrize("mark", ["/", "-", "."])
@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How many meetings were held in March 2024?", "2"),
        ("How many meetings took place before June 2024?", "2"),
        ("Which meeting had the latest date?", "Pool"),
        ("What was the attendance on 05/03/2024?", "12"),
    ],
)
def test_one_date_tells_the_order_of_day_and_month_in_all(
    question: str, value: str, mark: str
) -> None:
    text = MEETINGS.replace("/", mark)
    assert ask(question, text, "meetings.csv").result.values == (value,)
