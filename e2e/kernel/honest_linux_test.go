package kernel

import (
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// A window is a session that someone opens, and what the agent in it does.
type window struct {
	what    string
	before  string // what a person does first, in a shell of their own
	program string // of the server, below home; "": one that lies elsewhere
	script  string // what the program runs, below home
	root    string // below home
	line    string // what the agent has the server do, in the root
	asks    bool   // a person may be asked, once: if its own root is on record before its program is looked at
}

// honestDays are windows that are opened one after the other, over the same home folder. In each day the hub keeps what it has on record of
// the windows before.
var honestDays = map[string]struct {
	needs   []string // programs
	windows []window
}{
	"folders and projects": {windows: []window{
		{what: "a folder behind a link", root: "work/app", line: "cat x"},
		{what: "a folder with projects", root: "dev", line: "cat proj/x"},
		{what: "a project in it", root: "dev/proj", line: "cat x && echo y > new"},
		{what: "packages that an agent installs", root: "dev", line: `cd tools && mkdir -p node_modules/.bin node_modules/cli packages/lib && ln -s ../cli/cli.js node_modules/.bin/cli && ln -s ../packages/lib node_modules/lib && echo '{}' > package.json`},
		{what: "a server among them", program: "dev/tools/run", root: "dev/proj", line: "cat x"},
		{what: "the home folder", root: ".", line: "cat dev/proj/x"},
		{what: "the folder behind a link, after a server could have made that", root: "work/app", line: "cat x"},
		{what: "a project that was moved", before: "mv dev/proj dev/moved", root: "dev/moved", line: "cat x"},
		{what: "the window on the folder of projects again", root: "dev", line: "cat moved/x"},
		{what: "a project that an agent moves back", root: "dev", line: "mv moved proj && cat proj/x"},
		{what: "that project", root: "dev/proj", line: "cat x"},
		{what: "a project that an agent makes, with a link to another one", root: "dev", line: "mkdir -p made && ln -s ../proj made/sibling && echo x > made/x"},
		{what: "that one", root: "dev/made", line: "cat x"},
		{what: "a project by a link that an agent made beside it", root: "dev", line: "ln -s proj short && cat short/x"},
		{what: "the project by that link", root: "dev/short", line: "cat x"},
		{what: "a server that the agent has built", before: "cp dev/tools/run dev/proj/run", program: "dev/proj/run", root: "dev/made", line: "cat x"},
	}},
	"repositories": {windows: []window{
		{what: "a repository", root: "dev", line: `git init -q -b main proj && cd proj && git add . && git -c user.name=a -c user.email=a@b commit -qm x && git worktree add -q ../tree`},
		{what: "its worktree", root: "dev/tree", line: "git status && cat x"},
		{what: "work in the worktree", root: "dev/tree", line: "echo y > y && git add y && git -c user.name=a -c user.email=a@b commit -qm y"},
		{what: "the repository, with a window on its worktree before", root: "dev/proj", line: "git merge -q $(git branch --list '*tree*' --format='%(refname:short)') && cat y"},
		{what: "a clone", root: "dev", line: "git clone -q proj copy && cat copy/x"},
		{what: "a pull that brings a workspace", root: "dev",
			line: `cd proj && mkdir -p packages/lib node_modules && echo '{}' > packages/lib/package.json && echo '{"workspaces":["packages/*"]}' > package.json && cp ../tools/run run && ln -s ../packages/lib node_modules/lib && git add -A && git -c user.name=a -c user.email=a@b commit -qm w && cd ../copy && git pull -q && ls node_modules/lib/`},
		{what: "a server from what was pulled", program: "dev/copy/run", root: "dev/tree", line: "cat x"},
		{what: "a checkout of an older state", root: "dev/copy", line: "git checkout -q HEAD~1 && git checkout -q -"},
		{what: "that server once more", program: "dev/copy/run", root: "dev/copy", line: "cat x"},
		{what: "a window on a package of the monorepo", root: "dev/copy/packages/lib", line: "cat package.json"},
		{what: "its parent again", root: "dev/copy", line: "cat packages/lib/package.json"},
	}},
	"package managers": {needs: []string{"npm", "/usr/bin/python3"}, windows: []window{
		{what: "a monorepo that an agent installs", root: "dev",
			line: `mkdir -p mono/packages/a mono/packages/b && cd mono && echo '{"name":"mono","private":true,"workspaces":["packages/*"]}' > package.json && echo '{"name":"a","version":"1.0.0","bin":"cli.js","dependencies":{"b":"1.0.0"}}' > packages/a/package.json && echo '{"name":"b","version":"1.0.0"}' > packages/b/package.json && cp ../tools/run packages/a/cli.js && npm install --offline --no-audit --no-fund >&2 && ls node_modules/a/`},
		{what: "a server from there in another window", program: "dev/mono/node_modules/.bin/a", root: "dev/proj", line: "cat x"},
		{what: "a window on a package", root: "dev/mono/packages/a", line: "cat package.json"},
		{what: "a server from there after an install anew", before: "cd dev/mono && rm -rf node_modules && npm install --offline --no-audit --no-fund", program: "dev/mono/node_modules/.bin/a", root: "dev/mono/packages/b", line: "cat package.json"},
		{what: "a package of a folder beside", root: "dev", line: `mkdir -p user && cd user && echo '{"name":"user","version":"1.0.0","dependencies":{"b":"file:../mono/packages/b"}}' > package.json && npm install --offline --no-audit --no-fund >&2 && cp ../tools/run run && ls node_modules/b/`},
		{what: "a server beside that", program: "dev/user/run", root: "dev/user", line: "cat package.json", asks: true},
		{what: "an environment that an agent makes", root: "dev", line: `/usr/bin/python3 -m venv --without-pip env && echo "$HOME/dev/proj" > $(echo env/lib/python3*/site-packages)/proj.pth && cp tools/run env/bin/run && env/bin/python -c 'print("made")'`},
		{what: "a server in it", program: "dev/env/bin/run", root: "dev/proj", line: "cat x"},
		{what: "a server that its Python runs", program: "dev/env/bin/python", script: "dev/tools/run.py", root: "dev/proj", line: "cat x"},
	}},
}

// What people and their agents do all day works, and asks no one, but for one link: it leads out of a project in which a server could have
// made it.
func TestHonestSessionsAskNothing(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	var days, asked atomic.Int32
	t.Run("days", func(t *testing.T) {
		for name, day := range honestDays {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, program := range day.needs {
					if _, err := exec.LookPath(program); err != nil {
						needs.Missing(t, err)
					}
				}
				r := newRelinked(t, "world", false)
				for _, name := range []string{"dev/proj/x", "data/work/app/x"} {
					r.Write("home/"+name, "honest\n")
				}
				r.Write("home/dev/tools/run", "#!/bin/sh\nexec "+r.opener+"\n")
				world.Must(t, os.Chmod(r.Path("home", "dev", "tools", "run"), 0o700))
				r.Write("home/dev/tools/run.py", "import os\nos.execv('"+r.opener+"', ['"+r.opener+"'])\n")
				world.Symlink(t, "data/work", r.Path("home", "work"))
				before := 0
				for _, w := range day.windows {
					r.open(t, w)
					all, err := r.Consent().Questions()
					if more := len(all) - before; err != nil || more > 1 || more == 1 && !w.asks {
						t.Errorf("%s asks %d times: %+v %v", w.what, more, all, err)
					}
					before = len(all)
				}
				days.Add(1)
				asked.Add(int32(before))
			})
		}
	})
	if days.Load() == 0 || asked.Load() > 2 {
		t.Errorf("%d days asked %d questions", days.Load(), asked.Load())
	}
}

// open opens a window, and wants that what is done in it works and asks no one.
func (r *relinked) open(t *testing.T, w window) {
	t.Helper()
	if w.before != "" {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "cd '"+r.Home+"' && "+w.before)
		cmd.Env = r.Env()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", w.what, err, out)
		}
	}
	kid := obj{}
	if w.program != "" {
		kid = obj{"command": r.Path("home", w.program), "sandbox": obj{"read": []string{r.opener}}}
	}
	if w.script != "" {
		kid["args"] = []string{r.Path("home", w.script)}
	}
	s := r.session("hub", kid, r.Path("home", w.root))
	defer s.End(world.StopBound)
	if said := r.does(s, "HOME="+r.Home+"; cd "+w.root+" && "+w.line+" && echo do''ne"); !strings.Contains(said, "done") {
		t.Errorf("%s: %s", w.what, said)
	}
	if said := s.MustCall("get-roots", `{}`).Text; !strings.Contains(said, `"rootsCount": 1`) || strings.Contains(said, "skipped") {
		t.Errorf("%s: %s", w.what, said)
	}
}
