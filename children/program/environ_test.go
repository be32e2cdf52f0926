package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcphub/rootsmgr/guard"
)

func TestInherited(t *testing.T) {
	t.Parallel()
	environ := []string{
		"HOME=/h", "PATH=/bin", "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "LANG=C", "LC_ALL=C", "TERM=x", "TZ=UTC", "TMPDIR=/tmp",
		"XDG_RUNTIME_DIR=/run", "HTTP_PROXY=a", "https_proxy=b", "No_Proxy=c", "SSL_CERT_FILE=d", "NODE_EXTRA_CA_CERTS=e", "DISPLAY=:0",
		"WAYLAND_DISPLAY=w", "SSH_AUTH_SOCK=s", "DOCKER_HOST=t",
		"AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "LD_PRELOAD=x", "NODE_OPTIONS=x", "PYTHONPATH=x", "MCPHUB_ROOTS=x", "Path=x", "home=x",
		"GIT_SSH_COMMAND=ssh", "systemroot=C", "=C:=x", "broken",
	}
	e := Inherited(environ, []string{"GIT_SSH_COMMAND"}, "linux")
	want := append(slices.Clone(environ[:20]), "GIT_SSH_COMMAND=ssh")
	slices.Sort(want)
	if got := e.List(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	w := Inherited([]string{"Path=C:\\x", "SystemRoot=C:\\w", "windir=C:\\w", "ComSpec=c", "Secret=x", "ProgramFiles(x86)=p"}, []string{"SECRET"}, "windows")
	if got := strings.Join(w.List(), " "); got != `ComSpec=c Path=C:\x ProgramFiles(x86)=p Secret=x SystemRoot=C:\w windir=C:\w` {
		t.Errorf("windows: %s", got)
	}
	if v, _ := w.Get("PATH"); v != `C:\x` {
		t.Errorf("PATH on Windows: %q", v)
	}
	w.Set("PATH", "y")
	if n := len(w.List()); n != 6 {
		t.Errorf("one variable, two spellings: %q", w.List())
	}
}

func TestRootsVariables(t *testing.T) {
	t.Parallel()
	e := NewEnvironment("linux")
	if file := e.SetRoots(rootsAt("/a|One", "/b/two")); file != nil {
		t.Errorf("a file for little text: %s", file)
	}
	want := []string{
		`MCP_ROOTS_COUNT=2`,
		`MCP_ROOTS_JSON=[{"uri":"file:///a","name":"One","path":"/a"},{"uri":"file:///b/two","name":"two","path":"/b/two"}]`,
		"MCP_ROOTS_PATHS=/a\n/b/two",
	}
	if got := e.List(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	var many []guard.Root
	for i := range 1500 {
		many = append(many, rootsAt(fmt.Sprintf("/a/rather/long/path/%d", i))...)
	}
	file := e.SetRoots(many)
	if got := e.List(); len(got) != 1 || got[0] != "MCP_ROOTS_COUNT=1500" || len(file) < 64<<10 {
		t.Errorf("over 64 KiB: %.100q, file of %d", got, len(file))
	}
	e.SetRoots(nil)
	if v, ok := e.Get("MCP_ROOTS_JSON"); !ok || v != "[]" {
		t.Errorf("no roots: %q", v)
	}
}
