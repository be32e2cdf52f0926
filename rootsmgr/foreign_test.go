package rootsmgr_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

// listed is a disk of Windows whose directories can be listed, and that remembers what was looked at.
type listed struct {
	*rootstest.FS
	names map[string][]string
	seen  []string
}

func (l *listed) Lstat(name string) (fs.FileInfo, error) {
	l.seen = append(l.seen, name)
	return l.FS.Lstat(name)
}

func (l *listed) ReadDir(dir string, n int) (list []fs.DirEntry, more bool, err error) {
	l.seen = append(l.seen, dir)
	for _, name := range l.names[dir] {
		info, err := l.FS.Lstat(dir + `\` + name)
		if err != nil {
			return nil, false, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	return list, false, nil
}

func newListed(t *testing.T) *listed {
	f := rootstest.NewFS(t, platform.Windows, []string{
		"C:/work/one/sub/", "C:/work/two/sub/", "C:/work/junction => \\\\evil\\share", "C:/work/one/junction => \\\\evil\\share", "//server/good/dir/a/", "//server/good/dir/link => \\\\evil\\share",
		"//server/good/dir/own => \\\\SERVER\\good\\dir\\a", "//evil/share/sub/", "//evil/share/dir/sub/",
	}, rootstest.Folding(), rootstest.Home(`C:\home`))
	f.Junction(`C:\work\junction`)
	return &listed{FS: f, names: map[string][]string{`C:\work`: {"junction", "one", "two"}, `C:\work\one`: {"junction", "sub"}, `C:\work\two`: {"sub"}, `\\server\good\dir`: {"a", "link", "own"}}}
}

// TestRootPatternsOfWindows: nothing is called *, so a root with one is a pattern.
func TestRootPatternsOfWindows(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`C:\work\*`:              {`C:\work\one`, `C:\work\two`},
		`C:\work\*\sub`:          {`C:\work\one\sub`, `C:\work\two\sub`},
		`C:\work\???`:            {`C:\work\one`, `C:\work\two`},
		`C:\work\{one,two}\sub`:  {`C:\work\one\sub`, `C:\work\two\sub`},
		`C:/work/t*`:             {`C:\work\two`},
		`\\server\good\dir\*`:    {`\\server\good\dir\a`},
		`\\server\*\dir`:         nil,
		`\/evil@80\share\sub/*`:  nil,
		`\\?\UNC\evil\share\*`:   nil,
		`//evil@SSL/share/{sub}`: nil,
		`C:\work\*\con`:          nil,
		`C:\work\*:x`:            nil,
		`C:\work\junction\*`:     nil,
		`C:\work\junct*\sub`:     nil,
		`C:\work\*\junction\sub`: nil,
		`\\server\good\dir\l*\*`: nil,
	} {
		disk := newListed(t)
		snap := NewSnapshot(disk, 1, OriginConfig, []RootEntry{SettingEntry(disk, raw, `C:\home`)})
		if got := snap.Paths(); !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s: %q, want %q; skipped %v", raw, got, want, snap.Skipped())
		}
		snap.Appeared(`C:\work\junction\sub`, `C:\work\junction\sub\x`)
		for _, name := range disk.seen {
			if strings.Contains(name, "evil") || strings.Contains(name, `\junction\`) || strings.HasPrefix(name, `\\server\good\dir\link\`) {
				t.Errorf("%s: looked at %s", raw, name)
			}
		}
	}
}

// TestRootsOnOtherMachines: a root names the share that it is on, and no root does so by a link, by a name of this machine, or beyond
// a ceiling.
func TestRootsOnOtherMachines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		uri, ceiling string
		usable       bool
	}{
		{"file://server/good/dir", "", true}, {"file:////server/good/dir", "", true}, {"file://SERVER/good/dir/own", "", true},
		{"file://server/good/dir/link", "", false}, {"file:///C:/work/junction", "", false}, {"file:///C:/work/junction/sub", "", false}, {"file://localhost./C$/x", "", false},
		{"file://evil@SSL/DavWWWRoot", "", false}, {"file://127.0.0.1/C$", "", false}, {"file://%3F/UNC/evil/share", "", false}, {"file:////?/UNC/evil/share", "", false},
		{"file://server/good/dir", `C:\work`, false}, {"file://server/good/dir/a", `\\server\good\dir`, true}, {"file://evil/share", `\\server\good\dir`, false},
	} {
		disk := newListed(t)
		var top *Snapshot
		if tt.ceiling != "" {
			top = NewSnapshot(disk, 1, OriginCeiling, []RootEntry{{URI: tt.ceiling}})
			disk.seen = nil
		}
		snap := NewSnapshotUnder(disk, top, RootEntry{URI: tt.uri})
		if (snap.Len() == 1) != tt.usable {
			t.Errorf("%s below %q: %v, skipped %v", tt.uri, tt.ceiling, snap.Paths(), snap.Skipped())
		}
		for _, name := range disk.seen {
			if strings.Contains(name, "evil") || strings.Contains(name, "localhost") || strings.Contains(name, "127") || !tt.usable && strings.HasPrefix(name, `\\server`) && tt.ceiling != "" {
				t.Errorf("%s below %q: looked at %s", tt.uri, tt.ceiling, name)
			}
		}
	}
}
