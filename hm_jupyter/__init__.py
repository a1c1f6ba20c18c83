"""An AI agent inside a Jupyter notebook."""

__version__ = "0.1.0"
