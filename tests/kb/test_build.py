from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nomina import text
from nomina.errors import KnowledgeBaseError
from nomina.files import sha256
from nomina.kb import stage
from nomina.kb.build import BuildOptions, build, build_from_files
from nomina.kb.schema import Counts
from nomina.kb.store import KnowledgeBase
from nomina.types import SCOPES, Entity, Name, Retired

DATA = Path(__file__).parent / "data"


def test_rows_are_distinct_keys_numbered_by_first_appearance(heart: KnowledgeBase) -> None:
    assert list(heart.names) == ["disease", "heart disease", "mi", "mitral insufficiency", "round", "and round"]
    assert list(heart.surfaces()) == [
        "Disease",
        "heart-disease",
        "MI",
        "Mitral insufficiency",
        "Round",
        "And round",
    ]


def test_counts(heart: KnowledgeBase) -> None:
    assert heart.manifest.counts == Counts(
        concepts=6, names=9, rows=6, homonyms=1, retired=5, merged=0, missing_parents=1, nameless=1
    )


def test_preferred_name_comes_first_and_the_rest_keep_their_order(heart: KnowledgeBase) -> None:
    assert heart["T:2"].names == (
        Name("Heart disease", kind="preferred"),
        Name("heart-disease", "broad", "layperson", "talk"),
        Name("Heart Disease", "narrow"),
        Name("MI", kind="abbreviation"),
    )


def test_records_with_the_same_id_become_one(made) -> None:
    kb = made(
        Entity("X:1", (Name("a", kind="preferred"), Name("b")), None, ("t",), ("X:2",), ("U:1",), ("X:8",)),
        Entity("X:2", (Name("c"),)),
        Entity("X:1", (Name("b"), Name("d", kind="preferred"), Name("a")), "def", ("t", "u"), (), ("U:2",), ("X:9",)),
    )
    assert kb["X:1"] == Entity(
        "X:1",
        (Name("a", kind="preferred"), Name("b"), Name("d")),
        "def",
        ("t", "u"),
        ("X:2",),
        ("U:1", "U:2"),
        ("X:8", "X:9"),
    )
    assert list(kb) == ["X:1", "X:2"]
    assert list(kb.names) == ["a", "b", "c", "d"]
    assert kb.manifest.counts.merged == 1


def test_only_under_a_root(made) -> None:
    records = (
        Entity("X:0", (Name("all"),)),
        Entity("X:1", (Name("a"),), parents=("X:0",), retired_ids=("X:10",)),
        Entity("X:2", (Name("b"),), parents=("X:1",)),
        Entity("X:3", (Name("c"),), parents=("X:2", "X:4")),
        Entity("X:4", (Name("d"),), parents=("X:0",), retired_ids=("X:40",)),
    )
    kb = made(*records, root=("X:1",))
    assert list(kb) == ["X:1", "X:2", "X:3"]
    assert list(kb.names) == ["a", "b", "c"]
    assert [owner.number for row in range(3) for owner in kb.owners_of(row)] == [0, 1, 2]
    assert (kb.resolve("X:10"), kb.resolve("X:40")) == ("X:1", None)
    assert (kb.manifest.counts.filtered, kb.manifest.counts.missing_parents) == (2, 0)
    assert kb.manifest.root == ("X:1",)
    assert list(made(*records, root=("X:2", "X:4"))) == ["X:2", "X:3", "X:4"]


def test_only_of_types(made) -> None:
    records = (
        Entity("X:1", (Name("a"),), types=("t", "u")),
        Entity("X:2", (Name("b"),), types=("v",)),
        Entity("X:3", (Name("c"),)),
        Entity("X:3", (Name("d"),), types=("u",)),
    )
    assert list(made(*records, types=("u",))) == ["X:1", "X:3"]
    assert list(made(*records, types=("v", "t"))) == ["X:1", "X:2"]
    assert list(made(*records, types=("u",), root=("X:3",))) == ["X:3"]
    with pytest.raises(KnowledgeBaseError, match="no type 'w'; it has: t, u, v"):
        made(*records, types=("w",))


def test_unknown_root_and_nothing_to_look_up_are_refused(made, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="root 'X:9' is not a concept"):
        made(Entity("X:1", (Name("a"),)), root=("X:9",))
    for records in ((), (Retired("X:1"),), (Entity("X:1"),)):
        with pytest.raises(KnowledgeBaseError, match="no names"):
            made(*records)
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_invisible_characters(made) -> None:
    records = Entity("X:1", (Name("\u200b"), Name("a"))), Entity("X:2", (Name("+"),))
    with pytest.raises(KnowledgeBaseError, match=r"X:1.*no visible character"):
        made(*records)
    kb = made(*records, lenient=True)
    assert (list(kb.names), kb.manifest.counts.problems) == (["a", "+"], 1)


