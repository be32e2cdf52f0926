"""Does what mcp-server-git does: runs git in --repository, or in the repository that a call names."""
import subprocess
import sys

from wire import serve

repository = sys.argv[sys.argv.index("--repository") + 1] if "--repository" in sys.argv else None


def git(where, *words):
    done = subprocess.run(["git", "-C", where or repository, *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


serve("git", {
    "git_status": (["repo_path"], lambda repo_path=None: git(repo_path, "status", "--short", "--branch")),
    "git_log": (["repo_path"], lambda repo_path=None: git(repo_path, "log", "--format=%s")),
    "git_commit": (["repo_path", "message"], lambda message, repo_path=None: git(repo_path, "commit", "-q", "-a", "-m", message) or "committed"),
})
