"""The main job as one straight line: documents -> mentions -> linker -> predictions in their context.

>>> import nomina
>>> linker = nomina.load()
>>> [p.candidates[0].entity_id for p in linker.link_text("She has short stature and had a seizure.")]
['HP:0004322', 'HP:0001250']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any, get_args

from nomina.context import Attributes, attributes, negation_triggers, says_absent
from nomina.detect import Detector, Overlaps, by_size
from nomina.errors import UsageError
from nomina.generation import is_generator
from nomina.kb.sources import resolve_kb
from nomina.kb.store import KnowledgeBase, Subset
from nomina.lexicon import Lexicon
from nomina.linkers import DEFAULT, ENCODING, FITTED, GENERATIVE, LINKERS
from nomina.linkers.base import Level, Linker, Rule
from nomina.linkers.cascade import CascadeLinker
from nomina.linkers.dictionary import DictionaryLinker
from nomina.linkers.fitted_cascade import is_cascade
from nomina.proposals import PHENOTYPES, SpanLinker, SpanModel
from nomina.text import trim
from nomina.types import Document, Mention, Prediction

_DOUBTFUL = 2  # characters
_MOST_CONCEPTS = 1000


class Pipeline:
    """Links raw texts, documents with or without mentions, and bare mentions. Made by ``load``.

    Args:
        linker: what ranks.
        detector: what finds mentions in documents that have none.
        k: how many concepts a prediction offers at most, up to 1,000 (a tie at the end is given whole).
        threshold: the score under which it abstains; the linker's own default where None.
        within: which rows and concepts may be answered.
        context: whether ``negated``, ``experiencer`` and ``hypothetical`` are looked for; if not, they keep their
            defaults.
        level: whether candidates are concepts, or names with their owners (see ``Linker.link``).
        spans: what finds and links phrases that the detector has nothing for; None: nothing does.
    """

    def __init__(
        self,
        linker: Linker,
        detector: Detector,
        *,
        k: int = 5,
        threshold: float | None = None,
        within: Subset | None = None,
        context: bool = True,
        level: Level = "concept",
        spans: SpanLinker | None = None,
    ) -> None:
        _check_options(k, threshold, level)
        self.linker, self.detector, self.spans = linker, detector, spans
        self.k, self.threshold, self.within = k, threshold, within
        self.context, self.level = context, level

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base that is linked to."""
        return self.linker.kb

    @property
    def loads(self) -> int:
        """How much it reads at a time, in loads of ``detect.by_size``: what its linker ranks together."""
        return self.linker.together // Linker.together

    def link_text(self, text: str, id: str = "text", *, k: int | None = None) -> list[Prediction]:
        """Find and link the mentions of one text; offsets are those of the text. An empty text has none.

        Args:
            text: what is read.
            id: of the document.
            k: how many concepts to offer at most; the pipeline's own where None.

        Raises:
            UsageError: it is no text, or such a k cannot be.
        """
        if not isinstance(text, str):
            raise UsageError(f"link_text takes one text, not {type(text).__name__}")
        return list(self.link([Document(id, text)], k=k))

    def link_mentions(self, mentions: Iterable[str], *, k: int | None = None) -> list[Prediction]:
        """Link mentions that stand alone, one prediction each, in order; document ids count from 0.

        A mention without a visible character is not linked: its prediction is an abstention. ``k`` as in ``link_text``.

        Raises:
            UsageError: a single text, a mention that is none, or a k that cannot be.
        """
        if isinstance(mentions, str) or not isinstance(mentions, Iterable):
            raise UsageError(f"link_mentions takes a list of texts, not {type(mentions).__name__}: write [...] around")
        wanted = self._wanted(k)
        linked = self._linked((_as_document(number, mention) for number, mention in enumerate(mentions)), wanted)
        return [self._with(prediction, Attributes()) for prediction in linked]

    def link(self, documents: Iterable[Document], *, k: int | None = None) -> Iterator[Prediction]:
        """One prediction a mention, document by document; mentions are looked for in documents that have none.

        ``k`` as in ``link_text``.

        Raises:
            UsageError: something that is no ``Document``, or a k that cannot be.
        """
        wanted = self._wanted(k)
        stream = _documents(documents)
        while batch := by_size(stream, self.loads):
            bare = self.detector.mentions(document for document in batch if not document.mentions)
            ready = [document if document.mentions else next(bare) for document in batch]
            predictions = self._linked(ready, wanted)
            detected = [new for given, new in zip(batch, ready, strict=True) if not given.mentions]
            phrases = self._phrases(detected, wanted)
            for given, document in zip(batch, ready, strict=True):
                own: Iterable[Prediction] = islice(predictions, len(document.mentions))
                if not given.mentions:
                    own = _in_order(map(self._doubted, own), next(phrases))
                yield from self._in_context(document.text, own) if self.context else own

    def _wanted(self, k: int | None) -> int:
        if k is not None:
            _check_options(k, None, self.level)
        return self.k if k is None else k

    def _linked(self, documents: Iterable[Document], k: int) -> Iterator[Prediction]:
        return self.linker.link(documents, k=k, threshold=self.threshold, within=self.within, level=self.level)

    def _phrases(self, documents: list[Document], k: int) -> Iterator[Sequence[Prediction]]:
        """Predictions of what the detector has nothing for, by document."""
        if self.spans is None:
            return iter([()] * len(documents))
        return iter(self.spans.link(documents, k=k, threshold=self.threshold, level=self.level))

    def _doubted(self, prediction: Prediction) -> Prediction:
        """Abstain from two letters found in a text that does not define them: "MI" may be a state, "RA" the room's air.

        A threshold of the caller's takes the place of this doubt as well.
        """
        if self.threshold is not None or len(prediction.mention.text) > _DOUBTFUL or prediction.abstained:
            return prediction
        defined = prediction.candidates[0].rule == Rule.ABBREVIATION.label
        return prediction if defined else replace(prediction, abstained=True)

    def _in_context(self, text: str, predictions: Iterable[Prediction]) -> Iterator[Prediction]:
        predictions = list(predictions)
        found = attributes(text, [(p.mention.start, p.mention.end) for p in predictions])
        for said, prediction in zip(found, predictions, strict=True):
            yield self._with(prediction, said)

    def _with(self, prediction: Prediction, said: Attributes) -> Prediction:
        """A prediction with what its text says of it, and what its mention says itself."""
        if self.context and _denies_itself(prediction):
            said = said._replace(negated=True)
        return replace(prediction, **said._asdict()) if said != Attributes() else prediction


