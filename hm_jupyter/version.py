"""The version, for everybody who needs it and must not import the package's front door."""

__version__ = "0.1.0"
