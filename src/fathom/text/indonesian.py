"""Indonesian words for months, numbers and units."""

MONTHS = (
    ("januari",), ("februari", "pebruari"), ("maret",), ("april",), ("mei",), ("juni",), ("juli",),
    ("agustus", "agu", "agt", "ags"), ("september",), ("oktober", "okt"),
    ("november", "nopember"), ("desember", "des"),
)  # fmt: skip
"""The names of each month, in order, the full name first."""

NUMBERS = {
    "satu": 1, "dua": 2, "tiga": 3, "empat": 4, "lima": 5, "enam": 6, "tujuh": 7, "delapan": 8,
    "sembilan": 9, "sepuluh": 10, "sebelas": 11, "seratus": 100, "seribu": 1000,
}  # fmt: skip
SCALES = {
    "belas": 10.0, "puluh": 10.0, "ratus": 1e2, "ribu": 1e3, "juta": 1e6, "miliar": 1e9,
    "milyar": 1e9, "triliun": 1e12,
}  # fmt: skip
UNITS = {
    "length": {"kilometer": 1e3, "meter": 1.0, "sentimeter": 0.01, "milimeter": 0.001},
    "mass": {"kilogram": 1.0, "gram": 0.001, "ton": 1e3},
    "time": {
        "detik": 1.0, "menit": 60.0, "jam": 3600.0, "hari": 86_400.0, "minggu": 604_800.0,
        "pekan": 604_800.0, "bulan": 2_629_800.0, "tahun": 31_557_600.0,
    },
    "share": {"persen": 1.0},
    "area": {"kilometer persegi": 1e6, "meter persegi": 1.0, "hektare?": 1e4},
    "volume": {"meter kubik": 1.0, "liter": 0.001},
}  # fmt: skip
"""The units of each measure, as patterns with their size in its base unit: metre, kilogram, second,
percent, square metre, cubic metre."""

CURRENCIES = ("rupiah", "dolar", "dollar", "poundsterling", "krona", "rp", "idr")
"""Words for currencies, as patterns."""
PRICES = (
    "biaya", "harga(?:nya)?", "tarif", "denda", "gaji", "upah", "pendapatan", "laba", "rugi",
    "anggaran", "ongkos", "retribusi", "uang", "omzet", "devisa", "dana", "modal", "utang",
    "hutang", "kurs", "honor", "sewa", "bayar(?:an)?", "pajak", "kerugian", "keuntungan",
)  # fmt: skip
"""Words for amounts of money, as patterns."""
SHARES = ("persen", "persentase", "setengah", "separuh", "sepertiga", "seperempat", "mayoritas")
"""Words for shares of a whole, as patterns."""
MEASURES = {
    "tinggi|ketinggian|lebar|kedalaman|panjang": "length", "luas": "area length",
    "umur|usia": "time", "berat|bobot": "mass",
}  # fmt: skip
"""Question words for a measure, as patterns with the measures that may answer them."""
LOOSE_MEASURES = {"jarak|jauh": "length", "lama(?:nya|kah)?": "time"}
"""Question words for a measure whose answer may have no number: "hingga perang usai"."""

COUNTED = (
    "orang", "jiwa", "penduduk", "warga", "kali", "buah", "unit", "anggota", "siswa", "pemain",
    "gol", "korban", "medali", "negara", "kota", "pulau", "provinsi", "kabupaten", "buku", "rumah",
    "kapal", "pesawat", "desa", "sekolah",
)  # fmt: skip
"""Nouns that are counted, as in "berapa orang"; any other noun after "berapa" may be a measure."""

TIMES = (
    "senin", "selasa", "rabu", "kamis", "jum'?at", "sabtu", "minggu", "musim", "pagi", "siang",
    "sore", "petang", "malam", "paskah", "natal", "lebaran", "sekarang", "kini", "abad", "dekade",
    "zaman", "jaman", "era", "masa", "periode", "waktu", "tanggal", "dinasti", "perang", "revolusi",
    "kemerdekaan", "hari", "pekan", "bulan", "tahun", "jam", "menit", "awal(?:nya)?",
    "akhir(?:nya)?", "pertengahan", "lalu", "lampau", "dulu", "dahulu", "kemarin", "besok", "tadi",
    "baru", "sebelum(?:nya)?", "sesudah(?:nya)?", "setelah(?:nya)?", "selama", "ketika", "saat",
    "sewaktu", "sejak", "semenjak", "hingga", "sampai", "menjelang", "pasca", "pertama", "terakhir",
    "setiap", "tiap", "pernah", "segera", "jika", "apabila", "bila", "kelahiran", "usia", "umur",
    "kuno", "purba",
)  # fmt: skip
"""Words for times, as patterns; an answer to "kapan" without a number must have one of them."""
AMOUNTS = (
    "nol", "tidak", "tak", "tanpa", "se[a-z]+", "beberapa", "banyak", "sedikit", "semua",
    "seluruh(?:nya)?", "kedua", "ketiga", "keempat", "kelima", "puluhan", "ratusan", "ribuan",
    "jutaan", "miliaran", "triliunan", "lusin", "separuh", "setengah", "mayoritas", "tunggal",
    "para", "pertama", "ganda",
)  # fmt: skip
"""Words for amounts besides numbers, as patterns."""
