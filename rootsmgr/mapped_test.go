package rootsmgr_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

const workspace = "vscode-remote://ssh-remote+host/home/me"

// Roots of a remote workspace count as soon as roots.map names their directory, and no longer. They are looked at as all are.
func TestMappedRoots(t *testing.T) {
	t.Parallel()
	with := func(to string) Settings {
		s := DefaultSettings()
		s.Mapping = Mapping{Dirs: []MappedDir{{From: workspace, To: to}}}
		return s
	}
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.known(workspace+"/sub", "file:///b", workspace+"/none")
		d.call().judged(t, "known /b by asked")
		if sk := d.RootsView().Snapshot.Skipped(); len(sk) != 2 || sk[0].Reason != "is not a file: URI" {
			t.Errorf("skipped %+v", sk)
		}
		d.previewed(t, Fallback{}, with("/a"))
		d.call().judged(t, "known /a/sub /b by asked")
		if sk := d.RootsView().Snapshot.Skipped(); len(sk) != 1 || sk[0].Raw != workspace+"/none" || sk[0].Reason != guard.ErrMissing.Error() || sk[0].Path != "/a/none" {
			t.Errorf("skipped %+v", sk)
		}
		if uris := d.RootsView().Snapshot.URIs(); !slices.Equal(uris, []string{"file:///a/sub", "file:///b"}) {
			t.Errorf("children are served %q", uris)
		}
		if others := d.RootsView().Snapshot.OtherSchemes(); len(others) != 0 {
			t.Errorf("it is a resource as well: %v", others)
		}
		before := d.RootsView().Snapshot.Generation()
		d.Reconfigure(Fallback{}, with("/a")) // nothing new
		synctest.Wait()
		if now := d.RootsView().Snapshot.Generation(); now != before {
			t.Errorf("generation %d became %d although nothing changed", before, now)
		}
		d.previewed(t, Fallback{}, DefaultSettings())
		d.call().judged(t, "known /b by asked")
		d.quiet()
	})
}

// A map is for what a client gives, and opens nothing by itself; neither does it turn a configured root into another.
func TestMappingIsForClients(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	s.Mapping = Mapping{Dirs: []MappedDir{{From: "file:///b", To: "/a"}}}
	bubble(t, setup{settings: s, fallback: Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "file:///b"}}}}, func(t *testing.T, d *session) {
		d.NoteHandshake(false, false)
		d.call().judged(t, "known /b by config")
	})
	bubble(t, setup{settings: s}, func(t *testing.T, d *session) {
		d.known("file:///b", "file:///c")
		d.call().judged(t, "known /a /c by asked")
	})
	for name, view := range map[string]func(m *Manager, p Page) RootsView{"once": (*Manager).ViewOfCallRoots, "session": (*Manager).TakeCallRoots} {
		bubble(t, setup{settings: s}, func(t *testing.T, d *session) {
			d.ExpectCallRoots()
			synctest.Wait()
			if got := show(view(d.Manager, Page{Entries: []RootEntry{{URI: "file:///b"}}})); got != "known /a by inline" {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

// A link that a server may have put into another root is not followed out of it, also if a map leads to it.
func TestMappedLinks(t *testing.T) {
	t.Parallel()
	fsys := rootstest.NewFS(t, platform.Linux, []string{"/a/f", "/secret/f", "/a/link => /secret"})
	s := DefaultSettings()
	s.Mapping = Mapping{Dirs: []MappedDir{{From: workspace, To: "/a"}}}
	bubble(t, setup{settings: s, fsys: fsys}, func(t *testing.T, d *session) {
		d.known("file:///a", workspace+"/link")
		d.call().judged(t, "known /a by asked")
	})
	bubble(t, setup{settings: s, fsys: fsys}, func(t *testing.T, d *session) { // the control: nothing is served above it
		d.known(workspace + "/link")
		d.call().judged(t, "known /secret by asked")
	})
}
