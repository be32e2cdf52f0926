package guard_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

func TestGuardFoldingFilesystem(t *testing.T) {
	t.Parallel()
	lines := []string{"/Users/Me/Proj/src/f", "/Users/Me/Proj/Link => /Users/Me/Other", "/Users/Me/Other/s", "/Users/Me/Project/s",
		"/short => /Users/Me/Proj"}
	folding := rootstest.NewFS(t, platform.Darwin, lines, rootstest.Folding())
	exact := rootstest.NewFS(t, platform.Darwin, append(lines, "/users/me/proj/s"))
	g, x := guardOf(t, folding, "/Users/Me/Proj"), guardOf(t, exact, "/Users/Me/Proj")
	for _, path := range []string{"/users/me/proj/src/f", "/USERS/ME/PROJ", "/users/Me/proj/new/x", "/users/me/other/../proj/src"} {
		if _, err := g.Check(path); err != nil {
			t.Errorf("folding: Check(%q): %v", path, err)
		}
		// The control: the same spelling is another directory elsewhere.
		deny(t, x, path)
	}
	for _, path := range []string{"/users/me/proj/link/s", "/users/me/other/s", "/users/me/project/s", "/users/me/PROJ/../other/s"} {
		deny(t, g, path)
		deny(t, x, path)
	}
	// Unicode forms and letters beyond ASCII.
	uni := rootstest.NewFS(t, platform.Darwin, []string{"/Users/Zo\u00eb/Ärger/f"}, rootstest.Folding())
	if _, err := guardOf(t, uni, "/Users/Zoe\u0308/ärger").Check("/USERS/ZO\u00cb/ÄRGER/F"); err != nil {
		t.Error(err)
	}
	deny(t, guardOf(t, uni, "/Users/Zoe\u0308/ärger"), "/Users/Zo\u00eb/Ärge")
	// A root given through a link, spelled in another case.
	if _, err := guardOf(t, folding, "/short").Check("/SHORT/src/f"); err != nil {
		t.Error(err)
	}
}

// The system's own links are no third spelling.
func TestGuardSystemAliases(t *testing.T) {
	t.Parallel()
	mac := rootstest.NewFS(t, platform.Darwin, []string{"/private/tmp/p/f", "/tmp => private/tmp", "/private/tmp/q/s"})
	for _, root := range []string{"/private/tmp/p", "/tmp/p"} {
		g := guardOf(t, mac, root)
		for _, path := range []string{"/private/tmp/p/f", "/tmp/p/f"} {
			if _, err := g.Check(path); err != nil {
				t.Errorf("root %s: Check(%q): %v", root, path, err)
			}
		}
		deny(t, g, "/tmp/q/s")
	}
	lines := []string{"/home => var/home", "/var/home/u/p/f", "/var/home/u/q/s"}
	g := guardOf(t, rootstest.NewFS(t, platform.Linux, lines, rootstest.Home("/home/u")), "/var/home/u/p")
	if _, err := g.Check("/home/u/p/f"); err != nil {
		t.Error(err)
	}
	deny(t, g, "/home/u/q/s")
	deny(t, guardOf(t, rootstest.NewFS(t, platform.Linux, lines), "/var/home/u/p"), "/home/u/p/f") // no one's home
}

