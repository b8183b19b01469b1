"""``experiments/strata_counts.py``: ids that MeSH has replaced, and what is counted."""

from nomina.types import Document, Mention

LIST = """\
'MESH:C055162' : 'MESH:D000077144'
'MESH:C562388' : 'OMIM:109730' #  'OMIM:614823', 'MESH:D000082882'
'MESH:C1' : 'MESH:D1' # 'MESH:D2'
"""


def script(monkeypatch, request):
    monkeypatch.syspath_prepend(request.config.rootpath / "experiments")
    import strata_counts

    return strata_counts


def test_ids_are_brought_up_to_date_within_mesh(monkeypatch, request, tmp_path):
    counts = script(monkeypatch, request)
    (tmp_path / "chemical.yaml").write_text(LIST, encoding="utf-8")
    new = counts.replaced(tmp_path)
    assert new == {"C055162": "D000077144", "C1": "D1"}
    document = Document("d", "x and y", (Mention(((0, 1),), "x", None, (("C1",), ("C3",))),))
    assert counts.updated([document], new)[0].mentions[0].gold == (("D1",), ("C3",))


def test_mentions_without_an_id_are_not_counted_dropped_ones_are_told(monkeypatch, request, make_kb):
    counts = script(monkeypatch, request)
    kb = make_kb({"D1": "Fits", "D2": "Cramp"})
    text = "fits cramps xyz abc"
    golds = [(("D1",),), (("D2",),), (("D9",),), (("-1",),)]
    spans = [(0, 4), (5, 11), (12, 15), (16, 19)]
    mentions = tuple(Mention((s,), text[slice(*s)], None, gold) for s, gold in zip(spans, golds, strict=True))
    test, train = [Document("d", text, mentions)], [Document("e", text, mentions[:1])]
    prepared = counts.counted(test, train, kb, "as-published-generative")
    assert (prepared["train"], prepared["dropped"]) == (1, {"not in the KB": 1})
    assert prepared["strata"]["genbioel"] == {
        "overall": 2, "single word": 2, "unseen mention": 1, "unseen concept": 1, "not direct match": 1,
        "top 100 concepts": 1,
    }  # fmt: skip
    assert counts.counted(test, train, kb, "clean-raw")["strata"]["genbioel"]["overall"] == 3
