"""The version of nomina: the one place that says it; the packaging reads it from here."""

__version__ = "0.1.0"
