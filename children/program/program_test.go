package program

import (
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
