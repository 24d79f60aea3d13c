"""What stands in the binary documents of the sample corpus; the town of Merrow is invented."""

from writers import Blocks

HANDBOOK: Blocks = [
    ("h1", "Road Repair Handbook"),
    ("p", "This handbook is for the road crews of the Merrow Public Works Office. It replaces the"
          " leaflet of 2016 and applies from 1 April 2024."),
    ("h2", "Filling a pothole"),
    ("p", "A pothole deeper than 4 centimetres on a bus route is filled within 48 hours of the"
          " report; on other streets the limit is ten working days."),
    ("ol", [
        "Set up two warning cones, each 30 metres before the hole.",
        "Cut the edges straight and remove loose stones.",
        "Brush the sides with bitumen emulsion.",
        "Fill with cold asphalt in layers of at most 5 centimetres.",
        "Compact each layer with the hand rammer, six passes.",
        "Take a photograph and close the ticket before the end of the shift.",
    ]),
    ("h2", "Materials"),
    ("table", [
        ["Material", "Stored at", "Shelf life"],
        ["Cold asphalt", "Depot North, bay 3", "9 months"],
        ["Bitumen emulsion", "Depot North, bay 5", "4 months"],
        ["Paving stones", "Yard at Quarry Lane", "unlimited"],
    ]),
    ("h2", "Safety"),
    ("note", "No repair is begun when the wind is stronger than 60 kilometres an hour or the air"
             " is colder than minus 5 degrees.",
     "Measured at the weather mast on the roof of Depot North."),
    ("ul", [
        "Crews always work in pairs.",
        "High-visibility jackets of class 3 are worn on every street.",
        "The first-aid kit is checked every Monday.",
    ]),
]  # fmt: skip

APPRENTICES: Blocks = [
    ("h1", "Apprenticeships at the Public Works Office"),
    ("p", "Each September the office takes in six apprentices: four road builders and two"
          " water technicians. Applications are accepted from 15 January to 31 March."),
    ("h2", "What we offer"),
    ("table", [
        ["Year", "Monthly pay in crowns", "Days of leave"],
        ["First", "940", "28"],
        ["Second", "1,020", "28"],
        ["Third", "1,130", "30"],
    ]),
    ("h2", "How to apply"),
    ("ol", [
        "Send a letter and your last school report to Ines Valder, training officer.",
        "Pass the practical test, which takes three hours.",
        "Come to a talk with the crew leader.",
        "Receive the answer within four weeks of the talk.",
    ]),
    ("p", "Apprentices who live more than 25 kilometres away may use one of the rooms in the hostel"
          " on Tannery Street at 120 crowns a month."),
]  # fmt: skip

ROAD_GUIDE_ID: Blocks = [
    ("h1", "Panduan Perbaikan Jalan"),
    ("p", "Panduan ini berlaku untuk semua regu Dinas Pekerjaan Umum Kota Tirtasari sejak"
          " 1 Juli 2024."),
    ("h2", "Menambal lubang jalan"),
    ("p", "Lubang di jalan utama harus ditambal paling lambat 3 hari kerja setelah laporan"
          " diterima; di jalan lingkungan paling lambat 14 hari kerja."),
    ("ol", [
        "Pasang rambu peringatan 25 meter sebelum lubang.",
        "Bersihkan lubang dari air, lumpur dan batu lepas.",
        "Oleskan aspal cair pada dinding lubang.",
        "Isi dengan aspal dingin, lalu padatkan dengan stamper delapan kali.",
        "Foto hasil kerja dan tutup laporan pada hari yang sama.",
    ]),
    ("h2", "Bahan"),
    ("table", [
        ["Bahan", "Gudang", "Persediaan minimum"],
        ["Aspal dingin", "Gudang Utara", "120 karung"],
        ["Aspal cair", "Gudang Utara", "40 drum"],
        ["Batu pecah", "Gudang Kali Bening", "65 meter kubik"],
    ]),
]  # fmt: skip

