package packages

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/process"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
	"mcphub/rootsmgr/guard"
)

// script stands for every manager. What it installs is what the files beside it say; it
// notes in its cache what it was told, and what it could open.
const script = `#!/bin/sh
here=$(dirname "$0")
note=$XDG_CACHE_HOME/note
echo "$(basename "$0") $*" >> "$XDG_CACHE_HOME/calls"
env | sort > "$note.env"
: > "$note.opened"
while read -r path; do
	(cat "$path" > /dev/null) 2> /dev/null && echo "read $path" >> "$note.opened"
	(echo x >> "$path") 2> /dev/null && echo "write $path" >> "$note.opened"
done < "$here/aims"
[ -e "$here/slow" ] && { echo began >&2; sleep 60; }
[ -e "$here/offline" ] && { mkdir node_modules bin; echo "npm error code ENOTFOUND" >&2; exit 1; }
version=$(cat "$here/version")
case $(basename "$0") in
uv | pipx)
	top=$UV_TOOL_DIR; bin=$UV_TOOL_BIN_DIR
	[ "$(basename "$0")" = pipx ] && { top=$PIPX_HOME/venvs; bin=$PIPX_BIN_DIR; }
	mkdir -p "$top/foo-py/bin" "$top/foo-py/lib/python3.12/site-packages/foo_py-$version.dist-info" "$bin"
	printf '#!/bin/sh\necho run "$@"\n' > "$top/foo-py/bin/foo-py"
	chmod +x "$top/foo-py/bin/foo-py"
	ln -s "$top/foo-py/bin/foo-py" "$bin/foo-py" ;;
*)
	mkdir -p node_modules/.bin node_modules/foo
	echo '{"dependencies":{"foo":"'$version'"}}' > package.json
	cat "$here/package.json" > node_modules/foo/package.json
	sed -i "s/VERSION/$version/" node_modules/foo/package.json
	printf '#!/bin/sh\necho run "$@"\n' > node_modules/foo/foo.sh
	chmod +x node_modules/foo/foo.sh
	target=$(cat "$here/target")
	ln -s "$target" node_modules/.bin/foo ;;
esac
`

// bench is a Store with scripted managers.
type bench struct {
	*testing.T
	top, bin, home, project string
	store                   *Store
	m                       launch.Machine
	clock                   time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if k := sandbox.CurrentKernel(); k.ABI < 6 {
		needs.Missing(t, "Landlock has ABI ", k.ABI, " here, and 6 is needed: ", k.Why)
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{T: t, top: top, bin: filepath.Join(top, "managers", "bin"), home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), clock: time.Now()}
	b.write("home/.npmrc", "//registry/:_authToken=secret")
	b.write("home/notes", "private")
	b.write("project/file", "private")
	b.write("managers/bin/aims", "")
	b.write("managers/bin/version", "1.0.0")
	b.write("managers/bin/target", "../foo/foo.sh")
	b.write("managers/bin/package.json", `{"version":"VERSION","bin":"foo.sh"}`)
	for _, name := range []string{"npm", "pnpm", "yarn", "bun", "uv", "pipx"} {
		b.write("managers/bin/"+name, script)
		must(t, os.Chmod(filepath.Join(b.bin, name), 0o700))
	}
	b.m = launch.NewMachine([]string{"PATH=" + b.bin + ":/usr/bin:/bin", "HOME=" + b.home, "SSH_AUTH_SOCK=/run/agent"}, b.home, top)
	b.store = NewStore(filepath.Join(top, "packages"))
	b.store.now = func() time.Time { return b.clock }
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.top, name)
	must(b.T, os.MkdirAll(filepath.Dir(path), 0o700))
	must(b.T, os.WriteFile(path, []byte(text), 0o600))
}

func (b *bench) request(line ...string) *Request {
	b.Helper()
	prog := program.Program{Command: line[0], Args: line[1:], Sandbox: sandbox.Settings{Mode: sandbox.Required}}
	pkg, ok := prog.Package()
	if !ok {
		b.Fatalf("%v is not understood", line)
	}
	return &Request{Name: "kid", Program: prog, Package: pkg, Machine: b.m, Roots: []guard.Root{{Path: b.project}}, Log: zerolog.Nop()}
}

