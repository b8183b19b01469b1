"""BioC: passages, sentences, ways of counting offsets; XML and JSON have to say the same."""

import json
from collections import Counter

import pytest

from nomina.corpora import corpus_format, read_corpus, write_corpus
from nomina.corpora.bioc import ID_KEYS
from nomina.errors import FormatError, UsageError
from nomina.types import Document, Mention, Section


def passage(offset, text, *annotations, sentences=(), **infons):
    return {
        "offset": offset,
        "text": text,
        "infons": infons,
        "annotations": list(annotations),
        "sentences": list(sentences),
    }


def annotation(text, *places, **infons):
    locations = [{"offset": offset, "length": length} for offset, length in places]
    return {"text": text, "infons": infons, "locations": locations}


def xml_of(document):
    """The same document in XML."""

    def infons(value):
        return "".join(f'<infon key="{key}">{infon}</infon>' for key, infon in value.items())

    def annotations(value):
        for one in value.get("annotations", ()):
            yield f"<annotation id='T'>{infons(one['infons'])}"
            yield from (f'<location offset="{p["offset"]}" length="{p["length"]}"/>' for p in one["locations"])
            yield "</annotation>" if one["text"] is None else f"<text>{one['text']}</text></annotation>\n"

    def passages(values, tag):
        for value in values:
            text = "" if value["text"] is None else f"<text>{value['text']}</text>"
            yield f"<{tag}>{infons(value['infons'])}<offset>{value['offset']}</offset>{text}"
            yield from passages(value["sentences"], "sentence")
            yield from (*annotations(value), f"</{tag}>\n")

    inner = "".join((*passages(document["passages"], "passage"), *annotations(document)))
    return f"<collection>\n<document><id>{document['id']}</id>{inner}</document></collection>"


@pytest.fixture(params=["bioc_xml", "bioc_json"])
def read(request, tmp_path):
    """The document of passages, and what was dropped; in both forms."""

    def reading(*passages, skip=None, annotations=(), **options):
        document = {"id": "1", "passages": list(passages), "annotations": list(annotations)}
        path = tmp_path / "a"
        text = xml_of(document) if request.param == "bioc_xml" else f'{{"documents": [\n{json.dumps(document)}]}}'
        path.write_text(text, encoding="utf-8")
        assert corpus_format(path)[0] == request.param
        dropped = Counter()
        documents = list(read_corpus(path, skip=skip, dropped=dropped, options=options))
        return documents[0] if documents else None, dropped

    return reading


def test_gaps_are_filled_with_spaces_so_that_offsets_hold(read):
    document, dropped = read(
        passage(2, "Ataxia", annotation("Ataxia", (2, 6), type="D", identifier="X"), type="title"),
        passage(11, "and"),
        passage(14, "fits", annotation("fits", (14, 4), type="D"), type="abstract"),
    )
    assert document == Document(
        "1",
        "  Ataxia   andfits",
        (Mention(((2, 8),), "Ataxia", "D", (("X",),)), Mention(((14, 18),), "fits", "D")),
        (Section(2, 8, "title"), Section(14, 18, "abstract")),
    )
    assert not dropped


def test_several_locations_are_several_spans(read):
    document, _ = read(
        passage(
            0,
            "breast and ovarian cancer",
            annotation("breast cancer", (19, 6), (0, 6), type="D"),
            annotation("breast ... cancer", (0, 6), (19, 6), type="D"),
        )
    )
    assert document.mentions == (
        Mention(((0, 6), (19, 25)), "breast cancer", "D"),
        Mention(((0, 6), (19, 25)), "breast ... cancer", "D"),
    )


@pytest.mark.parametrize(
    ("infons", "gold", "more"),
    [
        ({"identifier": "MESH:D1"}, (("MESH:D1",),), 0),
        ({"Identifier": "D1,D2"}, (("D1",), ("D2",)), 0),
        ({"MESH": "D1|D2"}, (("D1",), ("D2",)), 0),
        ({"NCBI Gene": "12", "NCBI Homologene": "34"}, (("12",),), 1),
        ({"Gene": "56"}, (("56",),), 0),
        ({"MESH": "D1", "identifier": "D2"}, (("D2",),), 1),
        ({"MESH": "D1", "identifier": ""}, (("D1",),), 1),
        ({"identifier": "-1", "type": "D"}, (("-1",),), 0),
        ({"note": "x"}, (), 1),
        ({}, (), 0),
    ],
)
def test_the_ids_stand_in_the_first_infon_that_may_hold_them(read, infons, gold, more):
    document, dropped = read(passage(0, "Ataxia", annotation("Ataxia", (0, 6), **infons)))
    assert document.mentions[0].gold == gold
    assert dropped["infons"] == more


