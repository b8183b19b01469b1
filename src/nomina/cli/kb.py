"""``nomina kb``: build a knowledge base and look into it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomina.cli.places import PLACE
from nomina.errors import UsageError

if TYPE_CHECKING:
    from nomina.kb.stage import Progress
    from nomina.kb.store import KnowledgeBase
    from nomina.types import Entity

_SHOWN_RELATIVES = 20


MORE: dict[str, str] = {
    "get": "nomina.cli.kb_get:get",
    "add": "nomina.cli.kb_update:add",
    "retire": "nomina.cli.kb_update:retire",
    "merge": "nomina.cli.kb_join:merge",
    "expand": "nomina.cli.kb_join:expand",
    "subset": "nomina.cli.kb_subset:subset",
    "diff": "nomina.cli.kb_diff:diff",
}
"""Sub-commands in modules of their own, imported when called."""


class _Group(click.Group):
    """The commands of this module and those of ``MORE``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *MORE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MORE:
            return super().get_command(ctx, cmd_name)
        module, attribute = MORE[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(cls=_Group)
def kb() -> None:
    """Build a knowledge base, bring it up to date, and look into it."""


@kb.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=PLACE, help="The KB file to write.")
@click.option("--name", help="What the KB calls itself; by default the file's name.")
@click.option("--types", multiple=True, metavar="TYPE", help="Only concepts of this type; may be repeated.")
@click.option("--root", multiple=True, metavar="ID", help="Only this concept and all under it; may be repeated.")
@click.option(
    "--format", metavar="FORMAT", help="A name of docs/formats, where a look at the file says something else."
)
@click.option("--option", "texts", multiple=True, metavar="KEY=VALUE", help="An option of the format; may be repeated.")
@click.option("--lenient", is_flag=True, help="Report faults in the source and go on, where else the build stops.")
@click.option("--split-ids", is_flag=True, help="In an id||name dictionary: ids joined by | or + are several concepts.")
def build(
    sources: tuple[Path, ...],
    output: Path,
    name: str | None,
    types: tuple[str, ...],
    root: tuple[str, ...],
    format: str | None,
    texts: tuple[str, ...],
    lenient: bool,
    split_ids: bool,
) -> None:
    """Build a KB file from the files of a terminology or of your own terms.

    Each SOURCE is a file, folder or archive of a format in docs/formats (OBO, JSON Lines, TSV, UMLS, SNOMED CT, ...),
    as it is or packed (.gz, .zip, .zst). Concepts with the same id in several sources become one.
    """
    from nomina.kb.build import BuildOptions, build_sources
    from nomina.kb.options import Value, parsed

    options = BuildOptions(name or output.stem, types, root, lenient)
    extra: dict[str, Value] = {**parsed(texts), **({"split_ids": True} if split_ids else {})}
    with building(output) as progress:
        built = build_sources(output, sources, options, extra, format=format, progress=progress)
    say_problems(built)
    click.echo(size_of(output, built), err=True)


def size_of(path: Path, built: KnowledgeBase) -> str:
    """One line: the file, and how much is in it."""
    counts = built.manifest.counts
    distinct = counts.rows - len(built.ownerless)  # a row stays when its last concept goes
    return f"{path}: {counted(counts.concepts, 'concept')}, {counted(counts.names, 'name')}, {distinct:,} distinct"


def counted(number: int, noun: str) -> str:
    """``1 concept``, ``2 concepts``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@contextlib.contextmanager
def building(output: Path) -> Iterator[Progress | None]:
    """Show the progress of the block that writes ``output``; Ctrl-C is a user's wish and ends with one line."""
    try:
        with _progress_bar() as progress:
            yield progress
    except KeyboardInterrupt as error:
        raise UsageError(f"stopped; {output} is as it was before") from error