func (b *bench) open(r *Request) *Copy {
	b.Helper()
	c, err := b.store.Open(b.Context(), r)
	must(b.T, err)
	b.Cleanup(c.Release)
	return c
}

func (b *bench) renew(r *Request) *Copy {
	b.Helper()
	c, err := b.store.Renew(b.Context(), r)
	must(b.T, err)
	return c
}

// note returns what the script noted, and calls how often it was called.
func (b *bench) note(r *Request, name string) string {
	b.Helper()
	at, err := b.store.makePlace(r)
	must(b.T, err)
	text, err := os.ReadFile(filepath.Join(at.cacheFolder(), name))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	must(b.T, err)
	return string(text)
}

func (b *bench) calls(r *Request) int { b.Helper(); return strings.Count(b.note(r, "calls"), "\n") }

// copies returns the folders of an entry's copies.
func (b *bench) copies(r *Request) (dirs []string) {
	b.Helper()
	at, err := b.store.makePlace(r)
	must(b.T, err)
	names, err := os.ReadDir(at.copiesFolder())
	must(b.T, err)
	for _, e := range names {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs
}

// TestOpen: each manager installs once, and what it has brought runs without it.
func TestOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for line, want := range map[string]struct{ call, pkg, run string }{
		"npx -y foo@1.0.0 a":           {"npm install --save-exact --no-audit --no-fund --no-update-notifier --loglevel=error -- foo@1.0.0\n", "foo 1.0.0", "node_modules/.bin/foo"},
		"npx --registry https://r foo": {"npm install --save-exact --no-audit --no-fund --no-update-notifier --loglevel=error --registry https://r -- foo\n", "foo 1.0.0", "node_modules/.bin/foo"},
		"pnpm dlx foo":                 {"pnpm add --save-exact --reporter=append-only --store-dir=CACHE/pnpm foo\n", "foo 1.0.0", "node_modules/.bin/foo"},
		"yarn dlx foo":                 {"yarn add --exact foo\n", "foo 1.0.0", "node_modules/.bin/foo"},
		"bunx --bun foo":               {"bun add --exact foo\n", "foo 1.0.0", "bun node_modules/.bin/foo"},
		"uvx foo-py@1.0.0":             {"uv tool install foo-py@1.0.0\n", "foo-py 1.0.0", "bin/foo-py"},
		"uvx --with dep foo-py":        {"uv tool install --with dep foo-py\n", "foo-py 1.0.0", "bin/foo-py"},
		"pipx run foo-py":              {"pipx install foo-py\n", "foo-py 1.0.0", "bin/foo-py"},
	} {
		r := b.request(strings.Fields(line)...)
		c, again := b.open(r), b.open(r)
		at, err := b.store.makePlace(r)
		must(t, err)
		if got := strings.ReplaceAll(b.note(r, "calls"), at.cacheFolder(), "CACHE"); got != want.call {
			t.Errorf("%s: %q", line, got)
		}
		if got := c.Package + " " + c.Version; got != want.pkg || c.Change != Fresh || again.Change != Current {
			t.Errorf("%s: %s, %s and then %s", line, got, c.Change, again.Change)
		}
		run := strings.TrimSpace(strings.Join(append([]string{strings.TrimPrefix(c.Command, c.Dir+"/")}, c.Args...), " "))
		if run = strings.ReplaceAll(run, c.Dir+"/", ""); run != want.run || again.Command != c.Command {
			t.Errorf("%s: it runs %s, and then %s", line, run, again.Command)
		}
		if _, err := b.store.Renew(t.Context(), r); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if pinned := r.Package.IsPinned(); pinned != (b.calls(r) == 1) {
			t.Errorf("%s: pinned %t, and it was looked %d times", line, pinned, b.calls(r))
		}
	}
}