func TestGuardWindows(t *testing.T) {
	t.Parallel()
	const allowed platform.Cause = 255
	f := rootstest.NewFS(t, platform.Windows, []string{
		"C:/proj/src/f", "C:/proj/out => ..\\secret", "C:/secret/s", "C:/project/s", "C:/proj/abs => C:\\secret",
		"C:/proj/ext => \\??\\C:\\secret", "C:/proj/rooted => \\secret", "C:/proj/dev => \\\\.\\PhysicalDrive0", "C:/proj/rel => C:secret",
		"C:/proj/junction => C:\\secret", "C:/proj/injunction => C:\\proj\\src", "C:/proj/cloud", "D:/x/s", "//server/share/p/f",
		"//server/share/q/s", "//server/other/p/f",
	}, rootstest.Folding())
	f.Junction(`C:\proj\junction`)
	f.Junction(`C:\proj\injunction`)
	f.Junction(`C:\proj\cloud`)
	g := guardOf(t, f, `c:\proj`, `\\server\share\p`)
	for path, leads := range map[string]string{
		`C:\proj\src\f`:                 `C:\proj\src\f`,
		`c:/proj/src/f`:                 `C:\proj\src\f`,
		`C:\PROJ\SRC\F`:                 `C:\PROJ\SRC\F`,
		`C:\proj\new\x`:                 `C:\proj\new\x`,
		`C:\proj\injunction\f`:          `C:\proj\src\f`,
		`C:\proj\src\..\src\f`:          `C:\proj\src\f`,
		`\\server\share\p\f`:            `\\server\share\p\f`,
		`//SERVER/share/p/f`:            `\\SERVER\share\p\f`,
		`C:\..\..\proj\src`:             `C:\proj\src`,
		`\\server\share\p\..\..\..\p\f`: `\\server\share\p\f`,
	} {
		place, err := g.Check(path)
		if err != nil || place.Path != leads {
			t.Errorf("Check(%q) = %q, %v; want %q", path, place.Path, err, leads)
		}
	}
	for path, cause := range map[string]platform.Cause{
		`C:\secret\s`:                   platform.CauseNone,
		`C:\project\s`:                  platform.CauseNone,
		`D:\x\s`:                        platform.CauseNone,
		`D:\proj\src\f`:                 platform.CauseNone,
		`C:\proj\out\s`:                 platform.CauseNone,
		`C:\proj\abs\s`:                 platform.CauseNone,
		`C:\proj\ext\s`:                 platform.CauseNone,
		`C:\proj\rooted\s`:              platform.CauseNone,
		`C:\proj\junction\s`:            platform.CauseNone,
		`C:\proj\src\..\..\secret\s`:    platform.CauseNone,
		`C:/proj/src/../../secret/s`:    platform.CauseNone,
		`\\server\share\q\s`:            platform.CauseNone,
		`\\server\other\p\f`:            platform.CauseHost,
		`\\server\share\p\..\q\s`:       platform.CauseNone,
		`C:\proj\cloud`:                 platform.CauseLink,
		`C:\proj\dev`:                   platform.CauseLink,
		`C:\proj\rel`:                   platform.CauseLink,
		`\\?\C:\proj\src\f`:             allowed,
		`\\.\C:\proj\src\f`:             allowed,
		`//?/C:/proj/src/f`:             allowed,
		`\??\C:\proj`:                   allowed,
		`\\?\C:\secret\s`:               platform.CauseNone,
		`//./C:/secret/s`:               platform.CauseNone,
		`\\?\C:\proj\out\s`:             platform.CauseNone,
		`\\?\C:\proj\..\secret\s`:       platform.CauseNone,
		`\\?\GLOBALROOT\??\C:\secret\s`: platform.CauseNone,
		`\\?\C:\proj\src\f.`:            platform.CauseTrailing,
		`\\?\C:\proj\f:stream`:          platform.CauseStream,
		`\\?\C:`:                        platform.CauseDevice,
		`\\?\GLOBALROOT\Device\HarddiskVolume1\proj`: platform.CauseDevice,
		`\\?\UNC\server\share\p\f`:                   platform.CauseDevice,
		`C:proj\src`:                                 platform.CauseNotAbsolute,
		`\proj\src`:                                  platform.CauseNotAbsolute,
		`/c/proj/src`:                                platform.CauseNotAbsolute,
		`proj`:                                       platform.CauseNotAbsolute,
		`C:\proj\f:stream`:                           platform.CauseStream,
		`C:\proj::$INDEX_ALLOCATION`:                 platform.CauseStream,
		`C:\proj\src.`:                               platform.CauseTrailing,
		`C:\proj\src \f`:                             platform.CauseTrailing,
		`C:\proj\...\..\..\secret`:                   platform.CauseTrailing,
		`C:\proj\NUL`:                                platform.CauseReserved,
		`C:\proj\con.txt`:                            platform.CauseReserved,
		`C:\proj\Com1 .log`:                          platform.CauseReserved,
		`C:\proj\LPT¹`:                               platform.CauseReserved,
		`C:\proj\a?b`:                                platform.CauseReserved,
		"C:\\proj\\a\nb":                             platform.CauseReserved,
		"C:\\proj\\a\x00b":                           platform.CauseNUL,
		`C:\proj\COMMON\CONSOLE\AUXI`:                allowed,
	} {
		_, err := g.Check(path)
		var u *guard.UnresolvableError
		switch {
		case cause == allowed:
			if err != nil {
				t.Errorf("Check(%q): %v", path, err)
			}
		case err == nil:
			t.Errorf("Check(%q) allows", path)
		case errors.As(err, &u) != (cause != platform.CauseNone) || u != nil && u.Cause != cause:
			t.Errorf("Check(%q): %v, want %v", path, err, cause)
		}
	}
}

// TestGuardCloud: a directory whose files another program fetches is a directory.
func TestGuardCloud(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Windows, []string{"C:/cloud/proj/src/f", "C:/proj/cloud/f"}, rootstest.Folding())
	f.Cloud(`C:\cloud`)
	f.Cloud(`C:\cloud\proj`)
	f.Cloud(`C:\proj\cloud`)
	g := guardOf(t, f, `C:\cloud\proj`, `C:\proj`)
	for _, path := range []string{`C:\cloud\proj\src\f`, `C:\proj\cloud\f`, `C:\proj\cloud\new`} {
		if place, err := g.Check(path); err != nil || place.Path != path {
			t.Errorf("%s: %v, %v", path, place.Path, err)
		}
	}
	if _, err := g.Check(`C:\cloud\x`); err == nil {
		t.Error("what lies beside the root is inside")
	}
}

// shortNamed is a disk of Windows on which one directory has a short name too.
type shortNamed struct {
	*rootstest.FS
	short, long string
}

func (s shortNamed) Mode(name string) (fs.FileMode, error) {
	info, err := s.Lstat(strings.ReplaceAll(name, s.short, s.long))
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (s shortNamed) LongName(name string) (string, error) {
	return strings.ReplaceAll(name, s.short, s.long), nil
}

// TestShortNames: a path with a short name leads to the long name, with which rules and protected paths are compared.
func TestShortNames(t *testing.T) {
	t.Parallel()
	disk := shortNamed{rootstest.NewFS(t, platform.Windows, []string{"C:/proj/Confidential Papers/plan.txt"}), "CONFID~1", "Confidential Papers"}
	for path, want := range map[string]string{
		`C:\proj\CONFID~1`:             `C:\proj\Confidential Papers`,
		`C:\proj\CONFID~1\plan.txt`:    `C:\proj\Confidential Papers\plan.txt`,
		`C:\proj\CONFID~1\new\x`:       `C:\proj\Confidential Papers\new\x`,
		`C:\proj\CONFID~1\..\CONFID~1`: `C:\proj\Confidential Papers`,
		`C:\proj\CONFID~2`:             `C:\proj\CONFID~2`, // there is none
	} {
		if place, err := guard.Resolve(disk, path); err != nil || place.Path != want {
			t.Errorf("%s leads to %s, %v, want %s", path, place.Path, err, want)
		}
	}
	if place, err := guard.Resolve(disk, `Q:\`); err != nil || place.Exists {
		t.Errorf("a drive that is not there: %+v, %v", place, err)
	}
}
