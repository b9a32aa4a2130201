"""Write the documentation that is made from the code; ``--check`` only says what is out of date.

Made here: a page per cause from its rule's docstring, the lists of input formats and of policies from
theirs, the routes of the local API, the index of design notes, and the excerpts of real output in the README.
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
EXCERPT_POLICIES = "lru,computecache,belady --capacity-blocks 256,1024,4096"

Pages = dict[Path, str]


def section(page: Path, name: str, body: str) -> Pages:
    """``page`` with its section ``name`` replaced by ``body``."""
    return {page: with_section(page.read_text(), name, body)}


def with_section(text: str, name: str, body: str) -> str:
    """``text`` with what lies between the markers of ``name`` replaced."""
    return between(text, f"<!-- {name}: made by `make generate` -->", f"<!-- end of {name} -->", body)


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


def policy_page() -> Pages:
    """A section per policy in ``docs/policies.md``: what its module says on top."""
    from keepwarm.policies import POLICIES

    sections = []
    for name, policy in POLICIES.items():
        documentation = inspect.cleandoc(sys.modules[policy.__module__].__doc__ or "")
        sections.append(f"## `{name}`\n\n{documentation}")
    return section(DOCS / "policies.md", "policies", "\n\n".join(sections))


def api_page() -> Pages:
    """The routes of the local API, as its description has them."""
    from keepwarm.api.app import api_document

    rows = ["| route | what it answers |", "| --- | --- |"]
    for path, methods in sorted(api_document()["paths"].items()):
        rows += [
            f"| `{method.upper()} {path}` | {route['description']} |" for method, route in methods.items()
        ]
    return section(DOCS / "reference" / "api.md", "routes", "\n".join(rows))


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


def readme_excerpts() -> Pages:
    """The beginning of the report that ``make demo`` prints, and a simulation, as a terminal shows them."""
    diagnosis = _output(f"keepwarm diagnose {TRAFFIC}")
    end = diagnosis.index(next(line for line in diagnosis if line.startswith(f"{EXCERPT_FINDINGS + 1}. ")))
    simulation = _output(f"keepwarm simulate cache {TRAFFIC} --policy {EXCERPT_POLICIES} --no-store")
    start = simulation.index("") + 1
    readme = REPOSITORY / "README.md"
    text = with_section(readme.read_text(), "excerpt", _as_text([*diagnosis[:end], "..."]))
    return {readme: with_section(text, "simulation", _as_text([simulation[0], *simulation[start:]]))}


def _output(command: str) -> list[str]:
    """The command as typed, then what it prints."""
    program, *arguments = command.split()
    environment = {**os.environ, "COLUMNS": str(EXCERPT_COLUMNS), "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [Path(sys.executable).parent / program, *arguments],
        cwd=REPOSITORY,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return [f"$ {command}", *(line.rstrip() for line in done.stdout.strip("\n").split("\n"))]


def _as_text(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


MAKERS: tuple[Callable[[], Pages], ...] = (
    cause_pages,
    format_page,
    policy_page,
    api_page,
    design_index,
    readme_excerpts,
)


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
