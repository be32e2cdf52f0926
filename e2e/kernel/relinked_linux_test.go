package kernel

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// relinked is a home folder whose settings are links into a folder in which a server of another session works, as people have
// who keep their dotfiles in a repository.
type relinked struct {
	*world.World
	t      *testing.T
	hub    string // programs
	opener string
	user   bool // the hub is the hub of an ordinary user, no one
	apart  bool // a client of its own starts each hub, so that this process may be a person

	sandbox string // the mode of each entry that has none; "": the default
	attach  string // "auto": the sessions of a hub.json share a hub; "": they do not
	group   string // the folder of the control group in which each session begins; "": this process's
}

// newRelinked makes one in a folder of a name.
func newRelinked(t *testing.T, folder string, user bool) *relinked {
	t.Helper()
	dir := world.ShortFolder(t)
	world.Must(t, os.Chmod(dir, 0o711))
	dir += "/" + folder
	world.Must(t, os.Mkdir(dir, 0o711))
	w := world.NewIn(t, dir)
	r := &relinked{World: w, t: t, hub: world.Hub(t), opener: world.Bin.Opener, user: user}
	world.Must(t, os.Mkdir(w.Path("tmp"), 0o700))
	if user { // who cannot reach those of root
		r.hub, r.opener = w.Path("mcphub"), w.Path("opener")
		world.Must(t, exec.Command("cp", world.Hub(t), r.hub).Run()) // another process, or a fork of this one keeps them open for writing
		world.Must(t, exec.Command("cp", world.Bin.Opener, r.opener).Run())
	}
	for name, text := range map[string]string{
		"home/dotfiles/gitconfig":   "[user]\n\tname = honest\n",
		"home/dotfiles/bin/tool":    "honest\n",
		"home/dotfiles/conf/app":    "honest\n",
		"home/dotfiles/kube/config": "honest\n",
		"home/dotfiles/app/data":    "honest\n",
		"home/dotfiles/token":       "honest\n",
		"home/dotfiles/run":         "#!/bin/sh\nexec " + r.opener + "\n",
		"home/private/run":          "#!/bin/sh\nexec " + r.opener + "\n",
		"home/private/x":            "# " + world.SecretText, // which git reads as settings
		"home/.aws/x":               world.SecretText,
		"home/.ssh/x":               world.SecretText,
	} {
		w.Write(name, text)
	}
	for _, name := range []string{"dotfiles", "private"} {
		world.Must(t, os.Chmod(w.Path("home", name, "run"), 0o700))
	}
	w.Write("fake/npm", "#!/bin/sh\nexec "+r.opener+"\n")
	world.Must(t, os.Chmod(w.Path("fake", "npm"), 0o700))
	w.Write("tools/node_modules/mcp-server-kubernetes/run.sh", "exec "+r.opener+"\n")
	world.Must(t, os.Mkdir(w.Path("home", ".local"), 0o700))
	for name, to := range map[string]string{".gitconfig": "dotfiles/gitconfig", ".local/bin": "../dotfiles/bin", "conf": "dotfiles/conf", ".kube": "dotfiles/kube", "app": "dotfiles/app", "token": "dotfiles/token", "run": "dotfiles/run"} {
		world.Symlink(t, to, w.Path("home", name))
	}
	r.own()
	if user {
		t.Cleanup(func() { _ = os.RemoveAll(r.kept()) })
	}
	return r
}

// own gives all of it to the user of the hub.
func (r *relinked) own() {
	r.t.Helper()
	r.give(r.Dir)
}

// give gives what is at a path to the user of the hub.
func (r *relinked) give(path string) {
	r.t.Helper()
	if r.user {
		world.Must(r.t, filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, nobody, nobody))
		}))
	}
}

const nobody = 65534

// session returns one of a hub of its own, in a folder, with one server.
func (r *relinked) session(hub string, kid obj, root string) *world.Session {
	r.t.Helper()
	return r.sessionOf(hub, kid, obj{}, ide.Options{Roots: ide.Folders(root)})
}

// sessionOf is session with more of hub.json, and of the client: its capabilities, roots, arguments of the hub and variables.
func (r *relinked) sessionOf(hub string, kid, more obj, client ide.Options) *world.Session {
	r.t.Helper()
	return r.serve(hub, obj{"kid": kid}, more, client)
}

// serve is sessionOf with several servers.
func (r *relinked) serve(hub string, servers, more obj, client ide.Options) *world.Session {
	r.t.Helper()
	for _, server := range servers {
		r.complete(server.(obj))
	}
	conf := obj{"mcpServers": servers}
	if r.attach != "" {
		conf["attach"] = obj{"mode": r.attach, "idle": "400ms"}
	}
	maps.Copy(conf, more)
	text, err := json.Marshal(conf)
	world.Must(r.t, err)
	file := r.Write(hub+".json", string(text))
	r.give(file)
	line := r.asUser(append([]string{r.hub, "serve", "--config", file}, client.Args...))
	if r.group != "" {
		line = append([]string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, r.group}, line...)
	}
	client.Command, client.Args, client.Dir, client.Apart = line[0], line[1:], r.Project, r.apart
	client.Env = append(r.env(), client.Env...)
	s := r.Start(client)
	s.Attached = r.attach == "auto"
	s.Handshake()
	return s
}