def test_infons_that_hold_ids_and_names_are_options(read):
    given = passage(
        0, "Ataxia", annotation("Ataxia", (0, 6), my_id="X/Y", MESH="D"), type="front", section_type="TITLE"
    )
    document, _ = read(given)
    assert (document.mentions[0].gold, document.sections[0].name) == ((("D",),), "front")
    document, _ = read(given, id_key="my_id", alternatives="/", section_key="section_type,type")
    assert (document.mentions[0].gold, document.sections[0].name) == ((("X", "Y"),), "TITLE")
    assert ID_KEYS[0] == "identifier"


def test_sentences_make_a_passage(read):
    sentences = [
        passage(0, "Ataxia.", annotation("Ataxia", (0, 6))),
        passage(8, "No fits.", annotation("fits", (11, 4)), note="second"),
    ]
    expected = (Mention(((0, 6),), "Ataxia"), Mention(((11, 15),), "fits"))
    document, dropped = read(passage(0, None, sentences=sentences, type="abstract"), passage(17, "End"))
    assert document == Document("1", "Ataxia. No fits. End", expected, (Section(0, 16, "abstract"),))
    assert dropped == {"sentences": 2, "infons": 1}
    document, _ = read(passage(0, "Ataxia. No fits.", sentences=sentences))
    assert document == Document("1", "Ataxia. No fits.", expected)


GREEK = "γδ-rays"  # 7 characters, 9 bytes
ASTRAL = "𝑃 fits"  # 6 characters, 7 units of UTF-16, 9 bytes


@pytest.mark.parametrize(
    ("first", "second", "places", "counted"),
    [
        (GREEK, 8, [(3, 4), (8, 6)], 0),
        (GREEK, 10, [(5, 4), (10, 6)], 1),
        (ASTRAL, 7, [(2, 4), (7, 6)], 0),
        (ASTRAL, 8, [(3, 4), (8, 6)], 1),
        (ASTRAL, 10, [(5, 4), (10, 6)], 1),
        (GREEK, 8, [(3, 4), (0, 6)], 1),
        (GREEK, 0, [(3, 4), (0, 6)], 1),
    ],
    ids=["characters", "bytes", "characters", "utf-16", "bytes", "passages", "passages-at-0"],
)
def test_offsets_are_counted_as_the_annotations_say(read, first, second, places, counted):
    start = len(first) - 4
    document, dropped = read(
        passage(0, first, annotation(first[start:], places[0])),
        passage(second, "ataxia", annotation("ataxia", places[1])),
    )
    assert document == Document(
        "1",
        f"{first} ataxia",
        (
            Mention(((start, start + 4),), first[start:]),
            Mention(((len(first) + 1, len(first) + 7),), "ataxia"),
        ),
    )
    assert dropped["offsets"] == counted


def test_annotations_of_a_document_and_without_a_text_or_place(read):
    document, dropped = read(
        passage(0, "Ataxia"),
        annotations=[
            annotation(None, (0, 6)),
            annotation("", (0, 3)),
            annotation("fits"),
            annotation("Ataxia", (0, 6)),
        ],
    )
    assert [mention.text for mention in document.mentions] == ["Ataxia", "Ata", "Ataxia"]
    assert dropped == {"annotations without a place": 1}


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ([(1, 6)], "'Ataxia' is not what stands at 1-7, 'taxia.', nor if offsets count bytes"),
        ([(0, 60)], "the annotation 'Ataxia' at 0 is not in the text"),
        ([(0, 0)], "is not what stands at 0-0"),
        ([(0, 6), (3, 3)], "spans must be non-empty, sorted and apart"),
    ],
)
def test_an_annotation_that_does_not_stand_there(read, places, why):
    given = passage(0, "Ataxia. γ", annotation("Ataxia", *places), annotation("γ", (8, 1)))
    with pytest.raises(FormatError, match=f"document '1': .*{why}") as caught:
        read(given)
    assert caught.value.line == 2
    faults = []
    document, _ = read(given, skip=faults.append)
    assert document == Document("1", "Ataxia. γ", (Mention(((8, 9),), "γ"),))
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("passages", "why"),
    [
        (
            [passage(0, "Ataxia"), passage(3, "fits")],
            "the passage at 3 begins inside the one before it, which ends at 6",
        ),
        ([passage(10**9, "Ataxia")], "the passage at 1000000000 is too far on for a text"),
        ([passage("x", "Ataxia")], "number as offset"),
        ([passage(-1, "Ataxia")], "number as offset"),
        ([passage(0, "a", annotation("a", (0, "one")))], "number as offset and length"),
    ],
)
def test_passages_that_cannot_be_placed(read, passages, why):
    with pytest.raises(FormatError, match=why) as caught:
        read(*passages)
    assert caught.value.line is not None
    faults = []
    assert read(*passages, skip=faults.append)[0] is None
    assert len(faults) == 1


