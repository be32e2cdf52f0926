package operation

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// Editors start the hub in the project, and a cloned repository must not start programs: a hub.json that lies there is left
// alone until it is named.
func TestHubJSONInTheWorkingDirectoryIsNotRead(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{".", "sub"} {
		for _, name := range []string{"hub.json", "mcphub.json", ".mcphub/hub.json", ".mcp.json"} {
			t.Run(folder+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				planted := filepath.Join("project", folder, name)
				w.Write(planted, world.Raw(t, obj{"mcpServers": obj{"evil": w.Recorder("evil")}}))
				s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve"}, Dir: w.Path("project", folder), Roots: ide.Folders(w.Project)})
				s.Handshake()
				all := s.AwaitTool("get-roots")
				if s.MustRequest("tools/call", ide.ToolParams("evil__echo", `{}`)).Result != nil || all["evil__echo"] != nil {
					t.Errorf("its child is offered: %v", world.Names(all))
				}
				if st := w.Starts("evil"); len(st) > 0 {
					t.Errorf("its child was started: %+v", st)
				}
				// What is offered instead is the embedded child (hub-json: without any configuration).
				if len(all) < 5 {
					t.Errorf("without a configuration only %v is offered", world.Names(all))
				}
				s.End(world.StopBound)
				if name == "hub.json" && !strings.Contains(s.Stderr(), "hub.json") {
					t.Error("the log does not mention that a hub.json lies there unused")
				}
			})
		}
	}
	t.Run("named, it is read", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		w.Write("project/hub.json", world.Raw(t, obj{"mcpServers": obj{"evil": w.Recorder("evil")}}))
		s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", "hub.json"}, Dir: w.Project, Roots: ide.Folders(w.Project)})
		s.Handshake()
		s.MustCall("evil__echo", `{}`)
	})
}

func TestWhereTheConfigurationIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, child := range []string{"flag", "env", "home"} {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			place := func(child, file string) string {
				return w.Write(file, world.Raw(t, obj{"mcpServers": obj{child: w.Recorder(child)}}))
			}
			o := ide.Options{Command: world.Hub(t), Args: []string{"serve"}, Env: w.Env(), Roots: ide.Folders(w.Project)}
			place("home", "home/config/mcphub/hub.json")
			if child != "home" {
				o.Env = append(o.Env, "MCPHUB_CONFIG="+place("env", "by-env.json"))
			}
			if child == "flag" {
				o.Args = append(o.Args, "--config", place("flag", "by-flag.json"))
			}
			s := w.Start(o)
			s.Handshake()
			for name := range s.AwaitTool(child + "__echo") {
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
	w := world.New(t)
	own := w.Recorder("rec")
	own["env"].(obj)["MINE"] = "from ${GIVEN} and ${NOT_GIVEN:-nothing}"
	own["inherit"] = []string{"LET_THROUGH"}
	elsewhere := w.Recorder("elsewhere")
	elsewhere["cwd"] = w.Other
	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"rec": own, "elsewhere": elsewhere})},
		Env:   w.Env("GITHUB_TOKEN=a secret of the hub", "LET_THROUGH=yes", "GIVEN=the hub", "HTTPS_PROXY=http://127.0.0.1:9", "LD_PRELOAD=", "MCPHUB_ROOTS="),
		Roots: ide.Folders(w.Project, w.Other)})
	s.Handshake()
	var st world.Started
	world.Decode(t, s.MustCall("rec__whoami", `{}`).Structured, &st)
	for _, want := range []string{"HOME=" + w.Home, "MINE=from the hub and nothing", "LET_THROUGH=yes", "HTTPS_PROXY=http://127.0.0.1:9", s.Mark} {
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
	if st.Cwd != w.Project {
		t.Errorf("working directory %s, want the first root %s", st.Cwd, w.Project)
	}
	world.Decode(t, s.MustCall("elsewhere__whoami", `{}`).Structured, &st)
	if st.Cwd != w.Other {
		t.Errorf("working directory %s, want the configured %s", st.Cwd, w.Other)
	}
}

// Without a root the child runs where the hub does; a hub that was started in / runs it in its home (C4).
func TestTheWorkingDirectoryWithoutARoot(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no / here")
	}
	w := world.New(t)
	for dir, want := range map[string]string{w.Other: w.Other, "/": w.Home} {
		s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"rec": w.Recorder("rec")})}, Dir: dir, Capabilities: `{}`})
		s.Handshake()
		var st world.Started
		world.Decode(t, s.MustCall("rec__whoami", `{}`).Structured, &st)
		if st.Cwd != want {
			t.Errorf("hub in %s: child in %s, want %s", dir, st.Cwd, want)
		}
	}
}

// No call may touch the hub's own configuration, whatever the roots say (V10 begins here: it is the seam that is proved).
func TestTheConfigurationFileItselfIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	config := w.Config(obj{"rec": w.Recorder("rec")})
	s := w.Serve(config, ide.Folders(w.Dir))
	s.Handshake()
	s.MustCall("rec__echo", world.PathArgs(t, w.Path("project", "hello.txt")))
	if r := s.AwaitCall(s.SendCall("rec__echo", world.PathArgs(t, config))); !r.IsError {
		t.Errorf("hub.json was within reach: %s", r.Raw)
	}
	if _, err := os.Stat(config); err != nil {
		t.Error(err)
	}
}
