"""A sweep for programs and for people."""

from __future__ import annotations

from typing import Any

from keepwarm.sweep.columns import SCHEMA
from keepwarm.sweep.run import Sweep


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """``keepwarm.sweep/1``: the same for the same spec, whoever computed it and when."""
    return {
        "schema": SCHEMA,
        "cells": sweep.cells,
        "failed": [{"key": cell.key, **cell.settings, "reason": reason} for cell, reason in sweep.failures],
        "rows": sweep.rows,
    }


def told(sweep: Sweep) -> str:
    """What was done, and where the rows are."""
    lines = [f"{sweep.cells} cells, simulated: {sweep.computed} computed now, {sweep.kept} kept from before"]
    if sweep.lost:
        lines.append(f"{sweep.lost} times a worker was lost and its cells were started again")
    if sweep.damaged_parts:
        lines.append(
            f"{sweep.damaged_parts} damaged parts were taken away; cells of no other part are computed again"
        )
    lines += [f"failed: {cell.name()}: {reason}" for cell, reason in sweep.failures]
    lines.append(f"rows: {sweep.rows_path}")
    return "".join(f"{line}\n" for line in lines)


def first_failure(sweep: Sweep) -> str:
    """One line for an error."""
    cell, reason = sweep.failures[0]
    return (
        f"{len(sweep.failures)} of {sweep.cells} cells failed, the first ({cell.name()}): {reason}; the "
        f"others are kept in {str(sweep.rows_path.parent)!r}, run it again once that is mended"
    )
