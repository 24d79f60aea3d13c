from concurrent.futures import ThreadPoolExecutor

from fathom.models.memory import Memory


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    memory: Memory[str, str] = Memory(6, len)
    memory.keep({"a": "aa", "b": "bb", "c": "cc"})
    assert memory.known(["a", "x"]) == {"a": "aa"}

    memory.keep({"d": "dd"})

    assert memory.known("abcd") == {"a": "aa", "c": "cc", "d": "dd"}


def test_what_is_larger_than_all_room_is_not_kept() -> None:
    memory: Memory[str, str] = Memory(3, len)
    memory.keep({"a": "a", "b": "bbbb"})
    assert memory.known("ab") == {}
    memory.keep({"a": "a"})
    assert memory.known("ab") == {"a": "a"}


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    memory: Memory[str, str] = Memory(4, len)
    memory.keep({"a": "aaa"})
    memory.keep({"a": "aa", "b": "bb"})
    assert memory.known("ab") == {"a": "aa", "b": "bb"}


def test_threads_may_share_it() -> None:
    memory: Memory[int, int] = Memory(50, lambda _: 1)

    def work(first: int) -> None:
        for number in range(first, first + 2_000):
            memory.keep({number % 97: number % 97})
            assert all(key == value for key, value in memory.known(range(97)).items())

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(work, range(4)))
    assert len(memory.known(range(97))) == 50
