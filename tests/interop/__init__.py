"""Real third-party ACP agents against our client: ``make interop`` (docs/interop.md). Nothing here runs in ``make test``
but what says so."""
