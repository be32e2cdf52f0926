package learn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

// a disk is a home folder and others, in a temporary folder.
type disk struct {
	*testing.T
	top, home string
}

func newDisk(t *testing.T, files ...string) disk {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := disk{t, top, filepath.Join(top, "home")}
	for _, file := range files {
		text := ""
		if strings.HasSuffix(file, "private.pem") {
			text = "-----BEGIN PRIVATE KEY-----"
		}
		path := filepath.Join(top, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// use returns one of a path below top; "made" is a mark behind it.
func (d disk) use(text string, a sandbox.Access) sandbox.Use {
	words := strings.Fields(text)
	u := sandbox.Use{Path: words[0], Access: a, Made: slices.Contains(words, "made")}
	if !filepath.IsAbs(u.Path) {
		u.Path = filepath.Join(d.top, u.Path)
	}
	return u
}

// propose returns a Proposal in words.
func (d disk) propose(f Facts, read, write []string) string {
	d.Helper()
	f.Home = d.home
	for _, text := range read {
		f.Uses = append(f.Uses, d.use(text, sandbox.Read))
	}
	for _, text := range write {
		f.Uses = append(f.Uses, d.use(text, sandbox.Write))
	}
	var b strings.Builder
	p := Propose(f)
	for i, paths := range [][]string{p.Settings.Read, p.Settings.Write} {
		for _, path := range paths {
			fmt.Fprintln(&b, []string{"read", "write"}[i], d.below(path))
		}
	}
	for _, l := range p.Left {
		fmt.Fprintln(&b, "left", d.below(l.Path))
	}
	return b.String()
}

// below returns a path as the cases write it: from top, with slashes.
func (d disk) below(path string) string {
	return strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(d.top)+"/")
}

// several are files of one folder.
func several(dir string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%s/f%d", dir, i))
	}
	return list
}

// TestPropose: files that fill a folder or are of a package become it, and others stay what
// they are.
func TestPropose(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		disk, read, write []string
		want              string
	}{
		"a plugin folder": {
			append(several("plug/lib", 40), "plug/hook.js", "plug/a/one", "x"), append(several("plug/lib", 30), "plug/hook.js", "plug/a/one"), nil, "read plug\n"},
		"three of many": {several("docs", 100), several("docs", 3), nil, "read docs/f0\nread docs/f1\nread docs/f2\n"},
		"eight of many": {several("docs", 100), several("docs", 8), nil, "read docs\n"},
		"two":           {several("docs", 2), several("docs", 2), nil, "read docs/f0\nread docs/f1\n"},
		"siblings of which one was used": {
			append(several("work/a", 4), append(several("work/b", 4), several("work/c", 4)...)...), several("work/a", 4), nil, "read work/a\n"},
		"a package":                 {[]string{"pkg/package.json", "pkg/lib/x.js", "pkg/lib/y.js"}, []string{"pkg/lib/x.js"}, nil, "read pkg\n"},
		"installed ones":            {[]string{"pkg/node_modules/a/x.js", "pkg/node_modules/b/package.json"}, []string{"pkg/node_modules/a/x.js"}, nil, "read pkg/node_modules\n"},
		"a folder":                  {several("plug", 9), []string{"plug"}, nil, "read plug\n"},
		"gone":                      {nil, []string{"plug/x"}, nil, ""},
		"the home folder":           {append(several("home", 9), "home/.config/app/x"), append(several("home", 2), "home", "home/.config", "home/.config/app/x"), nil, "read home/.config/app/x\nread home/f0\nread home/f1\nleft home\nleft home/.config\n"},
		"many in the home":          {several("home", 9), several("home", 9), nil, "read home/f0\nread home/f1\nread home/f2\nread home/f3\nread home/f4\nread home/f5\nread home/f6\nread home/f7\nread home/f8\n"},
		"the system":                {nil, []string{"/", "/etc", "/var/lib", "/proc/1", "/dev"}, []string{"/sys"}, "left /\nleft /dev\nleft /etc\nleft /proc/1\nleft /sys\nleft /var/lib\n"},
		"keys":                      {[]string{"home/.ssh/id_x", "home/.aws/credentials", "p/.env", "p/private.pem", "p/public.pem"}, []string{"home/.ssh", "home/.ssh/id_x", "home/.aws/credentials", "p/.env", "p/private.pem", "p/public.pem"}, nil, "read p/public.pem\nleft home/.aws/credentials\nleft home/.ssh\nleft home/.ssh/id_x\nleft p/.env\nleft p/private.pem\n"},
		"a folder with one":         {append(several("p", 5), "p/deep/.env"), append(several("p", 5), "p"), nil, "read p/f0\nread p/f1\nread p/f2\nread p/f3\nread p/f4\nleft p\n"},
		"what is withheld":          {append(several("p", 5), "p/hub.json"), append(several("p", 5), "p/hub.json"), nil, "read p/f0\nread p/f1\nread p/f2\nread p/f3\nread p/f4\nleft p/hub.json\n"},
		"a file that was there":     {several("data", 2), nil, []string{"data/f0"}, "write data/f0\n"},
		"a file that was made":      {[]string{"data/f0"}, nil, []string{"data/f0 made"}, "write data\n"},
		"made among others":         {several("docs", 9), nil, []string{"docs/f0 made"}, "write docs/f0\n"},
		"made and gone":             {[]string{"data/other"}, nil, []string{"data/f0 made"}, "write data\n"},
		"made and gone in the home": {[]string{"home/other"}, nil, []string{"home/.lock made"}, "left home/.lock\n"},
		"a folder that was made":    {[]string{"home/.app/x"}, nil, []string{"home/.app made", "home/.app/x made"}, "write home/.app\n"},
		"replaced by its name":      {several("data", 9), nil, []string{"data/f0", "data"}, "write data\n"},
		"names in the home":         {several("home", 3), nil, []string{"home"}, "left home\n"},
		"read and written":          {several("data", 9), []string{"data/f0", "data/f1"}, []string{"data"}, "write data\n"},
		"beside the program":        {[]string{"prog/bin/server", "prog/log"}, nil, []string{"prog/log made", "prog"}, "write prog/log\nleft prog\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, tc.disk...)
			f := Facts{
				Withheld: []string{filepath.Join(d.top, "p/hub.json")},
				Profile:  &sandbox.Profile{Rules: []sandbox.Rule{{Path: filepath.Join(d.top, "prog"), Access: sandbox.Read | sandbox.Execute}}},
			}
			if got := d.propose(f, tc.read, tc.write); got != tc.want {
				t.Errorf("proposed is\n%swant\n%s", got, tc.want)
			}
		})
	}
}