// complete gives an entry what it does not say.
func (r *relinked) complete(entry obj) {
	for key, value := range (obj{"args": []string{}, "command": r.opener, "paths": obj{"mode": "off"}}) {
		if entry[key] == nil {
			entry[key] = value
		}
	}
	held, _ := entry["sandbox"].(obj)
	switch {
	case r.sandbox == "":
	case held != nil:
		held["mode"] = r.sandbox
	case entry["sandbox"] == nil:
		entry["sandbox"] = r.sandbox
	}
}

func (r *relinked) env() []string { return r.Env("TMPDIR=" + r.Path("tmp")) }

// asUser returns a command line that runs as the user of the hub.
func (r *relinked) asUser(line []string) []string {
	if !r.user {
		return line
	}
	return append([]string{needs.Program(r.t, "setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"}, line...)
}

// command runs a command line as the user of the hub, in a folder.
func (r *relinked) command(dir string, line ...string) (out string, err error) {
	r.t.Helper()
	line = r.asUser(line)
	cmd := exec.CommandContext(r.t.Context(), line[0], line[1:]...)
	cmd.Dir, cmd.Env = dir, r.env()
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// does has the server run a line, and says what came of it.
func (r *relinked) does(s *world.Session, line string) string {
	r.t.Helper()
	return r.has(s, "kid", line)
}

// has is does of any server.
func (r *relinked) has(s *world.Session, server, line string) string {
	r.t.Helper()
	return s.AwaitCall(s.SendCall(server+"__shell", world.Raw(r.t, obj{"command": "cd '" + r.Home + "'; " + line}))).Text
}

// awaitEnd waits until no hub runs.
func (r *relinked) awaitEnd() {
	r.t.Helper()
	if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(r.t, "HOME="+r.Home)) == 0 }) {
		r.t.Fatal("a hub does not end")
	}
}

// forget takes the memory of links away, and that of where servers write.
func (r *relinked) forget() {
	r.t.Helper()
	world.Must(r.t, os.Remove(filepath.Join(r.kept(), "links")))
	for _, dir := range []string{r.kept(), r.Path("home", "state", "mcphub", "consent")} {
		world.Must(r.t, os.RemoveAll(filepath.Join(dir, "reach")))
	}
}

// kept returns the folder in which the hub keeps what a person has accepted: each user has one.
func (r *relinked) kept() string {
	dir, err := r.Consent().Folder()
	world.Must(r.t, err)
	if r.user {
		base := filepath.Dir(dir)
		dir = strings.TrimSuffix(base, strconv.Itoa(os.Geteuid())) + strconv.Itoa(nobody) + "/" + filepath.Base(dir)
	}
	return dir
}

