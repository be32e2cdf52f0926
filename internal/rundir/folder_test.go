package rundir

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
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
