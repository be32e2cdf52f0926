package hubfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	env := Lookup([]string{"A=1", "AB=2", "A=3", "E=", "odd", "X=a=b"})
	for name, want := range map[string]string{"A": "1", "AB": "2", "E": "", "X": "a=b"} {
		if got, set := env(name); got != want || !set {
			t.Errorf("%s: %q %t", name, got, set)
		}
	}
	for _, name := range []string{"B", "odd", "a"} {
		if got, set := env(name); set {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	xdg := filepath.Join(home, "xdg", "mcphub", "hub.json")
	dot := filepath.Join(home, ".config", "mcphub", "hub.json")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, flag   string
		env          map[string]string
		exist        []string
		path, unused string
	}{
		{"nothing", "", nil, nil, "", ""},
		{"flag wins", "f.json", map[string]string{"MCPHUB_CONFIG": "e.json", "XDG_CONFIG_HOME": filepath.Join(home, "xdg")}, []string{xdg}, "f.json", ""},
		{"variable next, even if it is not there", "", map[string]string{"MCPHUB_CONFIG": "e.json", "XDG_CONFIG_HOME": filepath.Join(home, "xdg")}, []string{xdg}, "e.json", ""},
		{"an empty variable is none", "", map[string]string{"MCPHUB_CONFIG": "", "XDG_CONFIG_HOME": filepath.Join(home, "xdg")}, []string{xdg}, xdg, ""},
		{"home", "", map[string]string{HomeVariable(): home}, []string{dot}, dot, ""},
		{"a relative XDG folder does not count", "", map[string]string{"XDG_CONFIG_HOME": "xdg", HomeVariable(): home}, []string{dot, filepath.Join("xdg", "mcphub", "hub.json")}, dot, ""},
		{"the working directory is not read", "", map[string]string{HomeVariable(): home}, []string{"hub.json"}, "", "hub.json"},
		{"and mentioned beside another", "f.json", nil, []string{"hub.json"}, "f.json", "hub.json"},
		{"unless it is named", "./hub.json", nil, []string{"hub.json"}, "./hub.json", ""},
		{"in any spelling", "", map[string]string{"MCPHUB_CONFIG": filepath.Join(wd, "hub.json")}, []string{"hub.json"}, filepath.Join(wd, "hub.json"), ""},
	} {
		path, unused := Find(tc.flag, func(name string) (string, bool) { v, set := tc.env[name]; return v, set }, func(p string) bool {
			for _, e := range tc.exist {
				if e == p {
					return true
				}
			}
			return false
		})
		if path != tc.path || unused != tc.unused {
			t.Errorf("%s: %q %q, want %q %q", tc.name, path, unused, tc.path, tc.unused)
		}
	}
}
