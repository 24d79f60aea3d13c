"""The permitted training data: every source of rows with its licence, its group and its reason.

Only sources whose licence allows any use are learned from. Non-commercial, "research use" and
unclear licences are left out and say so here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

CC_BY_SA = "CC BY-SA 4.0"
OWN_LICENCE = "Apache-2.0"
GENERATED = "questions Apache-2.0; passages as training/questions/sources.toml says"
FREE = "Apache-2.0; passages as their manuals, see training/written/README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source of rows.

    Attributes:
        licence: As its README says.
        group: Which share of a block its rows fall into; empty when it is not used.
    """

    licence: str
    group: str = ""


def _mark_unused(licence: str) -> Source:
    return Source(licence=licence)


# The longest prefix of a row's `source` that is listed here decides.
SOURCES: Mapping[str, Source] = {
    "squad-dev": Source(licence=CC_BY_SA, group="squad"),
    "squadshifts-new_wiki": Source(licence="CC BY 4.0; Wikipedia CC BY-SA", group="wiki"),
    "squadshifts-reddit": Source(licence="CC BY 4.0 (questions)", group="informal"),
    "squadshifts-amazon_reviews": Source(licence="CC BY 4.0 (questions)", group="informal"),
    "nq-": Source(licence="CC BY-SA 3.0", group="nq"),
    "contrast-boolq": Source(licence="CC BY-SA 3.0", group="yesno"),
    "contrast-": Source(licence="CC BY(-SA) 4.0", group="odd"),
    "timeqa-": Source(licence="BSD-3-Clause; Wikipedia CC BY-SA", group="odd"),
    "tatqa-": Source(licence="CC BY 4.0", group="odd"),
    "policyqa-dev": Source(licence="MIT", group="odd"),
    "qnli-dev": Source(licence=CC_BY_SA, group="sentences"),
    "squad-train-sentences": Source(licence=CC_BY_SA, group="sentences"),
    "mnli-dev": Source(licence="OANC / CC BY-SA", group="nli"),
    "snli-dev": Source(licence=CC_BY_SA, group="nli"),
    "scitail-dev": Source(licence="Apache-2.0", group="nli"),
    "conflictqa-": Source(licence="Apache-2.0", group="claims"),
    "wice-": Source(licence="ODC-BY 1.0; Wikipedia CC BY-SA", group="claims"),
    "expertqa-": Source(licence="MIT", group="claims"),
    "strategyqa-": Source(licence="MIT", group="yesno"),
    "pubmedqa-": Source(licence="MIT", group="yesno"),
    "idk-mrc-": Source(licence=CC_BY_SA, group="indonesian"),
    "indonli-": Source(licence="CC BY-SA 3.0/4.0, Apache-2.0", group="indonesian-nli"),
    "written-manuals-id": Source(licence=FREE, group="written-id"),
    "written-manuals-": Source(licence=FREE, group="written"),
    "written-offices-id": Source(licence=OWN_LICENCE, group="written-id"),
    "written-offices-": Source(licence=OWN_LICENCE, group="written"),
    "written-news-id": Source(licence=OWN_LICENCE, group="news-id"),
    "written-encyclopaedia-id": Source(licence=OWN_LICENCE, group="written-id"),
    "written-encyclopaedia-": Source(licence=OWN_LICENCE, group="written"),
    "twisted-": Source(licence=f"questions Apache-2.0; paragraphs {CC_BY_SA}", group="twisted"),
    "generated-manuals-id": Source(licence=GENERATED, group="generated-id"),
    "generated-manuals-": Source(licence=GENERATED, group="generated"),
    "generated-options-id": Source(licence=GENERATED, group="generated-id"),
    "generated-options-": Source(licence=GENERATED, group="generated"),
    "generated-laws-": Source(licence=GENERATED, group="generated"),
    "generated-wiki-id": Source(licence=GENERATED, group="generated-id"),
    "generated-wiki-": Source(licence=GENERATED, group="generated"),
    "facqa-id-": _mark_unused("CC BY-SA 4.0; its questions are reported"),
    "anli-": _mark_unused("CC BY-NC 4.0"),
    "sick-": _mark_unused("CC BY-NC-SA 3.0"),
    "rte-": _mark_unused("research use"),
    "commitment_bank-": _mark_unused("research use"),
    "subjqa-": _mark_unused("research use"),
    "mediqa-": _mark_unused("research use"),
    "wikiqa-": _mark_unused("Microsoft Research Data License, research use"),
    "covidfact": _mark_unused("research use"),
    "healthver-": _mark_unused("research use"),
    "trecqa-": _mark_unused("none stated"),
    "qags-": _mark_unused("none stated"),
    "climate-fever": _mark_unused("unspecified"),
    "citint-": _mark_unused("not stated by its origin"),
}

# Sets with qrels whose shorter documents train relevance, and their licences. The multi-hop sets
# are not among them: their few questions are all needed to report the strategies.
RANKED: Mapping[str, str] = {
    "powershell-howto": "CC BY 4.0",
    "tldr-commands": "CC BY 4.0; nl2bash MIT",
}

# Rows of each group in one block. A group not named here is not learned from.
SHARES: Mapping[str, int] = {
    "squad": 40,
    "wiki": 34,
    "informal": 22,
    "nq": 8,
    "odd": 16,
    "mined": 24,
    "swapped": 14,
    "sentences": 10,
    "labelled": 24,
    "ranked": 4,
    "written": 26,
    "written-id": 15,
    "written-stated": 6,
    "mined-written": 10,
    "twisted": 80,
    "news-id": 8,
    "mined-news": 4,
    "generated": 15,
    "generated-id": 3,
    "composed": 34,
    "nli": 26,
    "claims": 12,
    "yesno": 6,
    "yesno-made": 10,
    "indonesian": 18,
    "mined-id": 6,
    "swapped-id": 6,
    "indonesian-nli": 10,
    "yesno-id": 8,
}


def find_source(name: str) -> Source:
    """Return the source of a row by its name.

    Raises:
        KeyError: If none is listed; add it with its licence before learning from it.
    """
    prefixes = [prefix for prefix in SOURCES if name.startswith(prefix)]
    if not prefixes:
        raise KeyError(f"source {name!r} has no licence in training/cross_reader/sources.py")
    return SOURCES[max(prefixes, key=len)]