def _check_options(k: int, threshold: float | None, level: Level) -> None:
    if not isinstance(k, Integral) or not 1 <= k <= _MOST_CONCEPTS:
        raise UsageError(f"k must be a whole number from 1 to {_MOST_CONCEPTS:,}, not {k!r}")
    if threshold is not None and not (isinstance(threshold, Real) and 0 <= threshold <= 1):
        raise UsageError(f"threshold must be a number from 0 to 1, not {threshold!r}")
    if level not in get_args(Level):
        raise UsageError(f"no level {level!r}; there are: {', '.join(get_args(Level))}")


def _documents(given: Iterable[Document]) -> Iterator[Document]:
    others = "link_text takes a text, link_mentions a list of mentions"
    if not isinstance(given, Iterable):
        raise UsageError(f"link takes documents, not {type(given).__name__}: {others}")
    for document in given:
        if not isinstance(document, Document):
            raise UsageError(f"link takes nomina.Document objects, not {type(document).__name__}: {others}")
        yield document


def _in_order(detected: Iterable[Prediction], phrases: Sequence[Prediction]) -> list[Prediction]:
    """By start, the longer first; those of mentions keep their order among themselves."""
    return sorted([*detected, *phrases], key=lambda p: (p.mention.start, -p.mention.end)) if phrases else list(detected)


