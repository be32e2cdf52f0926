package kernel

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// A confined server has links instead of what the hub opens or resolves for others when they start, and variables instead of
// an env file. No one is given what they lead to. A link that the operator has put in a place that no server writes is the control: it is
// followed.
func TestWhatAServerPlantsForTheHub(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	const said = "what the home folder keeps"
	w.Write("home/private/x", said)
	w.Write("project/token", "a token")
	for _, name := range []string{"out", "tmp", "cache"} {
		world.Must(t, os.MkdirAll(w.Path("project", name), 0o700))
	}
	world.Symlink(t, w.Path("home", "private", "x"), w.Path("home", "operators"))
	world.Symlink(t, w.Path("project", "token"), w.Path("home", "through"))
	look := "echo $TOK; cat " + w.Path("home", "private", "x")
	env := func(more obj) obj {
		all := obj{"OPENER_NEEDLE": "00"}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	kid := func(env obj, more obj) obj {
		e := obj{"command": world.Bin.Opener, "args": []string{}, "env": env, "paths": obj{"mode": "off"}}
		for name, value := range more {
			e[name] = value
		}
		return e
	}
	servers := obj{
		"kid":      kid(env(nil), nil),
		"file":     kid(env(obj{"TOK": "${file:" + w.Path("project", "token") + "}"}), nil),
		"through":  kid(env(obj{"TOK": "${file:" + w.Path("home", "through") + "}"}), nil),
		"free":     kid(env(obj{"TOK": "${file:" + w.Path("project", "token") + "}"}), obj{"sandbox": "off"}),
		"operator": kid(env(obj{"TOK": "${file:" + w.Path("home", "operators") + "}"}), nil),
		"write":    kid(env(nil), obj{"sandbox": obj{"write": []string{w.Path("project", "out")}}}),
		"read":     kid(env(nil), obj{"sandbox": obj{"read": []string{w.Path("project", "out")}}}),
		"temp":     kid(env(obj{"TMPDIR": w.Path("project", "tmp"), "XDG_CACHE_HOME": w.Path("project", "cache")}), nil),
		"vars":     kid(env(nil), obj{"envFile": w.Path("project", "vars"), "sandbox": "off"}),
	}
	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(servers)}, Roots: ide.Folders(w.Project), Env: w.Env()})
	s.Handshake()
	ask := func(name, line string) string {
		return s.AwaitCall(s.SendCall(name+"__shell", world.Raw(t, obj{"command": line}))).Text
	}
	for _, name := range []string{"file", "through", "free"} {
		if got := ask(name, look); !strings.Contains(got, "a token") || name != "free" && strings.Contains(got, said) {
			t.Errorf("%s at first: %s", name, got)
		}
	}
	if got := ask("operator", look); !strings.Contains(got, said) {
		t.Errorf("the operator's own link is not followed, so this shows nothing: %s", got)
	}
	planted := "rm -rf token out tmp cache; ln -s ../home/private/x token; for d in out tmp cache; do ln -s ../home/private $d; done; " +
		"echo 'echo planted' > evil; echo BASH_ENV=$PWD/evil > vars; ls -l token"
	if got := ask("kid", planted); !strings.Contains(got, "private/x") {
		t.Fatal(got)
	}
	for name := range servers {
		if name == "kid" || name == "operator" {
			continue
		}
		ask(name, "kill -9 $PPID")
		got := ask(name, look)
		if name == "free" { // which nothing holds: what it reads by itself is no news
			got, _, _ = strings.Cut(got, "\n")
		}
		if strings.Contains(got, said) || strings.Contains(got, "planted") {
			t.Errorf("%s is given what lies outside: %s", name, got)
		}
	}
	for name, want := range map[string]string{"file": "by a link where servers write", "free": "by a link where servers write", "vars": "envFile: it lies in a root"} {
		if got := ask(name, look); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
