"""Counts in a process of its own, by multiprocessing.Manager; with "early" as its argument it starts that before it answers."""
import multiprocessing
import sys

from wire import serve

shared = []


def counter():
    if not shared:
        manager = multiprocessing.Manager()
        shared.extend([manager, manager.dict(n=0)])
    return shared[1]


def count():
    counter()["n"] += 1
    return "counted %d" % counter()["n"]


if __name__ == "__main__":
    if "early" in sys.argv:
        counter()
    serve("count", {"count": ([], count)})
