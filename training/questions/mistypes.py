"""Slips of the keyboard in questions."""


def mistype(question: str, seed: int) -> str:
    """Return a question with two neighbouring letters of a longer word exchanged, or one lost.

    Args:
        question: A question as written.
        seed: Decides which word, which letter and which slip.
    """
    words = question.split(" ")
    long = [place for place, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if not long:
        return question.lower()
    place = long[seed % len(long)]
    word = words[place]
    at = 1 + seed // 7 % (len(word) - 3)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    words[place] = swapped if seed // 3 % 2 else word[:at] + word[at + 1 :]
    return " ".join(words)