def _denies_itself(prediction: Prediction) -> bool:
    """Whether a mention denies what it is linked to: "no ataxia" as Ataxia, but not "no tears" as Absent tears."""
    if not prediction.candidates or prediction.candidates[0].rule != Rule.EMBEDDING.label:
        return False
    triggers = negation_triggers(prediction.mention.text)
    return bool(triggers) and triggers[0][0] == 0 and not says_absent(prediction.candidates[0].name)


def _as_document(number: int, mention: str) -> Document:
    if not isinstance(mention, str):
        raise UsageError(f"mention {number} (from 0) is no text but {type(mention).__name__}")
    text = mention or " "
    start, end = trim(text, 0, len(text))
    span = (start, end) if start < end else (0, len(text))
    return Document(str(number), text, (Mention((span,), mention[slice(*span)]),))


def load(
    linker: str | Path = DEFAULT,
    kb: str | Path | KnowledgeBase = "hpo",
    *,
    k: int = 5,
    threshold: float | None = None,
    under: str | Iterable[str] = (),
    types: str | Iterable[str] = (),
    overlaps: Overlaps = "longest",
    context: bool = True,
    level: Level = "concept",
    progress: Callable[[int, int], None] | None = None,
    spans: bool | None = None,
    beams: int | None = None,
    alone: bool = False,
    candidates: str | Path | None = None,
    batch: int | None = None,
) -> Pipeline:
    """A ready linker.

    Args:
        linker: a name out of ``nomina.linkers.LINKERS``, or the folder of an encoder, exported or saved: the default,
            ``cascade``, with that encoder in place of nomina's own. Of a generator: the linker that writes names. Of a
            cascade that was fitted (``nomina cascade``): that one.
        kb: an opened KB, the file of one, or the name of one (``hpo``, the embedded default: built on first use).
        k: how many concepts to offer for a mention at most, up to 1,000.
        threshold: the score under which the linker abstains (its own default where None).
        under: answer only with concepts under this id or these ids, themselves included.
        types: answer only with concepts of this type or these types.
        overlaps: which of overlapping mentions to find, ``longest`` or ``all`` (see ``Detector``).
        context: whether to look for negation, experiencer and what is only thought of.
        level: ``concept``, or ``name`` to offer k names as the published systems do, each with all its concepts.
        progress: told how many names of the KB are encoded, of how many: once a KB and encoder, when a mention first
            needs it.
        spans: whether to find phrases that the dictionary misses too, by the encoder (see ``nomina.proposals``); by
            default where the KB is of phenotypes, for which that was measured, and the encoder has a model for it.
        beams: of a generator: names that are searched for at a time, and so found at most; 5 where None.
        alone: of a generator: read mentions without the text around, as one that was trained so does in any case.
        candidates: of a generator: a linker or an encoder's folder, whose best names it scores; nothing is searched.
        batch: of a generator: mentions at a time, on a GPU by its memory where None; answers stay the same.

    Raises:
        ArtifactError: the folder holds neither encoder nor generator, or nomina's own is missing.
        UsageError: an option with a value it cannot have, or ``spans`` of a linker that has no model for it.
        KnowledgeBaseError: no such KB, or an id or type that it does not have.
    """
    _check_options(k, threshold, level)
    _check_linker(linker)
    asked = _asked(linker, beams, alone, candidates, batch)
    if not (spans is None or isinstance(spans, bool)):
        raise UsageError(f"spans must be True, False or None, not {spans!r}")
    base = kb if isinstance(kb, KnowledgeBase) else resolve_kb(kb)
    under, types = ((value,) if isinstance(value, str) else tuple(value) for value in (under, types))
    within = base.subset(under, types) if under or types else None
    ranker = _linker(linker, base, progress, asked)
    detector = Detector(_lexicon(ranker), overlaps, None if within is None else within.rows)
    phrases = _span_linker(ranker, within, spans)
    return Pipeline(
        ranker, detector, k=k, threshold=threshold, within=within, context=context, level=level, spans=phrases
    )


