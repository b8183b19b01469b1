"""Gold mentions paired with the predictions made for them.

A prediction belongs to the mention of the same document and the same spans. Where several mentions stand at one place,
those of different texts are told apart by it (BioSyn's parts of a composite), those of one text by their order; a
single prediction answers all that look alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from nomina.errors import UsageError
from nomina.evaluation.ids import Gold, IdMap
from nomina.types import Document, Mention, Prediction, Span

Place = tuple[str, tuple[Span, ...]]
"""Document id and spans."""


class Item(NamedTuple):
    """One thing to be got right: a gold mention, or all parts of a composite, with what was predicted.

    Attributes:
        document_id: Its document.
        mention: The first part; its text is that of all parts joined by ``|``.
        predictions: One a part, in the order of the parts; () where one or all are missing.
        gold: Parts that are all needed, each with ids any of which will do, in the form of ``ids.IdMap``; () = NIL.
    """

    document_id: str
    mention: Mention
    predictions: tuple[Prediction, ...]
    gold: Gold


class Paired(NamedTuple):
    """Items in the order of the corpus; predictions at places where gold has no mention."""

    items: list[Item]
    elsewhere: list[Prediction]


def items_of(documents: Iterable[Document], ids: IdMap) -> list[Item]:
    """The items of documents, without predictions."""
    return [item for document in documents for item in _items(document, ids, {})]


def pair(
    documents: Sequence[Document],
    predictions: Iterable[Prediction],
    ids: IdMap,
    *,
    name: str = "the predictions",
    dropped: Iterable[Place] = (),
    anywhere: bool = False,
) -> Paired:
    """Each item of the documents with its predictions.

    Args:
        documents: With gold.
        predictions: In any order.
        ids: Gives gold the form in which it is compared.
        name: What errors call the predictions.
        dropped: Places whose predictions are passed over: the protocol does not ask for them.
        anywhere: Whether predictions may stand where gold has no mention, as those made from raw text do.

    Raises:
        UsageError: predictions for mentions or documents that gold does not have, two for one mention, candidates that
            are not in the order of their ranks, no prediction at all.
    """
    found: dict[Place, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        found[prediction.document_id, prediction.mention.spans].append(_checked(prediction, name))
    for place in dropped:
        found.pop(place, None)
    asked: dict[Place, list[Mention]] = defaultdict(list)
    for document in documents:
        for mention in document.mentions:
            asked[document.id, mention.spans].append(mention)
    elsewhere = [place for place in found if place not in asked]
    _check_corpus(found, elsewhere, {document.id for document in documents}, name, anywhere)
    answers = {place: iter(_answers(place, asked[place], found.get(place, []), name)) for place in asked}
    items = [item for document in documents for item in _items(document, ids, answers)]
    return Paired(items, [prediction for place in elsewhere for prediction in found[place]])


def _checked(prediction: Prediction, name: str) -> Prediction:
    ranks = [candidate.rank for candidate in prediction.candidates]
    if ranks and (ranks[0] < 1 or ranks != sorted(ranks)):
        raise UsageError(f"{name}: the candidates of {_where(prediction)} are not in the order of ranks from 1 on")
    return prediction


def _where(prediction: Prediction) -> str:
    mention = prediction.mention
    return f"document {prediction.document_id!r}, mention {mention.start}-{mention.end}"


def _check_corpus(
    found: Mapping[Place, Sequence[Prediction]],
    elsewhere: Sequence[Place],
    documents: set[str],
    name: str,
    anywhere: bool,
) -> None:
    """Refuse predictions of which some, or where they may stand anywhere all, cannot be of this corpus."""
    if not found:
        raise UsageError(f"{name} holds no prediction for this corpus")
    total = sum(map(len, found.values()))
    foreign = sum(len(found[place]) for place in elsewhere)
    if anywhere:
        elsewhere = [place for place in elsewhere if place[0] not in documents]
        foreign = sum(len(found[place]) for place in elsewhere)
        if foreign:
            first = f"the first is of document {elsewhere[0][0]!r}"
            raise UsageError(
                f"{name} is for another corpus: {foreign:,} of {total:,} predictions are of documents"
                f" that are not in the gold file; {first}"
            )
    elif foreign:
        first = _where(found[elsewhere[0]][0])
        here = any(document in documents for document, _ in elsewhere)
        advice = "; if mentions were found in raw text, use --end-to-end" if here else ""
        raise UsageError(
            f"{name} is for another corpus: {foreign:,} of {total:,} mentions are not in the gold file, the first is"
            f" {first}{advice}"
        )


def _answers(
    place: Place, mentions: Sequence[Mention], predictions: Sequence[Prediction], name: str
) -> list[Prediction | None]:
    """The prediction for each of the mentions at one place, in their order; None where there is none."""
    texts = {mention.text for mention in mentions}
    if len(predictions) == 1 and len(texts) == 1:
        return [predictions[0]] * len(mentions)
    if len(predictions) > len(mentions):
        raise UsageError(
            f"{name} holds {len(predictions)} predictions for {_where(predictions[0])}, where the gold file has"
            f" {len(mentions)}: keep one for each mention"
        )
    if len(texts) == 1 or not texts.issuperset(prediction.mention.text for prediction in predictions):
        if len(texts) > 1 and len(predictions) != len(mentions):
            raise UsageError(
                f"{name}: the texts of the predictions for {_where(predictions[0])} are not those of the gold mentions"
            )
        return [*predictions, *[None] * (len(mentions) - len(predictions))]
    left = list(predictions)
    answers = []
    for mention in mentions:
        answer = next((prediction for prediction in left if prediction.mention.text == mention.text), None)
        if answer is not None:
            left.remove(answer)
        answers.append(answer)
    return answers


def _items(document: Document, ids: IdMap, answers: Mapping[Place, Iterator[Prediction | None]]) -> Iterator[Item]:
    """The items of a document, a composite where its first part stands."""
    alike: dict[tuple[object, object], list[int]] = defaultdict(list)
    for i, mention in enumerate(document.mentions):
        alike[mention.spans, mention.gold].append(i)
    given = [next(answers.get((document.id, mention.spans), iter(())), None) for mention in document.mentions]
    for i, mention in enumerate(document.mentions):
        group = alike[mention.spans, mention.gold]
        if len({document.mentions[j].text for j in group}) == 1:
            group = [i]
        if i == group[0]:
            yield _item(document, group, [given[j] for j in group], ids)


def _item(document: Document, group: Sequence[int], given: Sequence[Prediction | None], ids: IdMap) -> Item:
    mention = document.mentions[group[0]]
    if len(group) > 1:
        mention = replace(mention, text="|".join(document.mentions[j].text for j in group))
    made = tuple(prediction for prediction in given if prediction is not None)
    return Item(document.id, mention, made if len(made) == len(group) else (), ids.gold(mention.gold))
