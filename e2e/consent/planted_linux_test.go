package consent

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// A server of one session puts a link in the place of a folder, and a session of another hub has this folder as a root, or a
// rule opens it. Its server is not given what the link leads to, and get-roots says what to do. Without the record of where
// servers could write it is, which is the control; but for keys, which no link opens.
func TestARootThatAnotherSessionPlanted(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	without := func(more obj, args, env []string) func(*relinked, string) (obj, ide.Options) {
		return func(*relinked, string) (obj, ide.Options) {
			return more, ide.Options{Capabilities: `{}`, Args: args, Env: env}
		}
	}
	for name, named := range map[string]func(r *relinked, proj string) (obj, ide.Options){
		"the client's": func(_ *relinked, proj string) (obj, ide.Options) {
			return nil, ide.Options{Roots: ide.Folders(proj)}
		},
		"the client's, by a link of a person": func(r *relinked, proj string) (obj, ide.Options) {
			world.Symlink(t, proj, r.Path("home", "shortcut"))
			return nil, ide.Options{Roots: ide.Folders(r.Path("home", "shortcut"))}
		},
		"roots.fallback": func(_ *relinked, proj string) (obj, ide.Options) {
			return without(obj{"roots": obj{"fallback": []string{proj}}}, nil, nil)(nil, proj)
		},
		"--roots": func(_ *relinked, proj string) (obj, ide.Options) {
			return without(nil, []string{"--roots", proj}, nil)(nil, proj)
		},
		"MCPHUB_ROOTS": func(_ *relinked, proj string) (obj, ide.Options) {
			return without(nil, nil, []string{"MCPHUB_ROOTS=" + proj})(nil, proj)
		},
		"a rule": func(r *relinked, proj string) (obj, ide.Options) {
			rule := obj{"name": "more", "then": "allow", "if": obj{"paths": obj{"within": proj}}}
			return obj{"policy": obj{"rules": []obj{rule}}}, ide.Options{Roots: ide.Folders(r.Project)}
		},
	} {
		for who, user := range map[string]bool{"a user": true, "root": false} {
			if user && os.Geteuid() != 0 || !user && name != "the client's" && name != "a rule" {
				continue
			}
			t.Run(name+" as "+who, func(t *testing.T) {
				t.Parallel()
				r := newRelinked(t, "world", user)
				proj := r.Path("home", "ws", "proj")
				r.Write("home/ws/proj/x", "honest\n")
				r.own()
				more, client := named(r, proj)
				r.own()
				opens := func() *world.Session { return r.sessionOf("victim", obj{}, more, client) }
				s := opens()
				if said := r.does(s, "cat ws/proj/x"); !strings.Contains(said, "honest") {
					t.Fatalf("an honest folder is not open: %s", said)
				}
				s.End(world.StopBound)
				plant := func(to string) {
					t.Helper()
					a := r.session("other", obj{}, r.Path("home", "ws"))
					if said := r.does(a, "cd ws; rm -rf proj; ln -s ../"+to+" proj; readlink proj"); !strings.Contains(said, to) {
						t.Fatalf("the other session could not plant a link: %s", said)
					}
					a.End(world.StopBound)
				}
				for _, to := range []string{"private", ".aws"} {
					if to == ".aws" && name != "the client's" && name != "a rule" { // what is asked is the same
						break
					}
					plant(to)
					s = opens()
					if said := r.does(s, "cat ws/proj/x "+to+"/x"); strings.Contains(said, world.SecretText) {
						t.Errorf("it reads %s by the link: %s", to, said)
					}
					if said := s.MustCall("get-roots", `{}`).Text; to == "private" && !strings.Contains(said, "mcphub status") {
						t.Errorf("it is not said what to do: %s", said)
					}
					s.End(world.StopBound)
					r.forget()
					s = opens()
					if said := r.does(s, "cat ws/proj/x "+to+"/x"); strings.Contains(said, world.SecretText) != (to == "private") {
						t.Errorf("without the record, by a link to %s: %s", to, said)
					}
					s.End(world.StopBound)
				}
			})
		}
	}
}

