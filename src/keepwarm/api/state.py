"""What handlers share: the library of the running application, by dependency injection."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from keepwarm.api.library.library import Library


def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


LibraryNow = Annotated[Library, Depends(_library)]
