"""``python -m fechner``: the command line."""

from fechner.cli.app import main

main()
