package setup

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/rootsmgr"
)

// The directories of roots.map start at the folder of hub.json. In WSL, and nowhere else, Windows' names for a distribution count.
func TestMapping(t *testing.T) {
	t.Parallel()
	f := file(t, `{"mcpServers": {}, "roots": {"map": {"vscode-remote://ssh-remote+host/home/me": "work", "vscode-remote://a/b": "/abs"}}}`)
	none := func(string) (string, bool) { return "", false }
	got := rootsMapping(f, none, nil)
	want := []rootsmgr.MappedDir{{From: "vscode-remote://a/b", To: "/abs"}, {From: "vscode-remote://ssh-remote+host/home/me", To: filepath.Join(f.Dir(), "work")}}
	if !slices.Equal(got.Dirs, want) || got.WSL != (rootsmgr.WSL{}) {
		t.Errorf("%+v", got)
	}
	const kernel = "5.15.167.4-microsoft-standard-WSL2\n"
	for name, tc := range map[string]struct {
		distro, kernel, conf string
		want                 rootsmgr.WSL
	}{
		"not in it":         {"", kernel, "", rootsmgr.WSL{}},
		"a variable alone":  {"Ubuntu", "6.8.0-generic\n", "", rootsmgr.WSL{}},
		"no kernel told":    {"Ubuntu", "", "", rootsmgr.WSL{}},
		"in it":             {"Ubuntu", kernel, "", rootsmgr.WSL{Distro: "Ubuntu", Drives: "/mnt/"}},
		"the first version": {"Ubuntu", "4.4.0-19041-Microsoft\n", "", rootsmgr.WSL{Distro: "Ubuntu", Drives: "/mnt/"}},
		"elsewhere":         {"Ubuntu", kernel, "[boot]\nroot=/no\n[automount]\nroot = /drives # here\noptions=\"metadata\"\n", rootsmgr.WSL{Distro: "Ubuntu", Drives: "/drives/"}},
		"at the top":        {"Ubuntu", kernel, "[automount]\r\nroot = \"/\"\r\n", rootsmgr.WSL{Distro: "Ubuntu", Drives: "/"}},
		"no drives":         {"Ubuntu", kernel, "[AutoMount]\nenabled = False\n", rootsmgr.WSL{Distro: "Ubuntu"}},
		"no path":           {"Ubuntu", kernel, "[automount]\nroot = mnt\n", rootsmgr.WSL{Distro: "Ubuntu", Drives: "/mnt/"}},
	} {
		env := func(name string) (string, bool) { return tc.distro, name == "WSL_DISTRO_NAME" && tc.distro != "" }
		read := func(path string) ([]byte, error) {
			text := map[string]string{"/proc/sys/kernel/osrelease": tc.kernel, "/etc/wsl.conf": tc.conf}[path]
			if text == "" {
				return nil, errors.New("there is none")
			}
			return []byte(text), nil
		}
		if got := wslDistribution(env, read); got != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A map to a directory that is not there is found before a client gives such a root.
func TestMappingIsChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"map": {
		"vscode-remote://ssh-remote+host/here": ".",
		"vscode-remote://ssh-remote+host/home/me": "gone"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Source{Config: path}
	c, err := s.Check(io.Discard)
	if err != nil || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].String(), path+":3:") || !strings.Contains(c.Problems[0].String(), "maps to nothing") {
		t.Errorf("%v, %v", c.Problems, err)
	}
}