LIBRARY_RULES: Blocks = [
    ("h1", "Rules of the Merrow Town Library"),
    ("p", "These rules were adopted by the library board on 12 November 2023."),
    ("h2", "Borrowing"),
    ("ol", [
        "A library card is free for residents and costs 15 crowns a year for everybody else.",
        "Up to twelve items may be borrowed at a time.",
        "Books are lent for 28 days, films and games for 7 days.",
        "A loan can be renewed twice unless somebody has reserved the item.",
    ]),
    ("h2", "Late returns"),
    ("table", [
        ["Item", "Fee per day", "At most"],
        ["Book", "0.20 crowns", "8 crowns"],
        ["Film or game", "0.50 crowns", "12 crowns"],
        ["Tool from the library of things", "2 crowns", "40 crowns"],
    ]),
    ("p", "Children under 14 pay no late fees."),
    ("h2", "Reading room"),
    ("ul", [
        "Food stays in the lockers; water in closed bottles is allowed.",
        "The local history collection is shown on request, with one hour's notice.",
    ]),
]  # fmt: skip

WINTER: list[tuple[str, list[str], str]] = [
    ("Winter Service Plan 2025/26",
     ["Merrow Public Works Office", "Approved by the town council on 3 October 2025"],
     "Printed copies lie at Depot North and at Depot South."),
    ("Order of clearing",
     ["Priority 1: hospital access, bus routes, fire station; clear by 6:00",
      "Priority 2: school streets and the market square; clear by 7:30",
      "Priority 3: all other streets; clear within 24 hours of the last snowfall"],
     "The school streets are listed in the annex, which is kept by the duty officer."),
    ("Vehicles and salt",
     ["Five ploughs and two narrow tracks for pavements", "Salt store: 640 tonnes at Depot South",
      "No salt on Mill Bridge: use grit, because salt attacks the old iron"],
     "A new delivery is ordered when less than 200 tonnes of salt are left."),
    ("On-call duty",
     ["Duty runs from 15 November to 31 March", "The crew must be at the depot within 35 minutes",
      "Telephone of the duty officer: 555-0142"],
     "Duty officers change every Friday at noon."),
]  # fmt: skip

SISTER_SLIDES: list[tuple[str, list[str], str]] = [
    ("Kerja Sama Merrow dan Tirtasari",
     ["Ditandatangani pada 9 Mei 2022", "Berlaku selama enam tahun"],
     "Naskah asli disimpan di Balai Kota Tirtasari."),
    ("Program tahun 2025",
     ["Pertukaran empat teknisi air selama delapan minggu",
      "Pelatihan daring tentang pemetaan pipa, sebulan sekali",
      "Hibah 300 buku anak dari perpustakaan Merrow"],
     "Penanggung jawab di Tirtasari adalah Ibu Ratna Widjaya."),
]  # fmt: skip

FEES_2025: dict[str, list[list[str | float]]] = {
    "Fees 2025": [
        ["Fee schedule of the Merrow Treasury Department, in force from 1 January 2025"],
        [],
        ["Service", "Fee in crowns", "Unit", "Days to decide"],
        ["Skip on a public street", 48, "per week", 3],
        ["Scaffolding on a pavement", 22.5, "per metre and month", 10],
        ["Digging up a street", 310, "per permit", 15],
        ["Parking permit for residents", 64, "per year", 2],
        ["Market stall", 18, "per day", 5],
        ["Extra waste bag", 3.5, "each", 0],
    ],
    "Discounts": [
        ["Group", "Discount in percent", "Proof"],
        ["Pensioners", 25, "pension card"],
        ["Students", 20, "student card"],
        ["Clubs and charities", 50, "entry in the register of clubs"],
    ],
}

