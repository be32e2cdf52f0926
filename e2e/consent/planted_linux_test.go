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
