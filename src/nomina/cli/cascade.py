"""``nomina cascade``: several linkers as one, combined as development mentions teach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from nomina.cli.places import PLACE
from nomina.errors import UsageError

_FILE = click.Path(path_type=Path)
_PARTS = ("dictionary", "tfidf", "embedding", "generative")
_UNFITTED = ("output", "encoder", "skip")
"""Options that mean anything without development mentions."""

_EXAMPLES = """\b
Examples:
  nomina cascade --kb mesh --dev dev.pubtator --encoder aligned/ --generator writer/ -o all/
  nomina cascade --kb mesh --dev dev.pubtator --precision 0.95 --skip tfidf -o sure/
  nomina link note.txt --kb mesh --linker all/
  nomina cascade --encoder aligned/ --skip tfidf -o plain/
"""


@click.command(epilog=_EXAMPLES)
@click.option("--kb", metavar="NAME|FILE", help="The knowledge base whose names are ranked; --dev needs it.")
@click.option("--dev", type=_FILE, metavar="FILE", help="Annotated mentions to learn from; never those of a test.")
@click.option("-o", "--output", required=True, type=PLACE, metavar="FOLDER", help="The cascade to write.")
@click.option("--encoder", metavar="FOLDER", help="Of the part embedding; by default the one that nomina comes with.")
@click.option("--generator", metavar="FOLDER", help="Of the part generative, which is left out without one.")
@click.option("--skip", multiple=True, type=click.Choice(_PARTS), help="A part to leave out; may be repeated.")
@click.option("--many", type=click.IntRange(min=1), default=64, show_default=True, help="Names that a part offers.")
@click.option(
    "--scored", type=click.IntRange(min=1), default=16, show_default=True, help="Of these the generator scores."
)
@click.option(
    "--beams", type=click.IntRange(min=0), default=0, show_default=True, help="Names the generator finds too."
)
@click.option("--no-context", is_flag=True, help="The generator reads the mention alone.")
@click.option("--sure", type=float, help="A mention as likely to be right is not given to later parts. [default: 0.99]")
@click.option("--precision", type=float, help="Share of right answers wanted: it abstains from what is less sure.")
@click.option("--format", metavar="FORMAT", help="Of the mentions, where a look at them says something else.")
@click.option("--option", "texts", multiple=True, metavar="KEY=VALUE", help="An option of it; may be repeated.")
def cascade(
    kb: str | None,
    dev: Path | None,
    output: Path,
    encoder: str | None,
    generator: str | None,
    skip: tuple[str, ...],
    many: int,
    scored: int,
    beams: int,
    no_context: bool,
    sure: float | None,
    precision: float | None,
    format: str | None,
    texts: tuple[str, ...],
) -> None:
    """Combine dictionary, TF-IDF, an encoder and a generator into one linker, the cheap ones first.

    What each says of a name is weighed as development mentions teach, and a mention that is sure enough is not given to
    the parts behind, which cost more. Every answer has a probability. The folder that comes out is for `nomina link
    --linker`; models stay where they are. Figures on the development mentions, each judged by weights of others, go to
    stderr. Without --dev and --kb it is the default cascade, dictionary and encoder, as a folder.
    """
    from nomina.corpora import read_corpus
    from nomina.kb.options import parsed
    from nomina.kb.sources import resolve_kb
    from nomina.linkers.fitted_cascade import folder
    from nomina.linkers.fitted_cascade.linker import SURE
    from nomina.linkers.fitted_cascade.parts import PARTS, PartOptions
    from nomina.training.cascade.fit import dev_of, fitted
    from nomina.training.output import check_place

    check_place(output)
    models = {"embedding": encoder or ""}
    parts = [PartOptions(part, models.get(part, ""), many) for part in PARTS[:-1] if part not in skip]
    if generator and "generative" not in skip:
        parts.append(PartOptions("generative", generator, scored, beams, not no_context))
    if dev is None:
        _check_unfitted()
        return folder.describe(parts, output)
    if kb is None:
        raise UsageError("name the knowledge base that --dev is annotated with, by --kb")
    opened = resolve_kb(kb)
    mentions = dev_of(read_corpus(dev, format, options=parsed(texts)), opened)
    linker, figures, _ = fitted(
        opened, parts, mentions, sure=SURE if sure is None else sure, precision=precision, say=_say
    )
    folder.save(linker, output, figures | {"kb": opened.fingerprint})
    _show(figures)


def _check_unfitted() -> None:
    """Refuse options that have no effect without development mentions.

    Raises:
        UsageError: there is one.
    """
    context = click.get_current_context()
    for option in context.command.params:
        given = option.name and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        if given and option.name not in _UNFITTED:
            raise UsageError(
                f"{option.opts[0]} has no effect without development mentions: name them (--dev), or leave it out"
            )


def _say(line: str) -> None:
    click.echo(line, err=True)


def _show(figures: dict[str, Any]) -> None:
    for part in figures["parts"]:
        _say(
            f"{part['part']}: {part['done']:,} of {part['reached']:,} mentions end here;"
            f" {100 * part['right_if_last']:.1f}% of all are right if it is the last part"
        )
    _say(
        f"of {figures['mentions']:,} mentions {100 * figures['accuracy']:.1f}% are right;"
        f" Brier score {figures['brier']:.3f}, expected calibration error {figures['ece']:.3f}"
    )
    if figures["precision"] is not None:
        _say(
            f"abstains under a probability of {figures['abstain']:.3f}: {100 * figures['coverage']:.1f}% are answered,"
            f" {100 * figures['precision']:.1f}% of the answers are right"
        )