// TestProposeKeepsWhatIsSaid: what the entry allows already stays, and holds what lies in it.
func TestProposeKeepsWhatIsSaid(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "old/x", "new/x")
	f := Facts{
		Settings: sandbox.Settings{Read: []string{filepath.Join(d.top, "old"), filepath.Join(d.top, "unused")}, Network: sandbox.Network{Ports: []uint16{443}}, KeepRunning: sandbox.Yes},
		Ports:    []uint16{80, 443}, Sockets: []sandbox.Socket{{Path: "/run/dbus"}},
	}
	if got := d.propose(f, []string{"old/x", "new/x"}, nil); got != "read new/x\nread old\nread unused\n" {
		t.Errorf("proposed is\n%s", got)
	}
	s := Propose(f).Settings
	if s.KeepRunning != sandbox.Yes || s.Sockets != sandbox.Unsaid || !slices.Equal(s.Network.Ports, []uint16{80, 443}) {
		t.Errorf("proposed is %+v", s)
	}
	f.Settings.Network, f.Sockets = sandbox.Network{On: true}, []sandbox.Socket{{Path: "/tmp/own", Bound: true}}
	if s := Propose(f).Settings; s.Sockets != sandbox.Yes || !s.Network.On || s.Network.Ports != nil {
		t.Errorf("proposed is %+v", s)
	}
}

// TestRandomNamesAreNotProposed: what was made among everybody's temporary files has another
// name next time. What was there before, and what lies deeper, stays a proposal.
func TestRandomNamesAreNotProposed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // on Windows
	d := disk{t, filepath.Join(dir, "kept"), filepath.Join(dir, "kept", "home")}
	for _, file := range []string{"abc123b/lib.so", "kept/f0"} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got := d.propose(Facts{}, nil, []string{dir + "/abc123b made", dir + "/abc123b/lib.so made", dir + "/kept/f0"})
	if want := strings.ReplaceAll("write f0\nleft DIR/abc123b\nleft DIR/abc123b/lib.so\n", "DIR", filepath.ToSlash(dir)); got != want {
		t.Errorf("proposed is\n%swant\n%s", got, want)
	}
}
