"""One load against the real service: NAME AMOUNT EXECUTABLES DIRECTORY DATABASE_URL. Exits 1 when a bound is broken."""

import importlib
import sys

from world import Report, World

name, amount, executables, directory, database_url = sys.argv[1:]
load = importlib.import_module(name.replace("-", "_"))
report = Report()
world = World(executables, directory, database_url)
try:
    load.run(world, int(amount), report)
finally:
    world.stop()
sys.exit(1 if report.broken else 0)
