package e2e

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// A confined server has links in the place of what the hub opens or resolves for others when they start, and variables in the
// place of an env file. Nobody is given what they lead to. A link that the operator has put where no server writes is the
// control: it is followed.
func TestWhatAServerPlantsForTheHub(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	w := newWorld(t)
	const said = "what the home folder keeps"
	w.write("home/private/x", said)
	w.write("project/token", "a token")
	for _, name := range []string{"out", "tmp", "cache"} {
		must(t, os.MkdirAll(w.path("project", name), 0o700))
	}
	symlink(t, w.path("home", "private", "x"), w.path("home", "operators"))
	symlink(t, w.path("project", "token"), w.path("home", "through"))
	look := "echo $TOK; cat " + w.path("home", "private", "x")
	env := func(more obj) obj {
		all := obj{"OPENER_NEEDLE": "00"}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	kid := func(env obj, more obj) obj {
		e := obj{"command": bin.opener, "args": []string{}, "env": env, "paths": obj{"mode": "off"}}
		for name, value := range more {
			e[name] = value
		}
		return e
	}
	servers := obj{
		"kid":      kid(env(nil), nil),
		"file":     kid(env(obj{"TOK": "${file:" + w.path("project", "token") + "}"}), nil),
		"through":  kid(env(obj{"TOK": "${file:" + w.path("home", "through") + "}"}), nil),
		"free":     kid(env(obj{"TOK": "${file:" + w.path("project", "token") + "}"}), obj{"sandbox": "off"}),
		"operator": kid(env(obj{"TOK": "${file:" + w.path("home", "operators") + "}"}), nil),
		"write":    kid(env(nil), obj{"sandbox": obj{"write": []string{w.path("project", "out")}}}),
		"read":     kid(env(nil), obj{"sandbox": obj{"read": []string{w.path("project", "out")}}}),
		"temp":     kid(env(obj{"TMPDIR": w.path("project", "tmp"), "XDG_CACHE_HOME": w.path("project", "cache")}), nil),
		"vars":     kid(env(nil), obj{"envFile": w.path("project", "vars"), "sandbox": "off"}),
	}
	s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.config(servers)}, Roots: ide.Folders(w.project), Env: w.env()})
	s.initialize()
	ask := func(name, line string) string {
		return s.await(s.send(name+"__shell", raw(t, obj{"command": line}))).Text
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
