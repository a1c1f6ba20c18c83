"""guard.yaml: what a person has decided in advance about commands, files and addresses.

``shell`` reads a command line, ``inner`` finds the commands that commands run, ``patterns`` and ``options`` compare,
``places`` looks at the paths a command names, ``rules`` is the file, ``judge`` brings all of it together, ``check`` is
the command line's ``guard check``. Nothing here asks anybody, emits anything or runs anything.
"""