def test_fingerprint_is_that_of_the_content(made, monkeypatch: pytest.MonkeyPatch) -> None:
    def content(**changes: object) -> tuple[Entity, ...]:
        fields = {"names": (Name("a"), Name("b", "broad")), "parents": ("X:2",), "types": ("t",)} | changes
        return Entity("X:1", **fields), Entity("X:2", (Name("c"),))  # type: ignore[arg-type]

    first = made(*content(), name="one").fingerprint
    assert made(*content(), name="two").fingerprint == first
    changed = [
        {"names": (Name("a"), Name("b"))},
        {"names": (Name("A"), Name("b", "broad"))},
        {"names": (Name("b", "broad"), Name("a"))},
        {"names": (Name("a"), Name("b", "broad", source="s"))},
        {"parents": ()},
        {"types": ("u",)},
        {"definition": "d"},
        {"retired_ids": ("X:0",)},
    ]
    others = [made(*content(**change), name="other").fingerprint for change in changed]
    assert len({first, *others}) == len(changed) + 1
    monkeypatch.setattr("nomina.kb.finish.NORMALISER_VERSION", "other")
    monkeypatch.setattr("nomina.kb.build.NORMALISER_VERSION", "other")
    monkeypatch.setattr("nomina.kb.opening.NORMALISER_VERSION", "other")
    assert made(*content(), name="normaliser").fingerprint not in {first, *others}


FINGERPRINT = "5f9651e0f8e07cc144cb50c5404365f7"


def test_fingerprint_of_the_tiny_file_is_the_same_on_any_machine(tmp_path: Path) -> None:
    kb = build_from_files(tmp_path / "a.kb", [DATA / "tiny.obo"])
    assert kb.fingerprint == FINGERPRINT
    assert kb.lineage == (FINGERPRINT,)


def test_several_files_become_one_kb_with_each_described(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    own.write_text("id\tname\nT:2\tticker trouble\nT:7\tnew\n", encoding="utf-8")
    kb = build_from_files(tmp_path / "a.kb", [DATA / "tiny.obo", own])
    assert [entity.id for entity in kb.lookup("ticker trouble")] == ["T:2"]
    assert kb["T:2"].name == "Heart disease"
    assert kb["T:2"].names[-1] == Name("ticker trouble")
    obo, table = kb.manifest.sources
    assert (obo.file, obo.format, obo.sha256, obo.imports) == ("tiny.obo", "obo", sha256(DATA / "tiny.obo"), 1)
    assert (table.file, table.format, table.release) == ("own.tsv", "table", None)
    assert (kb.manifest.name, kb.manifest.release, kb.manifest.licence) == (
        "a",
        "tiny/2024-02-29",
        "https://example.org/licence",
    )


def test_a_failing_source_leaves_the_old_file_whole(made, tmp_path: Path) -> None:
    kb = made(Entity("X:1", (Name("a"),)))
    before = kb.path.read_bytes()

    def failing() -> Iterator[Entity]:
        yield Entity("X:2", (Name("b"),))
        raise RuntimeError("source gone")

    with pytest.raises(RuntimeError, match="source gone"):
        build(kb.path, failing())
    assert kb.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [kb.path]


def test_never_writes_over_what_is_no_kb(tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text("id\tname\nX:1\ta\n", encoding="utf-8")
    with pytest.raises(KnowledgeBaseError, match="exists and is not a KB"):
        build_from_files(source, [source])
    with pytest.raises(KnowledgeBaseError, match="is a folder"):
        build_from_files(tmp_path, [source])
    assert source.read_text(encoding="utf-8").startswith("id\tname")
    empty = tmp_path / "empty.kb"
    empty.touch()
    assert len(build_from_files(empty, [source])) == 1


def test_a_folder_that_is_missing_or_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "no" / "a.kb", tmp_path / "file" / "a.kb"):
        with pytest.raises(KnowledgeBaseError, match=r"cannot write .*choose another place"):
            build(path, [Entity("X:1", (Name("a"),))])


def test_progress_is_told_at_each_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_BATCH", 2)
    told: list[tuple[str, int]] = []
    records = [Entity(f"X:{i}", (Name(f"name {i}"),)) for i in range(5)]
    build(tmp_path / "a.kb", records, progress=lambda doing, count: told.append((doing, count)))
    assert told == [("reading", 2), ("reading", 4), ("sorting", 5), ("writing", 5)]


words = st.text("ab é-β", min_size=1, max_size=4).filter(lambda word: word.strip(" -"))
names = st.builds(Name, words, st.sampled_from(SCOPES), st.sampled_from([None, "preferred", "plural"]))
entities = st.builds(Entity, st.sampled_from(["X:1", "X:2", "X:3", "X:4"]), st.lists(names, max_size=4).map(tuple))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(entities, min_size=1, max_size=6).filter(lambda found: any(one.names for one in found)))
def test_against_a_plain_dict_of_lists(records: list[Entity], tmp_path: Path) -> None:
    rows: dict[str, list[str]] = {}
    ids = list(dict.fromkeys(record.id for record in records))
    for record in records:
        for name in record.names:
            rows.setdefault(text.normalise(name.text), []).append(record.id)
    kb = build(tmp_path / "a.kb", records, BuildOptions("a"))
    assert list(kb) == ids
    assert list(kb.names) == list(rows)
    for number, (key, owners) in enumerate(rows.items()):
        assert kb.row(key) == number
        assert kb.owners(number) == tuple(sorted(set(owners), key=ids.index))
    merged = {id: [name for record in records if record.id == id for name in record.names] for id in ids}
    for id in ids:
        kept = {(name.text, name.scope) for name in merged[id]}
        assert {(name.text, name.scope) for name in kb[id].names} == kept
        assert sum(name.kind == "preferred" for name in kb[id].names) == any(n.kind == "preferred" for n in merged[id])
    assert list(kb.entities()) == list(kb.values())