@contextlib.contextmanager
def _progress_bar() -> Iterator[Progress | None]:
    """A bar on a terminal's stderr, nothing in a log."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(unit=" concepts", leave=False) as bar:

        def update(doing: str, records: int) -> None:
            bar.set_description_str(doing, refresh=False)
            bar.update(records - bar.n)
            bar.refresh()

        yield update


def say_problems(built: KnowledgeBase) -> None:
    """Print on stderr what faults of its sources a lenient build went past."""
    manifest = built.manifest
    for message in manifest.problems:
        click.echo(f"nomina: {message}", err=True)
    if unsaid := manifest.counts.problems - len(manifest.problems):
        click.echo(f"nomina: ... and {unsaid:,} more", err=True)
    if found := manifest.counts.problems:
        were = "was" if found == 1 else "were"
        click.echo(f"nomina: {counted(found, 'fault')} in the sources {were} dropped or mended", err=True)


@kb.command()
@click.argument("file")
def info(file: str) -> None:
    """Say where a KB comes from, its licence, and how much is in it. FILE is a KB file or a name such as hpo."""
    from nomina.kb.sources import resolve_kb

    opened = resolve_kb(file)
    manifest = opened.manifest
    fields: list[tuple[str, object]] = [("name", manifest.name), ("file", opened.path)]
    for source in manifest.sources:
        fields.append(("source", f"{source.file} ({source.format}, sha256 {source.sha256})"))
        shown = (("title", source.title), ("release", source.release), ("licence", source.licence))
        fields += [(field, value) for field, value in shown if value]
        fields += [("imports", f"{source.imports}, not followed")] if source.imports else []
        fields += [("options", source.options)] if source.options else []
    fields += [("only under", ", ".join(manifest.root))] if manifest.root else []
    fields += [("only types", ", ".join(manifest.types))] if manifest.types else []
    fields += [("shared names", f"left to one concept (rule {manifest.dedup})")] if manifest.dedup else []
    counts = manifest.counts
    for field in type(counts).__dataclass_fields__:
        fields.append((field.replace("_", " "), f"{getattr(counts, field):,}"))
    fields.append(("types", ", ".join(f"{type} {count:,}" for type, count in opened.types().items()) or "none"))
    built = f"nomina {manifest.nomina}, schema {manifest.schema}, normaliser {manifest.normaliser}"
    fields += [("built by", built), ("fingerprint", manifest.fingerprint), ("versions", len(opened.lineage))]
    for label, value in fields:
        click.echo(f"{label:<16}{value}")


@kb.command()
@click.argument("file")
@click.argument("id_or_name", required=False)
def show(file: str, id_or_name: str | None) -> None:
    """Show a concept by its id, or the concepts that have a name; without either, a summary.

    FILE is a KB file or a name such as hpo.
    """
    from nomina.kb.sources import resolve_kb

    opened = resolve_kb(file)
    if id_or_name is None:
        click.echo("\n".join(_summary(opened)))
        return
    if id_or_name in opened:
        click.echo("\n".join(_concept(opened, opened[id_or_name])))
    elif (gone := opened.retired(id_or_name)) is not None:
        click.echo(_retirement(opened, id_or_name, gone.replaced_by))
    elif found := opened.lookup(id_or_name):
        click.echo("\n\n".join("\n".join(_concept(opened, entity)) for entity in found))
    else:
        raise UsageError(f"{opened.manifest.name} has no concept with the id or name {id_or_name!r}")


def _summary(opened: KnowledgeBase) -> Iterator[str]:
    counts = opened.manifest.counts
    release = f", release {opened.manifest.release}" if opened.manifest.release else ""
    yield f"{opened.manifest.name}{release}: {counted(counts.concepts, 'concept')}, {counted(counts.names, 'name')}"
    for _, id in zip(range(_SHOWN_RELATIVES), opened, strict=False):
        yield f"  {id}  {opened[id].name}"
    if counts.concepts > _SHOWN_RELATIVES:
        yield f"  ... and {counts.concepts - _SHOWN_RELATIVES:,} more"


def _retirement(opened: KnowledgeBase, id: str, replaced_by: tuple[str, ...]) -> str:
    if not replaced_by:
        return f"{id} is retired, with no replacement"
    live = opened.resolve(id)
    named = ", ".join(replaced_by)
    if live is None:
        return f"{id} is retired: replaced by {named}, which this KB does not have"
    return f"{id} is retired: use {live}  {opened[live].name}"


def _concept(opened: KnowledgeBase, entity: Entity) -> Iterator[str]:
    yield f"{entity.id}  {entity.name}"
    if entity.definition:
        yield f"  definition  {entity.definition}"
    for name in entity.names:
        remarks = ", ".join(filter(None, (name.scope, name.kind, name.source)))
        yield f"  name        {name.text}  ({remarks})"
    for label, values in (("type", entity.types), ("xref", entity.xrefs), ("retired id", entity.retired_ids)):
        for value in values:
            yield f"  {label:<12}{value}"
    yield from _relatives(opened, "parent", entity.parents)
    yield from _relatives(opened, "child", opened.children(entity.id))


def _relatives(opened: KnowledgeBase, label: str, ids: tuple[str, ...]) -> Iterator[str]:
    for id in ids[:_SHOWN_RELATIVES]:
        entity = opened.get(id)
        yield f"  {label:<12}{id}  {entity.name if entity else '(not in this KB)'}"
    if len(ids) > _SHOWN_RELATIVES:
        yield f"  {label:<12}... and {len(ids) - _SHOWN_RELATIVES:,} more"
