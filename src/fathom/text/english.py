"""English words for months, numbers and units."""

MONTHS = (
    ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",),
    ("june", "jun"), ("july", "jul"), ("august", "aug"), ("september", "sept", "sep"),
    ("october", "oct"), ("november", "nov"), ("december", "dec"),
)  # fmt: skip
"""The names of each month, in order, the full name first."""

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
UNITS = {
    "length": {
        "kilometres?": 1e3, "kilometers?": 1e3, "metres?": 1.0, "meters?": 1.0,
        "centimetres?": 0.01, "centimeters?": 0.01, "millimetres?": 0.001, "millimeters?": 0.001,
        "miles?": 1609.344, "yards?": 0.9144, "feet": 0.3048, "foot": 0.3048, "inch(?:es)?": 0.0254,
    },
    "mass": {
        "kilograms?": 1.0, "grams?": 0.001, "tonnes?": 1e3, "tons?": 1e3, "pounds?": 0.45359237,
    },
    "time": {
        "seconds?": 1.0, "minutes?": 60.0, "hours?": 3600.0, "days?": 86_400.0,
        "weeks?": 604_800.0, "months?": 2_629_800.0, "years?": 31_557_600.0,
    },
    "share": {"percent": 1.0, "per cent": 1.0},
    "area": {
        "square kilomet(?:er|re)s?": 1e6, "square met(?:er|re)s?": 1.0,
        "square miles?": 2_589_988.110336, "square feet": 0.09290304,
        "hectares?": 1e4, "acres?": 4046.8564224,
    },
    "volume": {
        "cubic met(?:er|re)s?": 1.0, "lit(?:er|re)s?": 0.001, "gallons?": 0.003785411784,
    },
}  # fmt: skip
"""The units of each measure, as patterns with their size in its base unit: metre, kilogram, second,
percent, square metre, cubic metre."""

CURRENCIES = (
    "usd", "eur", "gbp", "jpy", "cny", "chf", "aud", "sgd", "dollars?", "euros?", "pounds?",
    "cents?", "yen", "yuan", "renminbi", "rupees?", "rubles?", "roubles?", "francs?", "crowns?",
    "krone", "kroner", "krona", "kronor", "pesos?", "marks?", "ringgit", "baht", "won", "lira",
    "shillings?", "guilders?", "florins?", "dinars?", "riyals?", "reais",
)  # fmt: skip
"""Words for currencies, as patterns."""
PRICES = (
    "costs?", "costed", "prices?", "priced", "fees?", "fines?", "fares?", "salary", "salaries",
    "wages?", "revenues?", "profits?", "budgets?", "incomes?", "earnings?", "tuition", "rent",
    "worth", "paid", "pay", "earn", "earned", "spend", "spent", "money", "funding", "endowment",
    "gdp", "debt", "donat(?:ed|ions?)", "invest(?:ed|ments?)",
)  # fmt: skip
"""Words for amounts of money, as patterns."""
SHARES = (
    "percent", "per cent", "percentage", "half", "thirds?", "quarters?", "fifths?", "tenths?",
    "majority",
)  # fmt: skip
"""Words for shares of a whole, as patterns."""
MEASURES = {
    "how (?:tall|high|deep|wide|thick)": "length", "how old": "time", "how heavy": "mass",
}  # fmt: skip
"""Question words for a measure, as patterns with the measures that may answer them."""
LOOSE_MEASURES = {"how far": "length", "how long": "length time", "how fast": "length"}
"""Question words for a measure whose answer may have no number: "until the war", "as far as the
lake"."""

TIMES = (
    *(f"{day}days?" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")),
    "spring", "summer", "autumn", "fall", "winter", "seasons?", "mornings?", "noon", "afternoons?",
    "evenings?", "nights?", "midnight", "easter", "christmas", "today", "now", "present(?:ly)?",
    "cent(?:ury|uries)", "decades?", "ages?", "eras?", "periods?", "times?", "dates?", "birth",
    "dynast(?:y|ies)", "reigns?", "wars?", "revolutions?", "medieval", "modern", "early", "earlier",
    "earliest", "late", "later", "latest", "recent(?:ly)?", "ago", "once", "never", "always",
    "immediately", "soon", "upon", "before", "after(?:wards?)?", "during", "while", "when",
    "whenever", "since", "until", "till", "end", "beginning", "middle", "start", "first", "last",
    "next", "previous", "every", "eve", "if", "following", "annual(?:ly)?",
    "ancient", "stages?", "years?", "months?", "weeks?", "days?", "hours?", "minutes?",
)  # fmt: skip
"""Words for times, as patterns; an answer to "when" without a number must have one of them."""
AMOUNTS = (
    "no", "none", "zero", "a", "an", "once", "twice", "both", "pair", "couple", "half", "dozens?",
    "several", "some", "few", "fewer", "many", "most", "much", "more", "all", "every", "each",
    "only", "single", "double", "triple", "thirds?", "quarters?", "majority", "minority",
    "unknown", "unlimited", "infinite(?:ly)?", "numerous", "various", "multiple", "first",
    "second", "third", "fourth", "fifth", "hundreds", "thousands", "millions", "billions", "score",
)  # fmt: skip
"""Words for amounts besides numbers, as patterns."""