// TestInstallIsConfined: an install opens its own folders, and no part of the user's. The
// control is the same script without a sandbox.
func TestInstallIsConfined(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request("npx", "-y", "foo")
	r.Program.Env = map[string]string{"TOKEN": "secret", "npm_config_registry": "https://r", "NPM_CONFIG_X": "${root}"}
	r.Program.Sandbox.Read = []string{filepath.Join(b.home, "notes")}
	other := b.open(b.request("npx", "-y", "foo@1.0.0"))
	at, err := b.store.makePlace(r)
	must(t, err)
	b.write("packages/"+filepath.Base(string(at))+"/current", "{}")
	aims := []string{b.home + "/.npmrc", b.home + "/notes", b.project + "/file", at.currentFile(), filepath.Join(other.Dir, "package.json"), filepath.Join(t.TempDir(), "other")}
	must(t, os.WriteFile(aims[len(aims)-1], []byte("somebody else's"), 0o600))
	b.write("managers/bin/aims", strings.Join(aims, "\n")+"\n")
	b.open(r)
	if opened := b.note(r, "note.opened"); opened != "" {
		t.Errorf("it could open\n%s", opened)
	}
	env := b.note(r, "note.env")
	for _, name := range []string{"TOKEN=", "MCP_ROOTS", "SSH_AUTH_SOCK=", "NPM_CONFIG_X="} {
		if strings.Contains(env, name) {
			t.Errorf("it is given %s", name)
		}
	}
	if !strings.Contains(env, "npm_config_registry=https://r\n") {
		t.Error("it is not given settings of npm in the entry")
	}
	// An entry may open the settings of npm. What else it opens is for the server alone.
	with := b.request("npx", "-y", "foo", "with")
	with.Program.Sandbox.Read = []string{b.home + "/notes", b.home + "/.npmrc"}
	with.Name = "other"
	b.open(with)
	if opened := b.note(with, "note.opened"); opened != "read "+b.home+"/.npmrc\n" || strings.Contains(b.note(with, "note.env"), "userconfig") {
		t.Errorf("with sandbox.read it opened\n%s", opened)
	}
	free := b.request("npx", "-y", "foo")
	free.Name, free.Program.Sandbox.Mode = "free", sandbox.Off
	b.open(free).Release()
	if opened := b.note(free, "note.opened"); strings.Count(opened, "write") < 4 {
		t.Errorf("without a sandbox it opened\n%s: this shows nothing", opened)
	}
}

// TestRenew: a newer version takes the place of the one that runs, which stays for as
// long as it does. Where none can be had, the copy that is there runs and says so.
func TestRenew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request("npx", "foo")
	first := b.open(r)
	same := b.renew(r)
	if same.Change != Current || same.Dir != first.Dir || len(b.copies(r)) != 1 {
		t.Errorf("nothing is new: %s, copies %v", same.Change, b.copies(r))
	}
	same.Release()
	b.write("managers/bin/offline", "")
	old := b.renew(r)
	if old.Dir != first.Dir || !strings.Contains(old.Problem, "ENOTFOUND") || !strings.Contains(old.Problem, "connect to the network") || len(b.copies(r)) != 1 {
		t.Errorf("offline: %q, copies %v", old.Problem, b.copies(r))
	}
	old.Release()
	if said := b.open(r); said.Problem == "" {
		t.Error("later starts do not say that it could not be looked for")
	} else {
		said.Release()
	}
	must(t, os.Remove(filepath.Join(b.bin, "offline")))
	b.write("managers/bin/version", "1.1.0")
	next := b.renew(r)
	if next.Version != "1.1.0" || next.Change != Refreshed || next.Problem != "" || next.Dir == first.Dir {
		t.Errorf("%+v", next)
	}
	if _, err := os.Stat(first.Command); err != nil {
		t.Error("what runs was removed: ", err)
	}
	next.Release()
	first.Release()
	b.write("managers/bin/version", "1.2.0")
	last := b.renew(r)
	defer last.Release()
	if all := b.copies(r); len(all) != 1 || all[0] != filepath.Base(last.Dir) {
		t.Errorf("copies that nobody runs are left: %v", all)
	}
}

