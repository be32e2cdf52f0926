package launch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mcphub/children/program"
	"mcphub/internal/reference"
)

func mark(kind reference.Kind, name string) string {
	return reference.Ref{Kind: kind, Name: name}.Mark()
}

// A directory that is called like a reference, or like a mark, is a directory.
func TestSecretsAreReplacedInMarksAlone(t *testing.T) {
	t.Parallel()
	const root = "/r/${keyring:X}"
	h := fakeHost([]string{root}, "/bin/kid")
	prog := program.Program{Command: "kid", Args: []string{"${root}", "--key=" + mark("keyring", "X"), "$${root}"}, Env: map[string]string{"A": "${root}" + mark("file", "/t/${root}"), "B": mark("input", "Y")}}
	l, err := Plan(prog, rootsAt(root), h)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	got, err := h.WithSecrets(prog, l, rootsAt(root), func(r reference.Ref) (string, error) {
		asked[r.String()] = true
		return "value of " + r.Name + "${root}", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{root, "--key=value of X${root}", "${root}"}; !slices.Equal(got.Args, want) {
		t.Errorf("args %q, want %q", got.Args, want)
	}
	a, _ := envOf(got, "A")
	b, _ := envOf(got, "B")
	if a != root+"value of /t/${root}${root}" || b != "value of Y${root}" {
		t.Errorf("A=%q B=%q", a, b)
	}
	if len(asked) != 3 {
		t.Errorf("asked for %v", asked)
	}
	if all := strings.Join(append(slices.Clone(l.Args), l.Env...), "\n"); strings.Contains(all, "value of") || !strings.Contains(all, mark("keyring", "X")) {
		t.Error("the Launch that is compared holds values")
	}
	if again, err := Plan(prog, rootsAt(root), h); err != nil || !again.Same(l) {
		t.Error("a Launch with marks is not the same twice", err)
	}
	if _, err := h.WithSecrets(prog, l, nil, func(reference.Ref) (string, error) { return "", errors.New("the secret is not set") }); err == nil || !strings.Contains(err.Error(), "argument 2: the secret is not set") {
		t.Error(err)
	}
	if _, err := h.WithSecrets(prog, l, nil, func(reference.Ref) (string, error) { return "canary\x00", nil }); err == nil || !strings.Contains(err.Error(), "NUL") || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
	if _, err := Plan(program.Program{Command: "kid", Env: map[string]string{"A": "x\x00keyring"}}, nil, h); err == nil {
		t.Error("a NUL that is no mark passed")
	}
}

func TestEnvFile(t *testing.T) {
	t.Parallel()
	o := fakeOptions([]string{"/r"}, "/bin/kid")
	o.Environ = append(o.Environ, "LANG=C", "TZ=UTC")
	h := on(o)
	base := program.Program{Command: "kid", Env: map[string]string{"OWN": "entry"}, EnvFile: "/etc/kid.env"}
	const text = "\ufeff# comment\nOWN=file\nLANG=file\nexport A=b c\nQ='x y'\nMCP_ROOTS_COUNT=9\nMCPHUB_WORKDIR=/x\n"
	run := func(prog program.Program, text string) (Launch, error) {
		l, err := Plan(prog, rootsAt("/r"), h)
		if err != nil {
			return l, err
		}
		return h.WithSecrets(prog, l, rootsAt("/r"), func(r reference.Ref) (string, error) {
			if r.Kind != reference.EnvFile {
				t.Errorf("asked for %s", r)
			}
			return text, nil
		})
	}
	l, err := run(base, text)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"OWN": "entry", "LANG": "file", "TZ": "UTC", "A": "b c", "Q": "x y", "MCP_ROOTS_COUNT": "1", "MCPHUB_WORKDIR": ""} {
		if got, _ := envOf(l, name); got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
	if l, err = run(base, "PATH=.:/r/bin:/opt/bin\n"); err != nil {
		t.Fatal(err)
	} else if path, _ := envOf(l, "PATH"); path != "/opt/bin" {
		t.Errorf("PATH=%s", path)
	}
	for _, bad := range []string{"canary", "A='canary\n", "A B=canary", "A=can\x00ary", "NODE_OPTIONS=--require ./canary.js", strings.Repeat("A=canary\n", 1) + "=canary"} {
		if _, err := run(base, bad); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "/etc/kid.env") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	inRoot := base
	inRoot.EnvFile = "${root}/.env"
	if _, err := run(inRoot, text); err == nil || !strings.Contains(err.Error(), `"local": true`) {
		t.Error("whoever wrote the project chose the variables:", err)
	}
	inRoot.Local = true
	if l, err = run(inRoot, text); err != nil || l.EnvFile != "/r/.env" || !inRoot.NeedsRoots() {
		t.Errorf("%q, %v", l.EnvFile, err)
	}
	if moved, _ := Plan(inRoot, rootsAt("/other"), h); moved.Same(l) {
		t.Error("another file is the same Launch")
	}
}

// The value of a secret is not known when the command line of a batch file is looked
// at, so there is none in it.
func TestBatchFilesGetNoSecret(t *testing.T) {
	t.Parallel()
	o := fakeOptions([]string{"/r"}, "/bin/npx.CMD", "/bin/kid.EXE", "/bin/cmd.EXE")
	o.System = "windows"
	h := on(o)
	for command, refused := range map[string]bool{"npx": true, "cmd": true, "kid": false} {
		_, err := Plan(program.Program{Command: command, Args: []string{"--key=" + mark("keyring", "X")}}, rootsAt("/r"), h)
		if refused && (err == nil || !strings.Contains(reference.Show(err.Error()), `"--key=${keyring:X}": cmd.exe`)) || !refused && err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}
