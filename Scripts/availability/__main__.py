"""See Scripts/check-availability, which calls this in namespaces of its own."""
import argparse
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from availability import check, network, scenarios  # noqa: E402


def main():
    parser = argparse.ArgumentParser(prog="check-availability")
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--from", type=pathlib.Path, dest="older")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("scenario", nargs="*")
    options = parser.parse_args()
    if options.list:
        for scenario in scenarios.ALL:
            print(f"{scenario.name:16}{scenario.title}")
        return 0
    known = {scenario.name: scenario for scenario in scenarios.ALL}
    if unknown := set(options.scenario) - set(known):
        parser.error(f"no scenario {', '.join(sorted(unknown))}; --list prints them")
    # The upgrade comes first: the run begins with the earlier release.
    chosen = [scenario for scenario in scenarios.ALL if scenario.name in options.scenario
              or not options.scenario and (options.older or scenario.name != "upgrade")]
    is_upgrade = known["upgrade"] in chosen
    if is_upgrade and not options.older:
        parser.error("upgrade needs --from, the folder of an earlier release's programs")
    began = time.monotonic()
    broken = ["the run did not come to its end"]
    try:
        network.make_switch(check.NAMES)
        world = check.World(options.bin.resolve(), options.older.resolve() if is_upgrade else None, options.work)
        print(f"== deploy/ha runs under load, {time.monotonic() - began:.0f} s", flush=True)
        one = check.Check(world)
        for scenario in chosen:
            print(f"== {scenario.title}", flush=True)
            one.run(scenario)
        world.load.end()
        print(one.table())
        broken = one.broken
    except network.Failure as failure:
        broken = [str(failure)]
    finally:
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for log in options.work.glob("*/*.log"):
                shutil.copy(log, options.keep / f"{log.parent.name}-{log.name}")
    for what in broken:
        print(f"check-availability: {what}", file=sys.stderr)
    print(f"check-availability: {'failed' if broken else 'passed'} in {time.monotonic() - began:.0f} s")
    return 1 if broken else 0


sys.exit(main())
