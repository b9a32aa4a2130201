"""Handle one message at the terminal: ``python -m helpdesk C-1043 "How do I close a period?"``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from helpdesk.app import Helpdesk
from helpdesk.client import HttpTransport, Transport
from helpdesk.config import Settings
from helpdesk.customers import Records
from helpdesk.errors import HelpdeskError
from helpdesk.knowledge import HelpCentre
from helpdesk.scripted import ScriptedModel
from helpdesk.tickets import Ticket


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 0 fine, 2 the call or the upstream is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m helpdesk", description="Answer one message of a customer."
    )
    parser.add_argument("customer", help="customer number, for example C-1043")
    parser.add_argument("message", help="what the customer wrote")
    parser.add_argument("--subject", default="Your message", help="subject of the ticket")
    parser.add_argument(
        "--upstream", metavar="URL", help="OpenAI-compatible server; default: a scripted model"
    )
    parser.add_argument("--model", default=Settings().model, help="model to ask for")
    options = parser.parse_args(argv)
    api_key = os.environ.get("OPENAI_API_KEY", "")
    records = Records.load()
    try:
        transport: Transport = (
            HttpTransport(options.upstream, api_key) if options.upstream else ScriptedModel()
        )
        desk = Helpdesk(
            transport,
            lambda: datetime.now(UTC),
            records=records,
            help_centre=HelpCentre.load(),
            settings=Settings(model=options.model),
        )
        ticket = Ticket("PL-49000", records.customer(options.customer), options.subject)
        outcome = desk.handle(ticket, options.message)
    except HelpdeskError as error:
        print(f"helpdesk: {error}", file=sys.stderr)
        return 2
    sorted_as = outcome.assessment
    print(f"[{sorted_as.category}, {sorted_as.urgency}, {sorted_as.desk} desk]\n\n{outcome.letter}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
