"""Names of several parts put together, beside the same by plain loops."""

import numpy as np

from nomina.linkers.base import NO_ROW, Ranking, Rule
from nomina.linkers.fitted_cascade.pools import Pools, place_of


def ranking(rows, scores, rule):
    rows, scores = np.array(rows), np.array(scores, np.float32)
    return Ranking(rows, scores, np.where(rows == NO_ROW, 0, rule).astype(np.uint8))


def drawn(rng, n, width, rule):
    """Lists of random lengths, no row twice."""
    found = ranking(np.full((n, width), NO_ROW), np.full((n, width), -np.inf), rule)
    for i in range(n):
        many = int(rng.integers(0, width + 1))
        found.rows[i, :many] = rng.choice(9, many, replace=False)
        found.scores[i, :many] = np.sort(rng.random(many))[::-1]
        found.rules[i, :many] = rule
    return found


def oracle(rankings, n):
    """For each mention rows with what each part says, its rule and how high it stands."""
    found = []
    for i in range(n):
        lists = [
            [
                (row, float(score))
                for row, score in zip(part.rows[i].tolist(), part.scores[i].tolist(), strict=True)
                if row >= 0
            ]
            for part in rankings
        ]
        entries = {}
        for row in sorted({row for own in lists for row, _ in own}):
            said, best = [], (0.0, 0)
            for part, own in zip(rankings, lists, strict=True):
                place = next((k for k, (other, _) in enumerate(own) if other == row), None)
                full = len(own) == part.rows.shape[1]
                said += [own[place][1], 1 / (place + 1)] if place is not None else [own[-1][1] if full else 0.0, 0.0]
                if place is not None:
                    rule = int(part.rules[i, place])
                    high = float("inf") if rule < Rule.TFIDF else 1 / (place + 1)
                    best = max(best, (high, rule), key=lambda pair: pair[0])
            entries[row] = (said, best)
        found.append(entries)
    return found


def told(pools):
    found = [{} for _ in range(pools.n)]
    for i, mention in enumerate(pools.mention.tolist()):
        said = pools.features[i].tolist()
        found[mention][int(pools.rows[i])] = (said, (float(pools.trust[i]), int(pools.rules[i])))
    return found


def test_united_is_what_plain_loops_put_together():
    rng = np.random.default_rng(0)
    for _ in range(50):
        parts = [drawn(rng, 4, width, rule) for width, rule in ((2, Rule.ORDER), (5, Rule.TFIDF), (4, Rule.EMBEDDING))]
        pools = Pools.empty(4)
        for part in parts:
            pools = pools.united(part, np.where(np.isfinite(part.scores), part.scores, 0.0).astype(np.float64))
        assert told(pools) == oracle(parts, 4)
        assert np.all(np.diff(pools.mention * 10 + pools.rows) > 0)
        which = rng.random(4) < 0.5
        assert told(pools.take(which)) == [own for own, kept in zip(told(pools), which, strict=True) if kept]


def test_what_scores_all_names_offers_none():
    first = ranking([[3, 5], [2, NO_ROW]], [[0.9, 0.4], [0.8, -np.inf]], Rule.TFIDF)
    pools = Pools.empty(2).united(first, np.array([[0.9, 0.4], [0.8, 0.0]]))
    scored = pools.scored(np.array([-1.0, -2.0, -3.0]), Rule.GENERATIVE)  # of mention 0 rows 3, 5; of 1 row 2
    assert scored.features.tolist() == [[0.9, 1.0, -1.0, 1.0], [0.4, 0.5, -2.0, 0.5], [0.8, 1.0, -3.0, 1.0]]
    assert scored.rules.tolist() == [Rule.TFIDF] * 3
    turned = pools.scored(np.array([-2.0, -1.0, -3.0]), Rule.GENERATIVE)
    assert turned.rules.tolist() == [Rule.TFIDF, Rule.GENERATIVE, Rule.TFIDF]
    assert turned.values.tolist() == [[0.9, -2.0], [0.4, -1.0], [0.8, -3.0]]


def test_names_that_are_only_offered_say_nothing():
    first = ranking([[3, 5], [2, 4]], [[0.9, 0.4], [0.8, 0.7]], Rule.TFIDF)
    pools = Pools.empty(2).united(first, first.scores.astype(np.float64))
    more = pools.offered(ranking([[7, 3], [NO_ROW, NO_ROW]], [[0.5, 0.4], [-np.inf, -np.inf]], Rule.GENERATIVE))
    assert more.rows.tolist() == [3, 5, 7, 2, 4]
    assert np.allclose(more.features, [[0.9, 1], [0.4, 0.5], [0.4, 0], [0.8, 1], [0.7, 0.5]])
    assert more.rules.tolist() == [Rule.TFIDF, Rule.TFIDF, Rule.GENERATIVE, Rule.TFIDF, Rule.TFIDF]


def test_the_table_and_places():
    first = ranking([[5, 3], [NO_ROW, NO_ROW], [2, NO_ROW]], [[1, 1], [-np.inf] * 2, [1, -np.inf]], Rule.TFIDF)
    pools = Pools.empty(3).united(first, np.zeros((3, 2)))
    rows, column = pools.table()
    assert rows.tolist() == [[3, 5], [NO_ROW, NO_ROW], [2, NO_ROW]]
    assert column.tolist() == [0, 1, 0]
    # By value, then by row.
    assert place_of(pools.mention, pools.rows, np.array([0.5, 0.5, 0.1])).tolist() == [0, 1, 0]
    assert place_of(pools.mention, pools.rows, np.array([0.4, 0.5, 0.1])).tolist() == [1, 0, 0]
    assert Pools.empty(2).table()[0].shape == (2, 0)
