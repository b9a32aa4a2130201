"""How a check is shown: for a terminal, as JSON, as a GitHub job summary, as SARIF. Values are masked."""