// TestRenewInBackground is done once a day, whether or not it succeeds.
func TestRenewInBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request("npx", "foo")
	b.open(r)
	look := func() {
		t.Helper()
		c, err := b.store.RenewInBackground(t.Context(), r)
		must(t, err)
		c.Release()
	}
	look()
	if b.store.IsDue(r) || b.calls(r) != 1 {
		t.Error("it is due at once")
	}
	b.clock = b.clock.Add(25 * time.Hour)
	b.write("managers/bin/offline", "")
	if !b.store.IsDue(r) {
		t.Error("it is not due after a day")
	}
	look()
	look()
	if b.calls(r) != 2 {
		t.Errorf("it was looked %d times", b.calls(r)-1)
	}
	b.clock = b.clock.Add(25 * time.Hour)
	at, err := b.store.makePlace(r)
	must(t, err)
	l := at.lockFile()
	if ok, err := l.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	look()
	must(t, l.Unlock())
	if b.calls(r) != 2 {
		t.Error("it is looked for although another hub installs")
	}
	must(t, os.Remove(filepath.Join(b.bin, "offline")))
	pinned := b.request("npx", "foo@1.0.0")
	b.open(pinned)
	b.clock = b.clock.Add(25 * time.Hour)
	if b.store.IsDue(pinned) {
		t.Error("what is pinned is due")
	}
}

// TestOneInstall: of several that start at once one installs, and the others take that.
func TestOneInstall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request("npx", "foo")
	dirs := make(chan string, 8)
	var all sync.WaitGroup
	for range cap(dirs) {
		all.Go(func() {
			c, err := NewStore(b.store.dir).Open(t.Context(), r)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Release()
			dirs <- c.Dir
		})
	}
	all.Wait()
	close(dirs)
	seen := map[string]int{}
	for dir := range dirs {
		seen[dir]++
	}
	if b.calls(r) != 1 || len(seen) != 1 {
		t.Errorf("%d installs, %v", b.calls(r), seen)
	}
}

// TestFailedInstall: nothing is left of an install that failed or was ended, and the
// error says what, where and what next.
func TestFailedInstall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request("npx", "foo")
	b.write("managers/bin/offline", "")
	_, err := b.store.Open(t.Context(), r)
	var failed *InstallError
	if !errors.As(err, &failed) || len(b.copies(r)) != 0 {
		t.Errorf("%v, copies %v", err, b.copies(r))
	}
	for _, part := range []string{"foo could not be installed by npm", "exited with status 1", "ENOTFOUND", "connect to the network", "mcphub warm kid", "~/.npmrc"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	must(t, os.Remove(filepath.Join(b.bin, "offline")))

	// One that is ended leaves nothing either, and no process.
	b.write("managers/bin/slow", "")
	var once sync.Once
	began := make(chan struct{})
	r.Said = func(int, string) { once.Do(func() { close(began) }) }
	ctx, cancel := context.WithCancelCause(t.Context())
	opened := make(chan error)
	go func() {
		_, err := b.store.Open(ctx, r)
		opened <- err
	}()
	<-began
	cancel(errors.New("the hub is stopping"))
	if err := <-opened; err == nil || !strings.Contains(err.Error(), "the hub is stopping") || len(b.copies(r)) != 0 {
		t.Errorf("%v, copies %v", err, b.copies(r))
	}
	must(t, os.Remove(filepath.Join(b.bin, "slow")))
	r.Said = nil

	// One that was cut off by the end of the machine is named by no one, and goes.
	at, err := b.store.makePlace(r)
	must(t, err)
	b.write("packages/"+filepath.Base(string(at))+"/copies/half/node_modules/.bin/foo", "#!/bin/sh\n")
	c := b.open(r)
	if all := b.copies(r); len(all) != 1 || all[0] != filepath.Base(c.Dir) {
		t.Errorf("copies %v", all)
	}
}

