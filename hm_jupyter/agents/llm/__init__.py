"""Models behind provider APIs, over pydantic-ai's low-level requests: their wire code, our turn loop.

``known`` (which providers there are), ``keys``, ``source`` (a provider made of its settings), ``model`` (one step, with
retries), ``engine`` (pydantic-ai's model for an API), ``translate`` (our messages to theirs, and back what a provider
wants to see again), ``failures`` (what went wrong, for people), ``effort``, ``price``. Only ``engine`` and what it calls
import pydantic-ai, and that when the first step is made.
"""
