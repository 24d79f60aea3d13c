"""Detection of texts that give orders to a language model, in English and Indonesian.

Documents are written for people. A text that addresses a model (orders to forget its rules, forged
turns of a conversation, delimiters, replies or calls of tools) is not shown to a model. This check
stops simple attacks only. Any other text is given to a model as data between delimiters, and a
model's answer is used only if its words are verified in the documents.
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
"""Invisible characters, which may divide a word to hide it from the patterns."""


def gives_orders(text: str) -> bool:
    """Return whether a text addresses a model that is asked to answer from it.

    Invisible characters in the text are ignored.
    """
    return _ORDERS.search(_UNSEEN.sub("", text)) is not None
