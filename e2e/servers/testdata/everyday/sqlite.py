"""Does what mcp-server-sqlite does: one connection for each call to the database that --db-path names, with SQLite's journal beside it."""
import argparse
import os
import sqlite3

from wire import serve

parser = argparse.ArgumentParser()
parser.add_argument("--db-path", default="./sqlite_mcp_server.db")
path = os.path.expanduser(parser.parse_args().db_path)


def run(query):
    with sqlite3.connect(path) as db:
        return [list(row) for row in db.execute(query)]


serve("sqlite", {"read_query": (["query"], run), "write_query": (["query"], lambda query: len(run(query)) or "done")})
