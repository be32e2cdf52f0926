"""Keeps notes in a folder, or all in one file. Where: KEEP, else the last argument, of --flag=value the value; ~ is the home folder."""
import os
import sys

from wire import serve

place = os.path.expanduser(os.environ.get("KEEP") or sys.argv[-1].split("=", 1)[-1])


def file(note):
    return os.path.join(place, note) if os.path.isdir(place) else place


def get(note):
    with open(file(note)) as f:
        return f.read()


def put(note, text):
    with open(file(note), "a") as f:
        f.write(text)
    return "kept"


def main():
    serve("keep", {"get": (["note"], get), "put": (["note", "text"], put)})


if __name__ == "__main__":
    main()
