"""What is said of a run on its way."""

import io

from nomina.bulk.manifest import Totals
from nomina.bulk.progress import Progress, duration


class Terminal(io.StringIO):
    def isatty(self):
        return True


NOTHING = Totals(shards=4, done=0, broken=0, documents=0, mentions=0, errors=0, size=4000, size_done=0, seconds=0)
HALF = NOTHING._replace(done=2, documents=100, size_done=2000, errors=3)


def test_a_line_a_minute_in_a_log():
    stream = io.StringIO()
    progress = Progress(NOTHING, stream, clock=0)
    progress.show(NOTHING, clock=59)
    assert stream.getvalue() == ""
    progress.tick(0, 20, 1)
    progress.tick(1, 10, 0)
    progress.show(NOTHING, clock=60)
    assert stream.getvalue() == "nomina: 0 of 4 shards, 30 documents, 0 a second, ? min left, 1 errors\n"
    progress.tick(0, 0, 0)
    progress.tick(1, 20, 0)
    progress.show(HALF, clock=120)
    # 120 documents in 120 s; 200 in all, as two of four equal shards had 100: 80 s for the other 80.
    last = stream.getvalue().splitlines()[1]
    assert last == "nomina: 2 of 4 shards, 120 documents, 1 a second, 1 min left, 3 errors"
    progress.show(HALF, clock=179)
    progress.clear()
    assert stream.getvalue().count("\n") == 2


def test_what_was_done_before_does_not_count_for_the_rate():
    line = Progress(HALF, io.StringIO(), clock=0).line(HALF._replace(done=3, documents=150, size_done=3000), now=10)
    assert line == "3 of 4 shards, 150 documents, 5 a second, 10 s left, 3 errors"


def test_one_line_on_a_terminal():
    stream = Terminal()
    progress = Progress(NOTHING, stream, clock=0)
    progress.show(NOTHING, clock=0.4)
    assert stream.getvalue() == ""
    progress.show(HALF, clock=100)
    assert stream.getvalue() == "\r" + "2 of 4 shards, 100 documents, 1 a second, 2 min left, 3 errors".ljust(100)
    progress.clear()
    assert stream.getvalue().endswith("\r" + " " * 100 + "\r")


def test_durations():
    assert [duration(seconds) for seconds in (0, 59.4, 90, 3599, 5400)] == ["0 s", "59 s", "2 min", "60 min", "1.5 h"]
