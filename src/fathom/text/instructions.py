"""Detection of texts that give orders to a language model, in English and Indonesian.

A document speaks to people. A text that speaks to whoever answers from it (rules to forget, forged
turns of a conversation, delimiters, replies and calls of tools) is not shown to a model. This first
wall stops blunt attempts. A text that gets past it is data between delimiters, and counts only
where its words are verified in the documents.
"""

import re

_ANSWER = (
    r"(?:answer|reply|respond|say|state|output|conclude|claim|jawab|jawablah|katakan|katakanlah|"
    r"balas|balaslah|nyatakan|nyatakanlah|tuliskan|simpulkan|simpulkanlah)"
)
_MODEL = (
    r"(?:an?\s+|the\s+|any\s+)?(?:ai (?:assistants?|models?)|(?:large )?language models?|llms?|"
    r"chatbots?|model bahasa|asisten (?:ai|virtual)|mesin penjawab)"
)
_ORDERS = re.compile(
    # Orders to forget rules.
    r"\b(?:ignore|disregard|forget|override|bypass|abaikan|lupakan|kesampingkan)\b[^.;\n]{0,40}"
    r"\b(?:instructions?|rules|prompts?|guidelines|other (?:chunks|documents|sources|passages)|"
    r"everything (?:above|before)|(?:text|context) above|instruksi|aturan|perintah|petunjuk|"
    r"(?:potongan|dokumen|sumber) lain(?:nya)?|semua (?:di atas|yang di atas))\b"
    # Forged turns of a conversation.
    r"|<\|\w{1,20}\|>|\[/?inst\]|<</?sys>>|</?(?:system|assistant|tool_calls?|function_calls?)>"
    r"|^(?:\*\*)?(?:system|assistant|sistem|asisten)(?:\*\*)?:[ \t]+\w"
    r"|^#{2,6} ?(?:instruction|instruksi)\b"
    # Forged delimiters, replies and calls.
    r"|^={3} [0-9a-f]{16} ={3}"
    r'|"(?:tool_calls?|function_call|arguments|sentences|short_answer|answerable|readings|workflow|'
    r'support)"\s*:\s*[\[{"]'
    r"|\bsystem prompt\b|\bprompt sistem\b"
    # Orders to a model, or about the answer.
    r"|\b(?:you are|as|notes? (?:to|for)|messages? (?:to|for)|anda adalah|sebagai|kepada|"
    rf"catatan untuk|pesan (?:untuk|bagi))\s+{_MODEL}\b"
    rf"|\b{_MODEL}\s+(?:must|should|shall|has to|have to|are to|is to|will|reading|harus|wajib|"
    r"diminta|yang membaca|hendaknya)\b"
    r"|(?:^|[.:;!,]\s*|\b(?:then|just|only|must|please|instead|and|lalu|cukup|hanya|harus|mohon|"
    rf"tolong|dan)\s+){_ANSWER}\s+(?:only\s+|instead\s+|hanya\s+|saja\s+)?(?:that|with|bahwa|dengan)\b"
    r"|\b(?:cite|quote|kutip|kutiplah)\s+(?:only\s+|hanya\s+)?(?:chunks?\b|potongan\b|\[\d)"
    r"|\b(?:when|if|jika|bila|kalau|saat) (?:asked|answering|ditanya|menjawab)\b[^.\n]{0,60}"
    rf"\b{_ANSWER}\b",
    re.IGNORECASE | re.MULTILINE,
)


_UNSEEN = re.compile(
    "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
"""Invisible characters, which would hide a word by dividing it."""


def gives_orders(text: str) -> bool:
    """Return whether a text speaks to a model that is to answer from it."""
    return _ORDERS.search(_UNSEEN.sub("", text)) is not None