# What only one of the forms has


def of(tmp_path, text, format, **options):
    path = tmp_path / "a"
    path.write_text(text, encoding="utf-8")
    return list(read_corpus(path, format, **options))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<collection><document></document></collection>", ":1: a document without an id"),
        ("<collection><document><id> </id></document></collection>", "a document without an id"),
        ("<collection><document><id>1</id>", "is not well-formed XML"),
        ('<!DOCTYPE c [<!ENTITY a "b">]><collection></collection>', "brings its own DTD, which may hold entities"),
    ],
)
def test_faults_of_xml(tmp_path, text, why):
    with pytest.raises(FormatError, match=why):
        of(tmp_path, text, "bioc_xml")


DOCUMENT = '{"id": 7, "_id": "7|PMC", "infons": {}, "passages": [{"offset": 0, "infons": {}, "text": "Ataxia"}]}'
OTHER = DOCUMENT.replace("7", "8")
DOCUMENTS = [Document("7", "Ataxia"), Document("8", "Ataxia")]


@pytest.mark.parametrize(
    "text",
    [
        f'{{"documents": [{DOCUMENT}, {OTHER}]}}',
        f'{{"PubTator3": [{DOCUMENT}, {OTHER}]}}',
        f'[{{"bioctype": "BioCCollection", "documents": [{DOCUMENT}]}}, {{"documents": [{OTHER}]}}]',
        f"[{DOCUMENT}, {OTHER}]",
        f"\n{DOCUMENT}\n\n{OTHER}\n",
    ],
    ids=["collection", "pubtator3", "pmc", "list", "lines"],
)
def test_the_shapes_of_json(tmp_path, text):
    (tmp_path / "a").write_text(text, encoding="utf-8")
    assert corpus_format(tmp_path / "a")[0] == "bioc_json"
    assert of(tmp_path, text, "bioc_json") == DOCUMENTS


def test_one_document_over_several_lines(tmp_path):
    text = json.dumps(json.loads(DOCUMENT), indent=1)
    assert of(tmp_path, text, "bioc_json") == DOCUMENTS[:1]
    with pytest.raises(FormatError, match=r":\d+: is not JSON"):
        of(tmp_path, text[:-1], "bioc_json", skip=[].append)


def test_a_faulty_line_of_json_is_left_out_by_a_lenient_reading(tmp_path):
    faults = []
    assert of(tmp_path, f"{DOCUMENT}\n{DOCUMENT[:-1]}\n{OTHER}\n", "bioc_json", skip=faults.append) == DOCUMENTS
    assert [(fault.line, fault.why) for fault in faults] == [
        (2, "is not JSON (Expecting ',' delimiter in column 100)"),
    ]
    deep = DOCUMENT.replace("{}", "[" * 100_000, 1)
    with pytest.raises(FormatError, match="nested too deep"):
        of(tmp_path, f"{DOCUMENT}\n{deep}\n", "bioc_json")


