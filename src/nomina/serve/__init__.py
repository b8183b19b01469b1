"""Linking behind HTTP: ``nomina serve`` (extra ``serve``)."""
