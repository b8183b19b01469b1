from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomina.sentences import starts


def split(text: str) -> list[str]:
    bounds = [0, *starts(text), len(text)]
    return [text[a:b].strip() for a, b in pairwise(bounds)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("He fell. She ran! Why? Nobody knows.", ["He fell.", "She ran!", "Why?", "Nobody knows."]),
        ("Seen by Dr. Smith on 3.5. He left.", ["Seen by Dr. Smith on 3.5.", "He left."]),
        ("Signs (e.g. ptosis, i.e. droop) vs. Controls.", ["Signs (e.g. ptosis, i.e. droop) vs. Controls."]),
        ("E. coli grew. See Fig. 3 and No. 5.", ["E. coli grew.", "See Fig. 3 and No. 5."]),
        ("He said no. 5 mg given.", ["He said no. 5 mg given."]),
        ("He said no. Fever came.", ["He said no.", "Fever came."]),
        ("no fever. has cough.", ["no fever.", "has cough."]),
        ("(See below.) Then [2] came.", ["(See below.)", "Then [2] came."]),
        ("Reported by Smith et al. (2003) twice.", ["Reported by Smith et al. (2003) twice."]),
        ("Exam:\nHypotonia\nNo fever", ["Exam:\nHypotonia", "No fever"]),
        ("Seizures\n- ataxia\n- tremor", ["Seizures", "- ataxia", "- tremor"]),
        ("Findings\n\nataxia", ["Findings", "ataxia"]),
        ("a line that was wrapped by some program where it was\nlong enough", None),
        ("a line that was wrapped by some program right before a\nName of a disease", None),
        ("HEENT: normal\nheart: normal\r\nSkin: clear", ["HEENT: normal", "heart: normal", "Skin: clear"]),
        ("", [""]),
    ],
)
def test_sentences(text, sentences):
    assert split(text) == ([text] if sentences is None else sentences)


def test_a_part_of_a_text():
    text = "One. Two. Three."
    assert starts(text, 5) == [10]
    assert starts(text, 0, 9) == [5]
    assert starts(text, 5, 9) == []


@given(st.text(alphabet="aB1.!? \n\r\t:-)", max_size=60))
def test_starts_are_places_in_order_behind_white_space(text):
    found = starts(text)
    assert found == sorted(set(found))
    assert all(0 < start <= len(text) and text[start - 1].isspace() for start in found)
