"""Pure functions of a transcript: text, markdown, html, mime bundles."""
