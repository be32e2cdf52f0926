package rundir

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestFolders(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	for _, c := range []struct {
		p    Candidates
		want int
	}{
		{Candidates{}, 0},
		{Candidates{Runtime: "relative", State: "too", Temp: "here"}, 0},
		{Candidates{Runtime: "/run/user/1000", State: "/home/u/.local/state/mcphub", Temp: "/tmp"}, 3},
		{Candidates{Runtime: "/run/user/1000" + strings.Repeat("/long", 20), Temp: "/tmp"}, 1},
	} {
		if got := c.p.Folders(); len(got) != c.want {
			t.Errorf("%+v: %q", c.p, got)
		}
	}
}

// The longest folder that is taken can hold the longest name, and one byte more could not.
func TestLongestFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	base, err := os.MkdirTemp("", "rd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	fits := filepath.Join(base, strings.Repeat("x", maxPath-longestName-1-len("/mcphub")-len(base)-1))
	dirs := Candidates{Runtime: fits}.Folders()
	if len(dirs) != 1 || len(Candidates{Runtime: fits + "x"}.Folders()) != 0 {
		t.Fatalf("%q", dirs)
	}
	bind := func(dir string) error {
		if err := Claim(dir); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", filepath.Join(dir, strings.Repeat("n", longestName)))
		if err == nil {
			_ = l.Close()
		}
		return err
	}
	if err := bind(dirs[0]); err != nil {
		t.Error(err)
	}
	if bind(filepath.Join(fits+"xx", "mcphub")) == nil {
		t.Error("control: a longer path can be bound")
	}
}

// TestSubstitute: the folders move only if the home folder takes none, each by itself, and only into a folder that is this user's.
func TestSubstitute(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are none on Windows")
	}
	top := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(top, "tmp"))
	own := filepath.Join(os.TempDir(), "mcphub-"+strconv.Itoa(os.Geteuid()))
	file := filepath.Join(top, "file") // nothing can be made below it, by root either
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	state, cache := filepath.Join(own, "state"), filepath.Join(own, "cache")
	for _, c := range []struct {
		env  map[string]string
		want map[string]string
	}{
		{map[string]string{"HOME": filepath.Join(top, "home")}, nil},
		{map[string]string{"HOME": "relative"}, nil},
		{nil, nil},
		{map[string]string{"HOME": file}, map[string]string{"XDG_STATE_HOME": state, "XDG_CACHE_HOME": cache}},
		{map[string]string{"HOME": file, "XDG_STATE_HOME": "/s"}, map[string]string{"XDG_CACHE_HOME": cache}},
		{map[string]string{"HOME": file, "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}, nil},
	} {
		vars, err := Substitute(func(name string) string { return c.env[name] })
		if err != nil || !maps.Equal(vars, c.want) {
			t.Errorf("%v: %v, %v", c.env, vars, err)
		}
	}
	if err := os.Chmod(own, 0o700); err != nil { // it was claimed
		t.Fatal(err)
	}
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top, own); err != nil {
		t.Fatal(err)
	}
	if vars, err := Substitute(func(string) string { return file }); err != nil || vars != nil {
		t.Errorf("control, nothing is to be moved: %v, %v", vars, err)
	}
	if vars, err := Substitute(func(name string) string { return map[string]string{"HOME": file}[name] }); err == nil || vars != nil {
		t.Errorf("through a link: %v, %v", vars, err)
	}
}
