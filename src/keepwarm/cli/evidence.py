"""``keepwarm evidence``: whether a folder of evidence is as it was written, and copies that may leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepwarm._errors import GateRefusal, InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import write_bytes, write_text

if TYPE_CHECKING:
    from keepwarm.evidence.verify import Verified

app = typer.Typer(help="Check folders of evidence, and make copies for others.", rich_markup_mode=None)

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of evidence.", show_default=False)]
Digest = Annotated[
    str | None,
    typer.Option(
        "--digest", metavar="HEX", help="The chain digest that was written down when the evidence was made."
    ),
]
Redacted = Annotated[
    bool, typer.Option("--redacted", help="Take out whatever may be private; there is no other export.")
]
Out = Annotated[
    Path,
    typer.Option(
        "--out", metavar="FILE.zip|DIR", help="The copy, as one file or as a folder.", show_default=False
    ),
]


def verify_command(directory: Directory, digest: Digest = None, json: shared.Json = False) -> None:
    """Check every file of a folder of evidence; exit 1 if any was changed, every mismatch named."""
    from keepwarm._json import to_json
    from keepwarm.evidence.verify import verify_folder

    verified = verify_folder(directory, digest)
    if json:
        write_bytes(to_json(_document(directory, verified)))
    else:
        write_text(_told(verified))
    if verified.mismatches:
        from keepwarm._text import counted

        first = verified.mismatches[0]
        found = counted(len(verified.mismatches), "mismatch", "mismatches")
        raise GateRefusal(
            f"{str(directory)!r} is not as it was written: {found}, the first: {first.name!r} {first.what}"
        )


def export_command(
    directory: Directory, out: Out, redacted: Redacted = False, json: shared.Json = False
) -> None:
    """Write a copy of a run or a comparison with nothing private in it, for a review or a release."""
    from keepwarm._json import to_json
    from keepwarm.evidence.export import export_redacted
    from keepwarm.repair.redaction import Redactor
    from keepwarm.replay.comparing.files import KIND as COMPARISON
    from keepwarm.replay.measuring.files import KIND as RUN

    if not redacted:
        raise InputError("an export leaves this machine, so it is redacted: add --redacted; a copy is cp -r")
    redactor = Redactor()
    digest = export_redacted(directory, out, redactor, (RUN, COMPARISON))
    if json:
        document = {
            "schema": "keepwarm.evidence-export/1",
            "path": str(out),
            "chain_sha256": digest,
            "placeholders": redactor.counts,
        }
        write_bytes(to_json(document))
        return
    write_text(f"{str(out)!r}: redacted, chain digest {digest}\n")


def _document(directory: Path, verified: Verified) -> dict[str, Any]:
    manifest = verified.manifest
    return {
        "schema": "keepwarm.evidence-check/1",
        "path": str(directory),
        "as_written": not verified.mismatches,
        "chain_sha256": None if manifest is None else manifest.chain_sha256,
        "redacted_from": None if manifest is None else manifest.redacted_from,
        "files": [] if manifest is None else [entry.name for entry in manifest.files],
        "mismatches": [{"name": each.name, "what": each.what} for each in verified.mismatches],
    }


def _told(verified: Verified) -> str:
    from keepwarm._text import counted, visible

    lines = [f"{visible(each.name)}: {visible(each.what)}" for each in verified.mismatches]
    if not lines and verified.manifest is not None:
        files = counted(len(verified.manifest.files), "file")
        lines = [f"as written: {files}, chain digest {verified.manifest.chain_sha256}"]
    return "".join(f"{line}\n" for line in lines)


app.command("verify")(verify_command)
app.command("export")(export_command)
