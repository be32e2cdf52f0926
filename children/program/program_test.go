package program

import (
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

func TestNeedsRoots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prog Program
		want bool
	}{
		{Program{Command: "kid"}, false},
		{Program{Command: "kid", Args: []string{"${root}"}}, true},
		{Program{Command: "kid", Cwd: "${root:x}"}, true},
		{Program{Command: "kid", Env: map[string]string{"A": "x${roots}"}}, true},
		{Program{Command: "filesystem-server"}, true},
		{Program{Command: "kid", Rewrite: RewriteAlways}, true},
		{Program{Command: "filesystem-server", Rewrite: RewriteNever}, false},
		{Program{Command: "kid", Sandbox: sandbox.Settings{Mode: sandbox.Auto}}, true},
		{Program{Command: "kid", Sandbox: sandbox.Settings{Mode: sandbox.Auto, Cannot: "no kernel"}}, false},
		{Program{Command: "kid", Sandbox: sandbox.Settings{Mode: sandbox.Required, Cannot: "no kernel"}}, true},
	} {
		if got := c.prog.NeedsRoots(); got != c.want {
			t.Errorf("%+v: %t", c.prog, got)
		}
	}
}

func TestCompiles(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"go run ./cmd/server": true, "go -C /srv run .": true, "/usr/local/go/bin/go run -tags x .": true, "env A=b go run .": true, "timeout 60 cargo run --release": true, "dotnet run --project /srv": true,
		"go tool x": false, "go": false, "gopls run": false, "cargo --version": false, "dotnet server.dll": false, "node run": false, "": false,
	} {
		command, args, _ := strings.Cut(line, " ")
		if got := (Program{Command: command, Args: strings.Fields(args)}).Compiles(); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}
