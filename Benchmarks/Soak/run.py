"""One load against the real service: NAME AMOUNT EXECUTABLES DIRECTORY DATABASE_URL. Exits 1 when a bound is broken."""

import importlib
import sys

from world import Figures, World

name, amount, executables, directory, database_url = sys.argv[1:]
load = importlib.import_module(name.replace("-", "_"))
figures = Figures()
world = World(executables, directory, database_url)
try:
    load.run(world, int(amount), figures)
finally:
    world.stop()
sys.exit(1 if figures.broken else 0)
