package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// Editors start the hub in the project, and a cloned repository must not start programs: a hub.json that lies there is left
// alone until it is named.
func TestHubJSONInTheWorkingDirectoryIsNotRead(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{".", "sub"} {
		for _, name := range []string{"hub.json", "mcphub.json", ".mcphub/hub.json", ".mcp.json"} {
			t.Run(folder+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				planted := filepath.Join("project", folder, name)
				w.write(planted, raw(t, obj{"mcpServers": obj{"evil": w.recorder("evil")}}))
				s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve"}, Dir: w.path("project", folder), Roots: ide.Folders(w.project)})
				s.initialize()
				all := s.awaitTool("get-roots")
				if s.request("tools/call", ide.ToolParams("evil__echo", `{}`)).Result != nil || all["evil__echo"] != nil {
					t.Errorf("its child is offered: %v", names(all))
				}
				if st := w.starts("evil"); len(st) > 0 {
					t.Errorf("its child was started: %+v", st)
				}
				// What is offered instead is the embedded child (hub-json: without any configuration).
				if len(all) < 5 {
					t.Errorf("without a configuration only %v is offered", names(all))
				}
				s.end(stopBound)
				if name == "hub.json" && !strings.Contains(s.Stderr(), "hub.json") {
					t.Error("the log does not mention that a hub.json lies there unused")
				}
			})
		}
	}
	t.Run("named, it is read", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.write("project/hub.json", raw(t, obj{"mcpServers": obj{"evil": w.recorder("evil")}}))
		s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", "hub.json"}, Dir: w.project, Roots: ide.Folders(w.project)})
		s.initialize()
		s.call("evil__echo", `{}`)
	})
}

func TestWhereTheConfigurationIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, child := range []string{"flag", "env", "home"} {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			place := func(child, file string) string {
				return w.write(file, raw(t, obj{"mcpServers": obj{child: w.recorder(child)}}))
			}
			o := ide.Options{Command: mcphub(t), Args: []string{"serve"}, Env: w.env(), Roots: ide.Folders(w.project)}
			place("home", "home/config/mcphub/hub.json")
			if child != "home" {
				o.Env = append(o.Env, "MCPHUB_CONFIG="+place("env", "by-env.json"))
			}
			if child == "flag" {
				o.Args = append(o.Args, "--config", place("flag", "by-flag.json"))
			}
			s := w.start(o)
			s.initialize()
			for name := range s.awaitTool(child + "__echo") {
				if prefix, _, ok := strings.Cut(name, "__"); ok && prefix != child {
					t.Errorf("%s is offered too", name)
				}
			}
		})
	}
}

// A child's environment is its own: what a system needs, what its entry gives, what it may inherit, and nothing else (C7).
func TestTheChildsEnvironmentAndWorkingDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.recorder("rec")
	own["env"].(obj)["MINE"] = "from ${GIVEN} and ${NOT_GIVEN:-nothing}"
	own["inherit"] = []string{"LET_THROUGH"}
	elsewhere := w.recorder("elsewhere")
	elsewhere["cwd"] = w.other
	s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.config(obj{"rec": own, "elsewhere": elsewhere})},
		Env:   w.env("GITHUB_TOKEN=a secret of the hub", "LET_THROUGH=yes", "GIVEN=the hub", "HTTPS_PROXY=http://127.0.0.1:9", "LD_PRELOAD=", "MCPHUB_ROOTS="),
		Roots: ide.Folders(w.project, w.other)})
	s.initialize()
	var st started
	decode(t, s.call("rec__whoami", `{}`).Structured, &st)
	for _, want := range []string{"HOME=" + w.home, "MINE=from the hub and nothing", "LET_THROUGH=yes", "HTTPS_PROXY=http://127.0.0.1:9", s.mark} {
		if !slices.Contains(st.Env, want) {
			t.Errorf("no %s in the child's environment %q", want, st.Env)
		}
	}
	for _, entry := range st.Env {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains([]string{"GITHUB_TOKEN", "GIVEN", "GORACE", "GOCOVERDIR", "LD_PRELOAD", "NO_COLOR"}, name) || strings.Contains(value, "a secret of the hub") {
			t.Errorf("the child was given %s", entry)
		}
	}
	if st.Cwd != w.project {
		t.Errorf("working directory %s, want the first root %s", st.Cwd, w.project)
	}
	decode(t, s.call("elsewhere__whoami", `{}`).Structured, &st)
	if st.Cwd != w.other {
		t.Errorf("working directory %s, want the configured %s", st.Cwd, w.other)
	}
}

// Without a root the child runs where the hub does; a hub that was started in / runs it in its home (C4).
func TestTheWorkingDirectoryWithoutARoot(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no / here")
	}
	w := newWorld(t)
	for dir, want := range map[string]string{w.other: w.other, "/": w.home} {
		s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.config(obj{"rec": w.recorder("rec")})}, Dir: dir, Capabilities: `{}`})
		s.initialize()
		var st started
		decode(t, s.call("rec__whoami", `{}`).Structured, &st)
		if st.Cwd != want {
			t.Errorf("hub in %s: child in %s, want %s", dir, st.Cwd, want)
		}
	}
}

// No call may touch the hub's own configuration, whatever the roots say (V10 begins here: it is the seam that is proved).
func TestTheConfigurationFileItselfIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(obj{"rec": w.recorder("rec")})
	s := w.serve(config, ide.Folders(w.dir))
	s.initialize()
	s.call("rec__echo", pathArgs(t, w.path("project", "hello.txt")))
	if r := s.await(s.send("rec__echo", pathArgs(t, config))); !r.IsError {
		t.Errorf("hub.json was within reach: %s", r.Raw)
	}
	if _, err := os.Stat(config); err != nil {
		t.Error(err)
	}
}