// A server of one session has links instead of what the names of the base, of a profile or of an entry lead to, and a server
// of another session, of another hub, starts. It is not given what they lead to, and its status says so. The same with the
// memory taken away is the control: then it is. Keys are closed without any
// memory: of all names but that of a secret children/confinement holds it. The short run tries some of the names.
func TestWhatAnotherSessionRelinks(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for name, tc := range map[string]struct {
		short  bool // it is tried in the short run, too
		kid    func(r *relinked) obj
		honest string // shows that the name is open
		name   string // below the folder of the other session
		to     string // below home, what the control gets at; "": private
	}{
		"a file of the base":   {honest: "cat .gitconfig", name: "gitconfig", to: "private/x"},
		"a folder of the base": {short: true, honest: "cat .local/bin/tool", name: "bin"},
		"what its entry reads": {kid: func(r *relinked) obj { return obj{"sandbox": obj{"read": []string{"~/conf"}}} }, honest: "cat conf/app", name: "conf"},
		"what its entry writes": {kid: func(r *relinked) obj { return obj{"sandbox": obj{"write": []string{"~/conf"}}} },
			honest: "echo honest > conf/new; cat conf/new", name: "conf"},
		"its working directory": {short: true, kid: func(r *relinked) obj {
			return obj{"command": r.Path("fake", "npm"), "args": []string{"start"}, "cwd": r.Path("home", "app"), "sandbox": obj{"read": []string{r.opener}}}
		}, honest: "cat app/data", name: "app"},
		"what a profile reads": {kid: func(r *relinked) obj {
			return obj{"command": "sh", "args": []string{r.Path("tools", "node_modules", "mcp-server-kubernetes", "run.sh")}, "sandbox": obj{"read": []string{r.opener}}}
		}, honest: "cat .kube/config", name: "kube"},
		"its program": {kid: func(r *relinked) obj {
			return obj{"command": r.Path("home", "run"), "sandbox": obj{"read": []string{r.opener}}}
		}, honest: "echo honest", name: "run", to: "private/run"},
		"a file with a secret": {short: true, kid: func(r *relinked) obj {
			return obj{"env": obj{"TOK": "${file:" + r.Path("home", "token") + "}", "OPENER_NEEDLE": "00"}}
		}, honest: "echo $TOK", name: "token", to: "private/x"},
		"a folder that it names": {kid: func(r *relinked) obj { return obj{"args": []string{r.Path("home", "conf")}} },
			honest: "echo honest > conf/new; cat conf/new", name: "conf"},
		"a file that it names": {short: true, kid: func(r *relinked) obj { return obj{"args": []string{"--db=" + r.Path("home", "conf", "app")}} },
			honest: "echo honest > conf/app; cat conf/app", name: "conf/app"},
		"its temporary folder": {kid: func(r *relinked) obj {
			return obj{"env": obj{"TMPDIR": r.Path("home", "conf"), "OPENER_NEEDLE": "00"}}
		}, honest: "cat conf/app", name: "conf"},
	} {
		if !tc.short && !world.Long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelinked(t, "world", false)
			victim := func() *world.Session {
				kid := obj{}
				if tc.kid != nil {
					kid = tc.kid(r)
				}
				return r.session("victim", kid, r.Project)
			}
			to := tc.to
			if to == "" {
				to = "private"
			}
			look := "cat private/x; echo $TOK; true"
			s := victim()
			if said := r.does(s, tc.honest); !strings.Contains(said, "honest") {
				t.Fatalf("an honest link does not work: %s", said)
			}
			if said := r.does(s, look); strings.Contains(said, world.SecretText) {
				t.Fatalf("it is open before: %s", said)
			}
			s.End(world.StopBound)
			plant := func(to string) {
				t.Helper()
				a := r.session("other", obj{}, r.Path("home", "dotfiles"))
				if said := r.does(a, "cd dotfiles; rm -rf "+tc.name+"; ln -s "+r.Path("home", to)+" "+tc.name+"; readlink "+tc.name); !strings.Contains(said, to) {
					t.Fatalf("the other session could not plant a link: %s", said)
				}
				a.End(world.StopBound)
			}
			plant(to)
			s = victim()
			if said := r.does(s, look); strings.Contains(said, world.SecretText) {
				t.Errorf("it reads %s by the link that another session has planted: %s", to, said)
			} else if name == "its program" && !strings.Contains(said, "mcphub status") {
				t.Errorf("it is not said why it does not start: %s", said)
			}
			var said string // a call can be answered before the lists of the server are there, and it is ready
			if name != "its program" && name != "a file with a secret" && !world.Within(world.WaitLimit, func() bool {
				said = s.MustCall("get-roots", `{}`).Text
				return strings.Contains(said, "mcphub status")
			}) {
				t.Errorf("nobody is told: %s", said)
			}
			s.End(world.StopBound)
			r.forget()
			s = victim()
			if said := r.does(s, look); !strings.Contains(said, world.SecretText) {
				t.Errorf("nothing is remembered, and the link opens nothing, so this shows nothing: %s", said)
			}
			s.End(world.StopBound)
			if name != "a file with a secret" {
				return
			}
			for _, key := range []string{".ssh/x", ".aws/x"} {
				plant(key)
				r.forget()
				s = victim()
				if said := r.does(s, "echo $TOK"); strings.Contains(said, world.SecretText) {
					t.Errorf("it reads %s: %s", key, said)
				}
				s.End(world.StopBound)
			}
		})
	}
}

// The same within one hub, whose session opens other folders, for an ordinary user as for root. A home folder may have any
// name.
func TestWhatASessionRelinksForItsNext(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for name, user := range map[string]bool{"Größe mit Blank": true, "root": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelinked(t, name, user && os.Geteuid() == 0) // another user cannot become one, and is one
			kid := func() obj { return obj{"sandbox": obj{"read": []string{"~/conf"}}} }
			s := r.session("hub", kid(), r.Path("home", "dotfiles"))
			const honest, look = "cat .gitconfig .local/bin/tool conf/app", "cat private/x"
			if said := r.does(s, honest); strings.Count(said, "honest") != 3 {
				t.Errorf("honest links do not work: %s", said)
			}
			said := r.does(s, "cd dotfiles; rm -r bin conf gitconfig; ln -s ../private bin; ln -s ../private conf; ln -s ../private/x gitconfig; ls -l; cat ../private/x")
			if strings.Count(said, "-> ../private") != 3 || strings.Contains(said, world.SecretText) {
				t.Fatalf("it could not plant links: %s", said)
			}
			open := func() string {
				t.Helper()
				world.Must(t, s.RootsChanged())
				return r.does(s, look)
			}
			s.SetRoots(ide.Folders(r.Project))
			if said := open(); strings.Contains(said, world.SecretText) {
				t.Errorf("it reads by links that it has planted: %s", said)
			}
			r.forget()
			s.SetRoots(ide.Folders(r.Other))
			if said := open(); !strings.Contains(said, world.SecretText) {
				t.Errorf("nothing is remembered, and the links open nothing, so this shows nothing: %s", said)
			}
		})
	}
}
