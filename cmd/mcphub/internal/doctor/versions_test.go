package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"mcphub/children/spec"
)

// TestFindInterpreter: the interpreter of a server is found behind what wraps it, with what its package wants.
func TestFindInterpreter(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("npm_config_cache", filepath.Join(dir, "cache"))
	timeout, npx, node, python := at("bin/timeout", ""), at("bin/npx", ""), at("bin/node", ""), at("bin/python3", "")
	script, module := at("js/server.js", ""), at("py/server.py", "")
	ofScript, ofModule := at("js/package.json", `{"engines": {"node": ">=20"}}`), at("py/pyproject.toml", "requires-python = '>=3.12'\n")
	ofNpx := at("cache/_npx/1/node_modules/@s/pkg/package.json", `{"engines": {"node": ">=22"}}`)
	for _, tc := range []struct {
		program string
		command string
		args    []string
		want    *Interpreter
	}{
		{node, "node", []string{script}, &Interpreter{Name: "node", Path: node, Package: ofScript, Wants: ">=20"}},
		{timeout, "timeout", []string{"60", "node", script}, &Interpreter{Name: "node", Path: node, Package: ofScript, Wants: ">=20"}},
		{timeout, "timeout", []string{"60", "npx", "-y", "@s/pkg@1.0.0", "x"}, &Interpreter{Name: "node", Path: node, Package: ofNpx, Wants: ">=22"}},
		{npx, "npx", []string{"-y", "-p", "@s/pkg", "server"}, &Interpreter{Name: "node", Path: node, Package: ofNpx, Wants: ">=22"}},
		{python, "python3", []string{module}, &Interpreter{Name: "python", Path: python, Package: ofModule, Wants: ">=3.12"}},
		{timeout, "timeout", []string{"60", "kid"}, nil},
	} {
		e := &examination{}
		got := e.findInterpreter(t.Context(), spec.Spec{Command: tc.command, Args: tc.args}, tc.program)
		if (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%s %q: %+v, want %+v", tc.command, tc.args, got, tc.want)
		}
	}
}