LIBRARY_FIGURES: dict[str, list[list[str | float]]] = {
    "Visits": [
        ["Year", "Visits", "Loans", "Active cards"],
        [2021, 41250, 98730, 5120],
        [2022, 57840, 121400, 5790],
        [2023, 63115, 130260, 6204],
        [2024, 71902, 128915, 6688],
    ],
    "Library of things": [
        ["Item", "Pieces", "Loans in 2024"],
        ["Drill", 6, 214],
        ["Sewing machine", 3, 97],
        ["Projector", 4, 131],
        ["Carpet cleaner", 2, 163],
    ],
}

BRIDGE_BOOK: list[Blocks] = [
    [
        ("h1", "The Mill Bridge"),
        ("p", "The Mill Bridge was opened on 8 September 1891. It was designed by Clara Benning,"
              " then only 27 years old, and cost 64,300 crowns."),
        ("h2", "Iron from Hallet"),
        ("p", "The four arches were cast at the Hallet foundry and came up the river on barges."
              " Each arch weighs 38 tonnes."),
    ],
    [
        ("h1", "The flood of 1937"),
        ("p", "In March 1937 the river Sorrel rose 5.2 metres above its usual level. The bridge"
              " held, but the tollhouse beside it was carried away and never rebuilt."),
        ("h2", "The repair"),
        ("p", "The eastern pier was rebuilt in granite between 1938 and 1940. Since then lorries of"
              " more than 7.5 tonnes may not cross."),
    ],
]  # fmt: skip

FEES_2023: list[list[tuple[str, str]]] = [
    [
        ("h1", "Fee Schedule 2023"),
        ("p", "Merrow Public Works Office, street permits"),
        ("p", "In force from 1 February 2023."),
        ("p", ""),
        ("h2", "1. Skips and scaffolding"),
        ("p", "A skip on a public street costs 35 crowns per week."),
        ("p", "Scaffolding on a pavement costs 19 crowns per metre and month."),
        ("p", "The permit must be fixed to the skip where it can be seen from the street."),
        ("p", ""),
        ("h2", "2. Digging"),
        ("p", "Digging up a street costs 280 crowns per permit."),
        ("p", "The surface must be restored within 21 days of the end of the work."),
    ],
    [
        ("h2", "3. How to apply"),
        ("p", "1. Fill in form PW-7 at the counter in Weir Street 4."),
        ("p", "2. Add a sketch of the place with its measures."),
        ("p", "3. Pay at the counter or by bank transfer."),
        ("p", "4. Collect the permit after three working days."),
        ("p", ""),
        ("h2", "4. Fines"),
        ("p", "Whoever puts up a skip without a permit pays a fine of 150 crowns."),
        ("p", "Complaints are answered by Tomas Rell, head of permits."),
    ],
]

FLOOD_PLAN: list[list[tuple[str, str]]] = [
    [
        ("h1", "Flood Plan for the River Sorrel"),
        ("p", "Public Works Office, edition of 20 June 2024"),
        ("p", ""),
        ("h2", "Stages"),
        ("p", "The gauge stands at the Mill Bridge and is read every 15 minutes."),
        ("p", "Stage 1, watch: the gauge shows 2.80 metres."),
        ("p", "Stage 2, prepare: the gauge shows 3.40 metres."),
        ("p", "Stage 3, evacuate the lower town: the gauge shows 4.10 metres."),
        ("p", ""),
        ("h2", "Barriers"),
        ("p", "At stage 2 the crew sets up 180 metres of mobile wall along Weir Street."),
        ("p", "Setting up takes eleven people four hours."),
    ],
    [
        ("h2", "Shelters"),
        ("p", "The sports hall in Linden Road takes in 420 people."),
        ("p", "The town library takes in 90 people and stays open all night."),
        ("p", "Pets are brought to the riding school at Quarry Lane."),
        ("p", ""),
        ("h2", "Sandbags"),
        ("p", "Residents collect up to 40 sandbags per household at Depot South."),
        ("p", "Sandbags are returned, dried and counted within six weeks."),
    ],
]
