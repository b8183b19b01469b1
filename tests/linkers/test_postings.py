import math
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.arrays import cached, read
from nomina.linkers import postings
from nomina.linkers.postings import build, is_whole, load, occurrences, write

NAMES = ["short stature", "stature", "mi", "q", "+", "aaaa", "löfgren s 症候群 𝛾", "short stature of child", "abcabdab"]
TEXTS = st.lists(st.text(st.characters(exclude_categories=()), min_size=1, max_size=12), min_size=1, max_size=12)


def grams(text):
    padded = f" {text} "
    return Counter(padded[i : i + 3] for i in range(len(text)))


def spelt(gram):
    return "".join(chr(gram >> shift & 0x1FFFFF) for shift in (42, 21, 0))


def counted(texts):
    found = occurrences(texts)
    counts = [Counter() for _ in texts]
    for gram, text, times in zip(found.gram.tolist(), found.text.tolist(), found.times.tolist(), strict=True):
        counts[text][spelt(int(found.grams[gram]))] += times
    return counts


def vector(names, text):
    """The normalised TF-IDF vector of a text by the definition."""
    rarity = Counter(gram for name in names for gram in grams(name))
    weights = {gram: n * math.log(1 + len(names) / max(1, rarity[gram])) for gram, n in grams(text).items()}
    length = math.sqrt(sum(w * w for w in weights.values()))
    return {gram: w / length for gram, w in weights.items()}


def same(a, b):
    return all(np.array_equal(x, y) and np.asarray(x).dtype == np.asarray(y).dtype for x, y in zip(a, b, strict=True))


def test_each_character_is_the_middle_of_one_gram():
    assert counted(["abc", "ab", "q", "aaaa", ""]) == [
        {" ab": 1, "abc": 1, "bc ": 1},
        {" ab": 1, "ab ": 1},
        {" q ": 1},
        {" aa": 1, "aaa": 2, "aa ": 1},
        {},
    ]


def test_no_texts_have_no_grams():
    assert [len(part) for part in occurrences([])] == [0, 0, 0, 0]


@given(TEXTS)
def test_grams_of_any_script_are_those_of_a_plain_loop(texts):
    assert counted(texts) == [grams(text) for text in texts]


def test_occurrences_are_ordered_by_gram_then_text():
    found = occurrences(NAMES)
    pairs = list(zip(found.gram.tolist(), found.text.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert np.all(np.diff(found.grams) > 0)


def test_weights_are_those_of_the_definition():
    made = build(NAMES)
    assert made.size == len(NAMES)
    found = [{} for _ in NAMES]
    for i, gram in enumerate(made.grams.tolist()):
        part = slice(made.starts[i], made.starts[i + 1])
        assert np.all(np.diff(made.rows[part]) > 0)
        for row, weight in zip(made.rows[part].tolist(), made.weights[part].tolist(), strict=True):
            found[row][spelt(gram)] = weight
    for row, name in enumerate(NAMES):
        assert found[row] == pytest.approx(vector(NAMES, name), abs=1e-6)


def test_the_size_of_a_chunk_changes_nothing(monkeypatch):
    whole = build(NAMES)
    for size in (1, 2, 4):
        monkeypatch.setattr(postings, "_CHUNK", size)
        assert same(build(NAMES), whole)


def test_a_file_holds_the_same_arrays_aligned_and_mapped(tmp_path):
    path = tmp_path / "a.postings"
    write(NAMES, path)
    found = load(read(path))
    assert same(found, build(NAMES))
    assert all(array.flags.aligned and not array.flags.writeable for array in found[1:])


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("NOMINA_HOME", str(tmp_path))
    (tmp_path / "tfidf").mkdir()
    return tmp_path / "tfidf" / "a.postings"


def kept(names=NAMES):
    return load(cached("tfidf", "a.postings", lambda to: postings.write(names, to), lambda a: is_whole(a, len(names))))


def test_a_file_is_made_once(path, monkeypatch):
    first = kept()
    monkeypatch.setattr(postings, "write", lambda *_: pytest.fail("made again"))
    assert same(kept(), first)


@pytest.mark.parametrize("damage", ["empty", "cut off", "cut in the head", "foreign", "other rows", "of other names"])
def test_a_damaged_file_is_made_anew(path, damage):
    kept([*NAMES, "one more"] if damage == "of other names" else NAMES)
    content = path.read_bytes()
    rows = kept().rows.tobytes()
    parts = {
        "empty": b"",
        "cut off": content[:-1],
        "cut in the head": content[:100],
        "foreign": b"x" * 5000,
        "other rows": content.replace(rows, b"\xff\xff\xff\x7f" * (len(rows) // 4)),
        "of other names": content,
    }
    path.write_bytes(parts[damage])
    assert (path.read_bytes() == content) == (damage == "of other names")
    assert same(kept(), build(NAMES))
    assert same(load(read(path)[:-1]), build(NAMES))


def test_a_writer_that_fails_leaves_nothing(path, monkeypatch):
    monkeypatch.setattr(postings, "_fill", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        kept()
    assert [left.name for left in path.parent.iterdir()] == ["a.postings.lock"]


def test_of_several_that_want_it_one_makes_it(path, monkeypatch):
    calls = []
    monkeypatch.setattr(postings, "write", lambda names, path: (calls.append(path), write(names, path)))
    found = []
    threads = [threading.Thread(target=lambda: found.append(kept())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(found) == 4
    assert all(same(one, build(NAMES)) for one in found)