// The program of a server lies where another session's server writes. That server adds what leads the program's package elsewhere: a
// linked module, a workspace, a virtual environment, a folder of packages. The program opens none of it when it starts next, and its status
// says so. Without the record of where servers could write it does, which is the control; a module that leads inside of what that server could write works.
func TestAPackageThatAnotherSessionPlanted(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for name, tc := range map[string]struct {
		program string // below home/dev
		plant   string // in home/dev
	}{
		"a linked module":      {"srv/run", "mkdir -p srv/node_modules; ln -s ../../../private srv/node_modules/extra"},
		"a module of a scope":  {"srv/run", "mkdir -p srv/node_modules/@a; ln -s ../../../../private srv/node_modules/@a/extra"},
		"a workspace":          {"srv/run", "echo {} > package.json; mkdir node_modules; ln -s ../../private node_modules/extra"},
		"a folder of packages": {"venv/bin/run", "echo $HOME/private > venv/lib/python3/site-packages/extra.pth"},
		"a Python":             {"venv/bin/run", "printf 'home = %s\n' $HOME/private > venv/pyvenv.cfg"},
		"a first line":         {"srv/run", "printf '#!%s\n' $HOME/private/python3 > srv/run"},
	} {
		for who, user := range map[string]bool{"a user": true, "root": false} {
			if user != (os.Geteuid() == 0) && name != "a linked module" {
				continue
			}
			t.Run(name+" as "+who, func(t *testing.T) {
				t.Parallel()
				r := newRelinked(t, "world", user && os.Geteuid() == 0)
				script := "#!/bin/sh\nexec " + r.opener + "\n"
				for file, text := range map[string]string{
					"srv/run": script, "srv/package.json": "{}", "venv/bin/run": script, "venv/pyvenv.cfg": "home = /usr/bin\n", "venv/lib/python3/site-packages/own.py": "",
				} {
					r.Write("home/dev/"+file, text)
				}
				r.Write("home/private/python3", "#!/bin/sh\nexec "+r.opener+"\n")
				for _, file := range []string{"dev/srv/run", "dev/venv/bin/run", "private/python3"} {
					world.Must(t, os.Chmod(r.Path("home", file), 0o700))
				}
				r.own()
				victim := func() *world.Session {
					return r.session("victim", obj{"command": r.Path("home", "dev", tc.program), "sandbox": obj{"read": []string{r.opener}}}, r.Project)
				}
				s := victim()
				if said := r.does(s, "echo runs; cat private/x"); !strings.Contains(said, "runs") || strings.Contains(said, world.SecretText) {
					t.Fatalf("before: %s", said)
				}
				s.End(world.StopBound)
				a := r.session("other", obj{}, r.Path("home", "dev"))
				if said := r.does(a, "HOME="+r.Home+"; cd dev && "+tc.plant+" && mkdir -p srv/node_modules lib && ln -s ../../lib srv/node_modules/inside && echo plan''ted"); !strings.Contains(said, "planted") {
					t.Fatalf("the other session could not plant it: %s", said)
				}
				a.End(world.StopBound)
				s = victim()
				if said := r.does(s, "cat private/x; true"); strings.Contains(said, world.SecretText) {
					t.Errorf("it reads what another session has planted: %s", said)
				}
				if !world.Within(world.WaitLimit, func() bool { // what does not start is told by the log alone
					return strings.Contains(s.MustCall("get-roots", `{}`).Text, "mcphub status") || name == "a first line" && strings.Contains(s.Stderr(), "mcphub status")
				}) {
					t.Error("nobody is told")
				}
				if said := s.MustCall("get-roots", `{}`).Text; strings.Contains(said, "node_modules/inside") {
					t.Errorf("a module that leads inside of what the server could write is not followed: %s", said)
				}
				s.End(world.StopBound)
				r.forget()
				s = victim()
				if said := r.does(s, "cat private/x; true"); !strings.Contains(said, world.SecretText) {
					t.Errorf("without the record it reads nothing, so this shows nothing: %s", said)
				}
				s.End(world.StopBound)
			})
		}
	}
}