def _lexicon(linker: Linker) -> Lexicon:
    """Of a linker's dictionary, or of its KB where it has none."""
    known = getattr(linker, "dictionary", linker)
    return known.lexicon if isinstance(known, DictionaryLinker) else Lexicon.open(linker.kb)


def _span_linker(linker: Linker, within: Subset | None, wanted: bool | None) -> SpanLinker | None:
    """What finds phrases; where nothing is said, only in a KB of phenotypes."""
    if wanted is False or (wanted is None and PHENOTYPES not in linker.kb):
        return None
    if isinstance(linker, CascadeLinker) and linker.model is not None:
        model = SpanModel.read(linker.model)
        if model is not None:
            return SpanLinker(linker, model, within)
    if wanted:
        raise UsageError("phrases are judged by an exported encoder with a spans.json: leave spans out, or name it")
    return None


def _check_linker(linker: str | Path) -> None:
    if linker in LINKERS or Path(linker).is_dir():
        return
    if Path(linker).exists():
        raise UsageError(f"{linker} is a file: name the folder of an encoder, or one of {', '.join(LINKERS)}")
    if {"/", "\\"} & set(str(linker)) or str(linker).startswith(("~", ".")):
        raise UsageError(f"no such folder: {linker}; name the folder of an encoder, or one of {', '.join(LINKERS)}")
    raise UsageError(f"no linker {str(linker)!r}; there are: {', '.join(LINKERS)}, or the folder of an encoder")


def _asked(
    linker: str | Path, beams: int | None, alone: bool, candidates: str | Path | None, batch: int | None
) -> dict[str, Any]:
    """How a generator is asked, as ``GenerativeLinker`` is told, the candidates by name; what is not said is left out.

    Raises:
        UsageError: something is said, and the linker is no generator; or what is said does not go together.
    """
    said = {"beams": beams, "context": False if alone else None, "candidates": candidates, "batch": batch}
    said = {name: value for name, value in said.items() if value is not None}
    if not said:
        return {}
    if linker in LINKERS or is_cascade(linker) or not is_generator(linker):
        raise UsageError(
            "beams, alone, candidates and batch are for a generator: name its folder as the linker, or leave them out"
        )
    for name, value in (("beams", beams), ("batch", batch)):
        if value is not None and not (isinstance(value, Integral) and value >= 1):
            raise UsageError(f"{name} must be a whole number from 1 on, not {value!r}")
    if candidates is not None:
        if beams is not None:
            raise UsageError("beams search all names, of candidates all are scored: leave beams or candidates out")
        _check_linker(candidates)
        if candidates not in LINKERS and (is_cascade(candidates) or is_generator(candidates)):
            raise UsageError(
                f"{candidates} offers no candidates: name the folder of an encoder, or {', '.join(LINKERS)}"
            )
    return said


def _linker(
    linker: str | Path, kb: KnowledgeBase, progress: Callable[[int, int], None] | None, asked: dict[str, Any]
) -> Linker:
    """The linker of that name; a folder of that name is written ``./name``. ``asked`` is of a generator."""
    if linker in LINKERS:
        options = {"progress": progress} if linker in ENCODING else {}
        return _class(LINKERS[str(linker)])(kb, **options)
    if is_cascade(linker):
        return _class(FITTED)(kb, linker, progress)
    if is_generator(linker):
        if (name := asked.get("candidates")) is not None:
            asked = asked | {"candidates": _offering(name, kb, progress)}
        return _class(GENERATIVE)(kb, linker, progress=progress, **asked)
    return CascadeLinker(kb, linker, progress=progress)


def _offering(name: str | Path, kb: KnowledgeBase, progress: Callable[[int, int], None] | None) -> Linker:
    """What offers candidates: the linker of that name, or one of the nearest names by the encoder in a folder."""
    if name in LINKERS:
        return _linker(name, kb, progress, {})
    return _class(LINKERS["embedding"])(kb, name, progress=progress)


def _class(path: str) -> Callable[..., Linker]:
    module, name = path.rsplit(".", 1)
    found: Callable[..., Linker] = getattr(import_module(module), name)
    return found
