"""Write the documentation that is made from the code; ``--check`` only says what is out of date.

Made here: a page per cause from its rule's docstring, the list of input formats from the readers'
docstrings, the index of design notes, and the excerpt of a real report in the README.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from scripts.markers import between

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
TRAFFIC = "examples/helpdesk/traffic.jsonl.gz"
EXCERPT_FINDINGS = 2
EXCERPT_COLUMNS = 100

Pages = dict[Path, str]


def section(page: Path, name: str, body: str) -> Pages:
    """``page`` with its section ``name`` replaced by ``body``."""
    start, end = f"<!-- {name}: made by `make generate` -->", f"<!-- end of {name} -->"
    return {page: between(page.read_text(), start, end, body)}


def cause_pages() -> Pages:
    """``docs/causes/CODE.md`` for every rule, and their index."""
    from keepwarm.diagnose.report.causes import known_causes

    pages = {}
    rows = ["| cause | owner | what breaks the prefix |", "| --- | --- | --- |"]
    causes = known_causes()
    others = re.compile(f"`({'|'.join(cause.code for cause in causes)})`")
    for cause in causes:
        fixed_by = "a change in the application's source" if cause.fixable else "a setting"
        owner = f"Owner: `{cause.owner}`, fixed by {fixed_by}."
        documentation = others.sub(r"[`\1`](\1.md)", cause.documentation)
        page = f"# {cause.code}\n\n{owner}\n\n{documentation}\n"
        pages[DOCS / "causes" / f"{cause.code}.md"] = page
        rows.append(f"| [{cause.code}]({cause.code}.md) | {cause.owner} | {cause.summary} |")
    return pages | section(DOCS / "causes" / "index.md", "causes", "\n".join(rows))


def format_page() -> Pages:
    """The list of formats in ``docs/formats.md``, in the order in which they are detected."""
    return section(DOCS / "formats.md", "formats", "\n\n".join(format_sections()))


def format_sections() -> Iterator[str]:
    """A section per reader: its name, and what its docstring says."""
    from keepwarm.trace.readers import READERS

    for reader in READERS.values():
        yield f"### `{reader.name}`\n\n{inspect.cleandoc(reader.__doc__ or '')}"


def design_index() -> Pages:
    """Title and first paragraph of every note under ``docs/design``."""
    entries = []
    for note in sorted((DOCS / "design").glob("*.md")):
        if note.name == "index.md":
            continue
        title, _, rest = note.read_text().partition("\n")
        summary = " ".join(rest.strip().split("\n\n")[0].split())
        entries.append(f"- [{title.removeprefix('# ')}]({note.name}): {summary}")
    return section(DOCS / "design" / "index.md", "notes", "\n".join(entries))


def readme_excerpt() -> Pages:
    """The beginning of the report that ``make demo`` prints, as a terminal shows it."""
    keepwarm = Path(sys.executable).parent / "keepwarm"
    environment = {**os.environ, "COLUMNS": str(EXCERPT_COLUMNS), "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [keepwarm, "diagnose", TRAFFIC],
        cwd=REPOSITORY,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [line.rstrip() for line in done.stdout.strip("\n").split("\n")]
    end = lines.index(next(line for line in lines if line.startswith(f"{EXCERPT_FINDINGS + 1}. ")))
    body = "\n".join(["```text", f"$ keepwarm diagnose {TRAFFIC}", *lines[:end], "...", "```"])
    return section(REPOSITORY / "README.md", "excerpt", body)


MAKERS: tuple[Callable[[], Pages], ...] = (cause_pages, format_page, design_index, readme_excerpt)


def stale_causes(pages: Iterable[Path]) -> list[Path]:
    """Pages of causes that no longer exist."""
    kept = {*pages, DOCS / "causes" / "index.md"}
    return [page for page in sorted((DOCS / "causes").glob("*.md")) if page not in kept]


def main(argv: list[str]) -> int:
    """Write what changed, or with ``--check`` name it and return 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 when something is stale")
    check = parser.parse_args(argv).check
    pages: Pages = {}
    for make in MAKERS:
        pages |= make()
    changed = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    extra = stale_causes(pages)
    for path in changed + extra:
        print(f"{'stale' if check else 'written'}: {path.relative_to(REPOSITORY)}")
    if check:
        if changed or extra:
            print("run: make generate", file=sys.stderr)
        return int(bool(changed or extra))
    for path in changed:
        path.write_text(pages[path])
    for path in extra:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