// TestProgramsThatAreRefused: what a package brings does not lead out of its copy, and
// it is told which program is meant.
func TestProgramsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a link out of the copy": {map[string]string{"target": "/bin/sh"}, "leads out of its copy, to /"},
		"a link to nothing":      {map[string]string{"target": "nothing"}, "has no program foo"},
		"no program":             {map[string]string{"package.json": `{"version":"VERSION"}`}, "the package foo has no program"},
		"several programs":       {map[string]string{"package.json": `{"version":"VERSION","bin":{"a":"a.js","b":"b.js"}}`}, "has the programs a, b: name one"},
		"no file":                {map[string]string{"package.json": `{"version":"VERSION","bin":{"a":"foo.sh"}}`}, "has no program a"},
		"not JSON":               {map[string]string{"package.json": `{`}, "package.json of foo"},
	} {
		b := newBench(t)
		for file, text := range c.files {
			b.write("managers/bin/"+file, text)
		}
		r := b.request("npx", "foo")
		_, err := b.store.Open(t.Context(), r)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(b.copies(r)) != 0 {
			t.Errorf("%s: %v, copies %v", name, err, b.copies(r))
		}
	}
	// Nor does it later: what is written of a copy is looked at again.
	b := newBench(t)
	r := b.request("npx", "foo")
	c := b.open(r)
	must(t, errors.Join(os.Remove(c.Command), os.Symlink("/bin/sh", c.Command)))
	if again := b.open(r); again.Dir == c.Dir || b.calls(r) != 2 {
		t.Error("a copy that was changed runs")
	}
}

// TestRunOfACopy: what runs may read its copy, not change it, and open nothing by links
// and first lines that the package brings.
func TestRunOfACopy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request("npx", "foo", "arg")
	c := b.open(r)
	secret := filepath.Join(b.home, "work", "bin", "secret")
	b.write("home/work/bin/secret", "#!/bin/sh\n")
	must(t, os.Chmod(secret, 0o700))
	run := func(text string) string {
		t.Helper()
		path := filepath.Join(c.Dir, "node_modules", "foo", "foo.sh")
		must(t, os.WriteFile(path, []byte(text), 0o700))
		l, err := launch.Plan(r.Program, nil, b.m.WithInstalled(&c.Installed))
		must(t, err)
		said, err := process.Run(t.Context(), l, time.Second, zerolog.Nop())
		if err != nil {
			return err.Error()
		}
		return said
	}
	if said := run("#!/bin/sh\necho run \"$@\"; cat " + c.Dir + "/package.json\n"); !strings.HasPrefix(said, "run arg") || !strings.Contains(said, "dependencies") {
		t.Errorf("it says %s", said)
	}
	for what, text := range map[string]string{
		"writes to its copy":        "echo x > " + c.Dir + "/x && echo DONE",
		"writes what names it":      "echo x >> " + filepath.Join(filepath.Dir(filepath.Dir(c.Dir)), "current") + " && echo DONE",
		"opens its manager's cache": "cat " + filepath.Join(filepath.Dir(filepath.Dir(c.Dir)), "cache", "calls") + " && echo DONE",
		"reads the home folder":     "cat " + b.home + "/notes && echo DONE",
		"follows a link":            "cat " + c.Dir + "/link && echo DONE",
	} {
		_ = os.Symlink(b.home+"/notes", filepath.Join(c.Dir, "link"))
		if said := run("#!/bin/sh\n(" + text + ") 2>&1; true\n"); strings.Contains(said, "DONE") || !strings.Contains(said, "denied") {
			t.Errorf("it %s: %s", what, said)
		}
	}
	if said := run("#!" + secret + "\n"); !strings.Contains(said, "denied") {
		t.Errorf("its first line opens a program of the user's: %s", said)
	}
}

// TestPlaces: what makes another install has another folder.
func TestPlaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	seen := map[place]string{}
	for _, line := range []string{"npx foo", "npx foo@1.0.0", "npx -p foo foo", "bunx foo", "bunx --bun foo", "pnpm dlx foo", "npx --registry=https://r foo", "/opt/npx foo", "uvx --with x foo", "uvx foo"} {
		at, err := b.store.makePlace(b.request(strings.Fields(line)...))
		must(t, err)
		if was := seen[at]; was != "" {
			t.Errorf("%s and %s have one folder", line, was)
		}
		seen[at] = line
	}
	same := b.request("npx", "-y", "foo", "other", "args")
	same.Program.Env = maps.Clone(map[string]string{"TOKEN": "x"})
	if at, err := b.store.makePlace(same); err != nil || seen[at] != "npx foo" {
		t.Errorf("arguments of the server make another install: %v", err)
	}
	same.Program.Env["npm_config_registry"] = "https://r"
	if at, err := b.store.makePlace(same); err != nil || seen[at] != "" {
		t.Errorf("another registry makes no other install: %v", err)
	}
}
