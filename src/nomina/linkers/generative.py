"""Names as a model writes them: how likely a generator is to write each name of the KB for a mention in its context.

GenBioEL, 2.1: the encoder reads the mention in its context, the decoder writes token by token and only what is a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nomina import generation
from nomina.encoders.base import import_torch
from nomina.encoders.onnx import known
from nomina.errors import UsageError
from nomina.generation.batches import MOST, batch_size
from nomina.generation.opening import open_trie
from nomina.generation.prompt import Prompt, Prompted, padded
from nomina.generation.spelling import Spelling
from nomina.generation.trie import Within
from nomina.kb.store import KnowledgeBase
from nomina.linkers.base import NO_ROW, Linker, Ranking, Rule
from nomina.text import normalise
from nomina.types import Query

if TYPE_CHECKING:
    from nomina.generation.generator import Generator
    from nomina.generation.search import Asked, Batch

Ints = NDArray[np.int64]

CANDIDATES = 64
"""Names that another linker offers for a mention."""

_BATCHES = 8  # that are worth being asked for together, so that what is left of them goes on together
_MULTIPLE = 16
_FEWER = 4  # where candidates are scored, of which there are more at a time than beams


class GenerativeLinker(Linker):
    """Ranks KB names by the probability that a generator writes them; needs torch.

    Without ``candidates`` names are found by beam search over all names, at most ``beams`` of them for a mention (more
    rows where several names are tokenised alike). With ``candidates`` that linker's best names are all scored, and
    there is no search. A mention of which the tokenizer knows nothing has no candidate.

    A name of log-probability p has the score 1 / (1 - p): 1 for what is certain, 0.5 for one in e, and never 0. The
    ranking is that of the probabilities.

    Args:
        kb: whose names are ranked.
        generator: a generator, which stays on its device, or the folder of one, which goes to the GPU if there is one.
        beams: see ``Search``. 5 find the best name; for lists of names take 20.
        context: whether the generator reads the text around a mention; None: as it was trained.
        candidates: a linker of the same KB whose best names alone are scored.
        many: how many of them.
        longest: tokens of a name at most, its end included, as far as they fit the decoder behind any mention. None: as
            many as fit; 64 of a decoder that reads all again at each step, and of searches with graphs, whose buffers
            it would fill. What is longer is neither found nor scored.
        batch: mentions at a time; where None 32, on a GPU as many as its memory has room for (``batch_size``). Of many,
            up to twice as many more wait half searched.
        graphs: whether searches on a GPU replay CUDA graphs where a batch is full: the buffers of its shapes stay on
            the device (``nomina.generation.graphs``), for one search at a time.
        progress: told how many names are spelt, of how many, where the KB's trie must be made.

    Attributes:
        generator: what scores.
        trie: of the KB's names.
        candidates: what offers names; None: all are searched.
        prompt: what the generator reads.
        together: see ``Linker``; eight batches.

    Raises:
        ArtifactError: the folder holds no generator.
        MissingExtra: torch is not installed.
        UsageError: a value that cannot be, or the cache folder cannot be written to.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        generator: Generator | str | Path,
        *,
        beams: int = 5,
        context: bool | None = None,
        candidates: Linker | None = None,
        many: int = CANDIDATES,
        longest: int | None = None,
        batch: int | None = None,
        graphs: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        super().__init__(kb)
        if min(1 if value is None else value for value in (many, batch, longest)) < 1:
            raise UsageError("many, batch and longest are 1 or more")
        import_torch()
        from nomina.generation.device import DeviceTrie
        from nomina.generation.search import Search

        self._folder = Path(generator).absolute() if isinstance(generator, str | Path) else None
        self.generator = _opened(generator) if isinstance(generator, str | Path) else generator
        device = self.generator.device
        self.candidates = candidates
        self._beams, self._many = beams, many
        self._batch = batch or batch_size(self.generator, beams)
        self.together = max(Linker.together, self._batch * (_BATCHES if candidates is None else 1))
        self._graphs = graphs
        self.prompt = Prompt.of(self.generator, context=context)
        self._longest = longest
        self._most = _most(self.generator, self.prompt, longest or (MOST if self.generator.rereads else None))
        self._search = Search(beams, min(self._most, MOST) if graphs and longest is None else self._most)
        self.trie = open_trie(kb, spelling_of(self.generator, self.prompt), progress)
        self._device_trie = DeviceTrie(self.trie, device, self.generator.vocabulary)
        self._within: tuple[NDArray[np.bool_], Within] | None = None

    @property
    def remark(self) -> str:
        """How many names are too long to be found, if any."""
        most = self._most if self.candidates is not None else self._search.most or self._most
        count = len(self.trie.longer(most))
        names = "name of the KB is" if count == 1 else "names of the KB are"
        return f"{count:,} {names} longer than the {most} tokens that can be written, and not found" if count else ""

    def rank(self, queries: Sequence[Query], k: int, within: NDArray[np.bool_] | None = None) -> Ranking:
        """The k most probable names a mention, by probability, then by row; see ``Linker.rank``."""
        ranking = Ranking.empty(len(queries), k)
        asked = self._known(queries)
        if not asked:
            return ranking
        chosen = [queries[i] for i in asked]
        offered = None if self.candidates is None else self.candidates.rank(chosen, self._many, within).rows
        tasks: dict[tuple[tuple[int, ...], ...], _Task] = {}
        for number, (i, prompted) in enumerate(zip(asked, self.prompt(chosen), strict=True)):
            rows = None if offered is None else offered[number]
            key = (tuple(prompted.source), tuple(prompted.prefix), () if rows is None else tuple(rows.tolist()))
            tasks.setdefault(key, _Task(prompted, rows, [])).places.append(i)
        with evaluating(self.generator):
            self._fill(ranking, list(tasks.values()), self._restriction(within))
        return ranking

    def log_probabilities(self, queries: Sequence[Query], rows: Ints) -> NDArray[np.float32]:
        """How likely the generator is to write given names.

        Args:
            queries: n mentions.
            rows: (n, c) names of each, ``NO_ROW`` where there are fewer.

        Returns:
            (n, c) the logarithm of each name's probability; -inf where there is no name, where it has no path in the
            trie or is too long to be written, and for a mention of which the tokenizer knows nothing.

        Raises:
            UsageError: not as many rows as mentions.
        """
        if rows.ndim != 2 or len(rows) != len(queries):
            raise UsageError(f"{len(queries)} mentions have as many rows of names, (n, c), not {rows.shape}")
        found = np.full(rows.shape, -np.inf, np.float32)
        asked = self._known(queries)
        tasks: dict[tuple[tuple[int, ...], ...], _Task] = {}
        for i, prompted in zip(asked, self.prompt([queries[i] for i in asked]) if asked else (), strict=True):
            key = (tuple(prompted.source), tuple(prompted.prefix), tuple(rows[i].tolist()))
            tasks.setdefault(key, _Task(prompted, rows[i], [])).places.append(i)
        ordered = sorted(tasks.values(), key=lambda task: (len(task.prompted.source), len(task.prompted.prefix)))
        size = max(1, self._batch // _FEWER)
        with evaluating(self.generator):
            for start in range(0, len(ordered), size):
                part = ordered[start : start + size]
                for task, sums in zip(part, self._sums(part), strict=True):
                    found[task.places] = sums
        return found

    def _fill(self, ranking: Ranking, tasks: list[_Task], within: Within | None) -> None:
        """Mentions of like length share a batch."""
        tasks.sort(key=lambda task: (len(task.prompted.source), len(task.prompted.prefix)))
        k = ranking.rows.shape[1]
        size = self._batch if self.candidates is None else max(1, self._batch // _FEWER)
        parts = [tasks[start : start + size] for start in range(0, len(tasks), size)]
        found = self._searched(parts, k, within) if self.candidates is None else map(self._scored, parts)
        for part, names in zip(parts, found, strict=True):
            for task, rows, scores in zip(part, *_ordered(*names, len(part), k), strict=True):
                ranking.rows[task.places], ranking.scores[task.places] = rows, 1 / (1 - scores)
                ranking.rules[task.places] = np.where(rows == NO_ROW, 0, Rule.GENERATIVE)
        ranking.scores[ranking.rows == NO_ROW] = -np.inf

    def _searched(
        self, parts: Sequence[Sequence[_Task]], k: int, within: Within | None
    ) -> Iterator[tuple[Ints, Ints, NDArray[np.float32]]]:
        """Mentions, rows and summed log-probabilities of what was found, side by side; the best k are certain."""
        from nomina.generation.pool import beam_searches

        search = replace(self._search, certain=min(max(k, 1), self._beams))
        asked = self._asked(parts, within)
        for found in beam_searches(self.generator, self._device_trie, asked, search):
            nodes, sums = found.nodes.cpu().numpy().ravel(), found.scores.cpu().numpy().ravel()
            rows, offsets = self.trie.rows_of(nodes, within)
            places = np.repeat(np.arange(len(nodes)), np.diff(offsets))
            yield places // search.beams, rows, sums[places]

    def _asked(self, parts: Sequence[Sequence[_Task]], within: Within | None) -> Iterator[Asked]:
        """Batches, each made when its search begins: it is then that the generator is asked for graphs, or not."""
        from nomina.generation.search import Asked

        for part in parts:
            # Graphs are captured for each shape, of which there should be few.
            graphs = self._graphs and len(part) == self._batch and _is_on_gpu(self.generator)
            self.generator.graphs = graphs
            prompted = [task.prompted for task in part]
            yield Asked(batch_of(self.generator, prompted, _MULTIPLE if graphs else 1), within)

    def _scored(self, tasks: Sequence[_Task]) -> tuple[Ints, Ints, NDArray[np.float32]]:
        """As ``_searched``, of candidates of one batch."""
        rows, sums = _rows(tasks), self._sums(tasks)
        mentions, columns = np.nonzero(np.isfinite(sums))
        return mentions, rows[mentions, columns], sums[mentions, columns]

    def _sums(self, tasks: Sequence[_Task]) -> NDArray[np.float32]:
        """The log-probabilities of candidates, (tasks, c)."""
        from nomina.generation.scoring import score_candidates

        batch = batch_of(self.generator, [task.prompted for task in tasks])
        return score_candidates(self.generator, self.trie, batch, _rows(tasks), self._most)

    def _known(self, queries: Sequence[Query]) -> list[int]:
        """Those with a mention that has something in it that the tokenizer knows."""
        places = [i for i, query in enumerate(queries) if normalise(query.mention.text)]
        texts = [queries[i].mention.text for i in places]
        if not texts:
            return []
        return [i for i, is_known in zip(places, known(self.prompt.tokenizer, texts), strict=True) if is_known]

    def _restriction(self, rows: NDArray[np.bool_] | None) -> Within | None:
        """The last one is kept: every batch of a text asks for the same."""
        if rows is None:
            return None
        if self._within is None or not np.array_equal(self._within[0], rows):
            self._within = rows.copy(), self.trie.within(rows)
        return self._within[1]

    def state(self) -> dict[str, Any]:
        """Folder of the generator, and the options.

        Raises:
            UsageError: the generator is in memory only, or there is a linker for candidates.
        """
        if self._folder is None or self.candidates is not None:
            raise UsageError(
                "a generator in memory, or one behind another linker, cannot be told to another process: name its"
                " folder, without candidates"
            )
        return {
            "generator": str(self._folder),
            "beams": self._beams,
            "context": self.prompt.context,
            "longest": self._longest,
            "batch": self._batch,
            "graphs": self._graphs,
        }


class _Task(NamedTuple):
    """What is computed once: its tokens, candidates where there are any, and the queries that ask for it."""

    prompted: Prompted
    rows: Ints | None
    places: list[int]


def _rows(tasks: Sequence[_Task]) -> Ints:
    """The candidates of tasks that have some, (tasks, c)."""
    return np.stack([task.rows for task in tasks if task.rows is not None])


def spelling_of(generator: Generator, prompt: Prompt) -> Spelling:
    """How a generator writes names: as it was trained to."""
    end = generator.tokenizer.id_to_token(generator.eos_id)
    return Spelling(generator.tokenizer, end or "", before=prompt.before, lower=prompt.lower)


def _most(generator: Generator, prompt: Prompt, wanted: int | None) -> int:
    """Tokens of a name at most, its end included, so that it fits the decoder behind any mention, alone or in a batch.

    ``wanted`` is no more than that where it is not None.

    Raises:
        UsageError: the prompt leaves room for none.
    """
    room = generator.longest - prompt.longest
    if room < 1:
        raise UsageError(
            f"a prompt of up to {prompt.longest} tokens leaves no room for a name in the decoder's"
            f" {generator.longest} positions: shorten it"
        )
    return room if wanted is None else min(room, wanted)


def batch_of(generator: Generator, prompted: Sequence[Prompted], to: int = 1, size: int = 0) -> Batch:
    """Mentions as tensors on the generator's device.

    Args:
        generator: what will read them.
        prompted: one mention or more.
        to: lengths are rounded up to multiples of this.
        size: the batch is filled up to so many mentions by repeating the first one.
    """
    torch = import_torch()
    from nomina.generation.search import Batch

    prompted = [*prompted, *list(prompted[:1]) * (size - len(prompted))]
    parts = [
        *padded([each.source for each in prompted], generator.pad_id, to=to),
        *padded([each.prefix for each in prompted], generator.pad_id, left=True, to=to),
    ]
    return Batch(*(torch.from_numpy(part).to(generator.device) for part in parts))


def _opened(folder: str | Path) -> Generator:
    generator = generation.load(folder)
    if import_torch().cuda.is_available():
        generator.module.to("cuda")
    return generator


def _is_on_gpu(generator: Generator) -> bool:
    return generator.device.type == "cuda"


@contextmanager
def evaluating(generator: Generator) -> Iterator[None]:
    """Without dropout and CUDA graphs; a generator that is being trained, or has graphs, goes on as it was."""
    training, graphs = generator.module.training, generator.graphs
    generator.module.eval()
    generator.graphs = False
    try:
        yield
    finally:
        generator.module.train(training)
        generator.graphs = graphs


def _ordered(mentions: Ints, rows: Ints, sums: NDArray[np.float32], n: int, k: int) -> tuple[Ints, NDArray[np.float32]]:
    """The k best rows of each of n mentions and their sums, (n, k): by sum, then by row; NO_ROW and 0 fill up."""
    order = np.lexsort((rows, -sums, mentions))
    mentions, rows, sums = mentions[order], rows[order], sums[order]
    places = np.arange(len(rows)) - np.searchsorted(mentions, mentions)
    kept = places < k
    best, scores = np.full((n, k), NO_ROW, np.int64), np.zeros((n, k), np.float32)
    best[mentions[kept], places[kept]], scores[mentions[kept], places[kept]] = rows[kept], sums[kept]
    return best, scores
