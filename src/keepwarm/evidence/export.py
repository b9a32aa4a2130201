"""A redacted copy of a folder of evidence, as a folder or as one zip file with stable bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import decoded, to_json
from keepwarm.evidence.folder import Folder, read_folder, write_folder
from keepwarm.evidence.kinds import Kind
from keepwarm.evidence.manifest import NAME, manifest_bytes, manifest_of
from keepwarm.evidence.redact import Redact, Redaction
from keepwarm.evidence.tables import read_table, table_bytes

_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that the format can say


def export_redacted(directory: Path, out: Path, redact: Redact, kinds: Sequence[Kind]) -> str:
    """Write a copy with nothing private in it; its chain digest. ``out`` ending in ``.zip`` is one file.

    ``redact`` takes the secrets and personal data out of a text. The copy is evidence of its own, and its
    manifest names the chain digest of the original.

    Raises InputError: the folder was changed, is of no known kind, or the copy cannot be written.
    """
    folder = read_folder(directory)
    files = _redacted(folder, _kind(directory, folder, kinds), redact)
    origin = folder.manifest.chain_sha256
    if out.suffix.lower() != ".zip":
        return write_folder(out, files, redacted_from=origin)
    if out.exists():
        raise InputError(f"--out {str(out)!r} is there already; name a file that is not")
    manifest = manifest_of(files, origin)
    write_whole(out, zip_bytes({**files, NAME: manifest_bytes(manifest)}))
    return manifest.chain_sha256


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """The archive: the same for the same files and the same zlib."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), content, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def _kind(directory: Path, folder: Folder, kinds: Sequence[Kind]) -> Kind:
    for kind in kinds:
        if kind.document_name in folder.files and kind.rows_name in folder.files:
            return kind
    raise InputError(f"{str(directory)!r} is no evidence that can be exported; name a run or a comparison")


def _redacted(folder: Folder, kind: Kind, redact: Redact) -> dict[str, bytes]:
    try:
        document = decoded(folder.files[kind.document_name], dict[str, Any])
    except msgspec.DecodeError:
        document = {}
    if document.get("schema") != kind.schema:
        raise InputError(
            f"{kind.document_name!r} is no {kind.schema}; export it with the keepwarm that wrote it"
        )
    records = read_table(kind.rows_schema, kind.columns, folder.files[kind.rows_name])
    redaction = Redaction(redact)
    redaction.places(document)
    rows = [redaction.record(record) for record in records]
    shown: dict[str, Any] = redaction.value("", document)
    note = f"A redacted copy of the evidence with the chain digest {folder.manifest.chain_sha256}."
    return {
        kind.document_name: to_json(shown),
        kind.rows_name: table_bytes(kind.rows_schema, kind.columns, rows),
        kind.page_name: kind.page(shown, rows, note),
    }
