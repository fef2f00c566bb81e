"""``python -m genesieve`` is the command line."""

from genesieve.cli import main

main()