def test_a_line_of_json_that_is_no_text_is_left_out_by_a_lenient_reading(tmp_path):
    path, faults = tmp_path / "a", []
    path.write_bytes(f"{DOCUMENT}\n".encode() + OTHER.encode().replace(b"PMC", b"PM\xe9") + b"\n")
    assert list(read_corpus(path, "bioc_json", skip=faults.append)) == DOCUMENTS[:1]
    assert [(fault.line, fault.why.endswith("is not UTF-8: save the file as UTF-8")) for fault in faults] == [(2, True)]
    path.write_bytes(json.dumps(json.loads(DOCUMENT), indent=1).encode().replace(b"PMC", b"PM\xe9"))
    faults.clear()
    assert list(read_corpus(path, "bioc_json", skip=faults.append)) == []
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"id": 7', '"id": null', "a document without an id"),
        ('"text": "Ataxia"', '"text": 7', "the text of a passage must be a text, not '7'"),
        ('"text": "Ataxia"', '"text": "\\ud83d"', "half a character"),
        ('"passages": [', '"passages": ["x", ', "passages must be a list of objects"),
        ('"infons": {}', '"infons": "x"', "infons must be an object, not 'x'"),
        ('"offset": 0', '"offset": true', "expected a number as offset and length, not True"),
        ('"text": "Ataxia"', '"annotations": [{"text": 1}]', "the text of an annotation must be a text"),
    ],
)
def test_faults_of_json(tmp_path, old, new, why):
    assert old in DOCUMENT
    with pytest.raises(FormatError, match=f":1: {why}"):
        of(tmp_path, f'{{"documents": [{DOCUMENT.replace(old, new, 1)}]}}', "bioc_json")


# Writing

WRITTEN = Document(
    "1",
    " A <b>\r\n cancer",
    (Mention(((1, 6),), "A <b>", "D", (("X",), ("Y",))), Mention(((1, 2), (9, 15)), "A cancer")),
    (Section(1, 6, "title"), Section(9, 15, "abs")),
)


def test_golden_xml(tmp_path):
    write_corpus([WRITTEN], tmp_path / "a", "bioc_xml")
    assert (tmp_path / "a").read_text(encoding="utf-8") == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection>\n'
        "<source></source>\n<date></date>\n<key></key>\n<document>\n<id>1</id>\n"
        '<passage>\n<infon key="type">title</infon>\n<offset>1</offset>\n<text>A &lt;b&gt;</text>\n'
        '<annotation id="0">\n<infon key="type">D</infon>\n<infon key="identifier">X|Y</infon>\n'
        '<location offset="1" length="5"/>\n<text>A &lt;b&gt;</text>\n</annotation>\n'
        '<annotation id="1">\n<location offset="1" length="1"/>\n<location offset="9" length="6"/>\n'
        "<text>A cancer</text>\n</annotation>\n</passage>\n"
        "<passage>\n<offset>6</offset>\n<text>&#13;\n </text>\n</passage>\n"
        '<passage>\n<infon key="type">abs</infon>\n<offset>9</offset>\n<text>cancer</text>\n</passage>\n'
        "</document>\n</collection>\n"
    )
    assert list(read_corpus(tmp_path / "a")) == [WRITTEN]


def test_golden_json(tmp_path):
    write_corpus([WRITTEN, Document("2", "x")], tmp_path / "a", "bioc_json")
    one, two = json.loads((tmp_path / "a").read_text(encoding="utf-8"))["documents"]
    assert [(p["offset"], p["text"], p["infons"]) for p in one["passages"]] == [
        (1, "A <b>", {"type": "title"}),
        (6, "\r\n ", {}),
        (9, "cancer", {"type": "abs"}),
    ]
    assert one["passages"][0]["annotations"] == [
        {
            "id": "0",
            "infons": {"type": "D", "identifier": "X|Y"},
            "text": "A <b>",
            "locations": [{"offset": 1, "length": 5}],
        },
        {
            "id": "1",
            "infons": {},
            "text": "A cancer",
            "locations": [{"offset": 1, "length": 1}, {"offset": 9, "length": 6}],
        },
    ]
    assert (two["id"], [p["text"] for p in two["passages"]]) == ("2", ["x"])
    assert list(read_corpus(tmp_path / "a")) == [WRITTEN, Document("2", "x")]


@pytest.mark.parametrize("format", ["bioc_xml", "bioc_json"])
def test_what_has_no_place_is_counted_or_refused(tmp_path, format):
    dropped = Counter()
    overlapping = Document("1", "a\x00c", (Mention(((0, 1),), "x"),), (Section(0, 2, "a"), Section(1, 3, "b")))
    write_corpus([overlapping], tmp_path / "a", format, dropped=dropped)
    assert dropped == {"sections": 2, "mention texts": 1, **({"control characters": 1} if format == "bioc_xml" else {})}
    (found,) = read_corpus(tmp_path / "a", format)
    assert (found.text, found.mentions[0].text) == ("a c" if format == "bioc_xml" else "a\x00c", "a")
    with pytest.raises(UsageError, match="document '1': the ids"):
        write_corpus([Document("1", "a", (Mention(((0, 1),), "a", None, (("x|y",),)),))], tmp_path / "b", format)
    assert not (tmp_path / "b").exists()
