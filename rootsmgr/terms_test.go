package rootsmgr_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// TestReconfigure changes what the operator says in every case that a session can be in: the next call is judged by it.
func TestReconfigure(t *testing.T) {
	t.Parallel()
	fb := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/fb"}}}
	with := func(w NoRootsPolicy) Settings { s := DefaultSettings(); s.When = w; return s }
	deny := with(NoRootsPolicy{})
	t.Run("unsupported", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			d.NoteHandshake(false, false)
			d.call().judged(t, "unsupported")
			d.previewed(t, Fallback{}, with(NoRootsPolicy{Unsupported: true}))
			d.call().judged(t, "unsupported open").after(t, 0)
			d.previewed(t, fb, with(NoRootsPolicy{Unsupported: true}))
			d.call().judged(t, "known /fb by config").after(t, 0)
			before := d.RootsView().Snapshot.Generation()
			d.previewed(t, Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/fb"}}}, with(NoRootsPolicy{Unsupported: true})) // nothing new
			d.call().judged(t, "known /fb by config")
			if now := d.RootsView().Snapshot.Generation(); now != before {
				t.Errorf("generation %d became %d although nothing changed", before, now)
			}
			d.previewed(t, Fallback{}, deny)
			d.call().judged(t, "unsupported").after(t, 0)
		})
	})
	t.Run("denied whatever the others say", func(t *testing.T) {
		all := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true, Denied: true}
		open := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}
		for name, client := range map[string]func(d *session){
			"unsupported": func(d *session) { d.NoteHandshake(false, false) },
			"empty":       func(d *session) { d.known() },
			"failed":      func(d *session) { d.known("file:///gone") },
		} {
			bubble(t, setup{settings: with(all)}, func(t *testing.T, d *session) {
				client(d)
				d.call().judged(t, name)
				d.previewed(t, Fallback{}, with(open))
				d.call().judged(t, name+" open").after(t, 0)
				d.previewed(t, Fallback{}, with(all))
				if v := d.call().judged(t, name).rootsView; !v.Denied {
					t.Errorf("%s: the view does not say why", name)
				}
			})
			top := with(all)
			top.Ceiling = ceiling("/a")
			bubble(t, setup{settings: top}, func(t *testing.T, d *session) {
				client(d)
				if v := d.call().judged(t, "known /a by ceiling").rootsView; v.Denied {
					t.Errorf("%s: denied although a ceiling names directories", name)
				}
			})
		}
	})
	t.Run("answered", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			d.known()
			d.call().judged(t, "empty")
			d.previewed(t, fb, with(NoRootsPolicy{Empty: true}))
			d.call().judged(t, "empty open").after(t, 0)
			d.quiet() // the client is not asked for it
			d.previewed(t, fb, deny)
			d.call().judged(t, "empty").after(t, 0)
		})
	})
	t.Run("unusable", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			d.known("file:///gone")
			d.call().judged(t, "failed")
			d.previewed(t, fb, deny)
			d.call().judged(t, "known /fb by config").after(t, 0)
			d.previewed(t, Fallback{}, deny)
			d.call().judged(t, "failed").after(t, 0)
		})
	})
	t.Run("stale", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			d.known("file:///a")
			d.NoteChange()
			c := d.call()
			failure := errors.New("no")
			d.question().Fail(failure)
			c.judged(t, "known /a stale by asked")
			d.previewed(t, fb, with(NoRootsPolicy{Failed: true}))
			if c := d.call().judged(t, "known /a stale by asked"); !errors.Is(c.rootsView.Err, failure) {
				t.Error(c.rootsView.Err)
			}
		})
	})
	t.Run("failed", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			d.NoteHandshake(true, true)
			d.question().Fail(errors.New("no"))
			d.call().judged(t, "failed")
			d.previewed(t, fb, deny)
			d.call().judged(t, "known /fb by config").after(t, 0)
		})
	})
	t.Run("before the first answer", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			early := d.call()
			d.previewed(t, fb, with(NoRootsPolicy{Empty: true}))
			d.NoteHandshake(true, true)
			q := d.question()
			early.waits(t)
			q.Roots()
			early.judged(t, "empty open")
		})
	})
	t.Run("with calls", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			d.ExpectCallRoots()
			synctest.Wait()
			d.call().judged(t, "failed")
			d.previewed(t, fb, deny)
			if v := d.call().judged(t, "known /fb by config").rootsView; !v.Assumed || v.Snapshot != d.StandInView().Snapshot {
				t.Errorf("it is no stand-in: %+v", v)
			}
			before := d.StandInView()
			if d.StandInView().Snapshot != before.Snapshot || d.UndeclaredView().Snapshot == before.Snapshot {
				t.Error("a stand-in is made for each call, or one for all")
			}
			d.TakeCallRoots(Page{Entries: []RootEntry{{URI: "file:///a"}}})
			synctest.Wait()
			d.previewed(t, Fallback{Origin: OriginFlag, Entries: []RootEntry{{URI: "/b"}}}, deny)
			if v := d.call().judged(t, "known /a by inline").rootsView; v.Assumed {
				t.Errorf("it is a stand-in: %+v", v)
			}
			if got := show(d.StandInView()); got != "known /b by flag" {
				t.Errorf("by the former terms: %q", got)
			}
			d.TakeCallRoots(Page{Entries: []RootEntry{{URI: "file:///gone"}}})
			synctest.Wait()
			d.call().judged(t, "known /b by flag")
			d.previewed(t, Fallback{}, deny)
			d.call().judged(t, "failed")
		})
	})
	t.Run("a guessed project", func(t *testing.T) { // which is the session's, and no reload knows it
		guessed := with(NoRootsPolicy{Project: true})
		guessed.AtWorkDir = true
		fallback := Fallback{Guess: Guess{Project: RootEntry{URI: "/a"}, WorkDir: RootEntry{URI: "/a/sub"}}}
		bubble(t, setup{settings: guessed, fallback: fallback}, func(t *testing.T, d *session) {
			d.NoteHandshake(false, false)
			d.call().judged(t, "known /a by project (guessed)")
			slower := guessed
			slower.Timeout = time.Hour
			d.previewed(t, Fallback{}, slower)
			d.call().judged(t, "known /a by project (guessed)")
		})
	})
	t.Run("timeouts", func(t *testing.T) {
		bubble(t, setup{settings: deny}, func(t *testing.T, d *session) {
			s := deny
			s.Timeout = time.Second
			d.previewed(t, Fallback{}, s)
			d.call().judged(t, "failed").after(t, time.Second)
		})
	})
	t.Run("before Run", func(t *testing.T) {
		m := NewManager(nil, Fallback{}, deny, guard.OS{}, zerolog.Nop())
		m.Reconfigure(fb, with(NoRootsPolicy{Failed: true}))
		if v := m.RootsView(); v.Open || v.Case != CaseFailed {
			t.Errorf("%+v", v)
		}
	})
}

// previewed calls Reconfigure, and wants the view to be what Preview says before.
func (d *session) previewed(t *testing.T, fallback Fallback, s Settings) {
	t.Helper()
	before := d.RootsView()
	want := d.ViewUnder(fallback, s)
	if now := d.RootsView(); now.Snapshot != before.Snapshot {
		t.Error("Preview has changed the view")
	}
	d.Reconfigure(fallback, s)
	synctest.Wait()
	got := d.RootsView()
	if got.Case != want.Case || got.Open != want.Open || got.Stale != want.Stale || got.Snapshot.Origin() != want.Snapshot.Origin() ||
		!slices.Equal(got.Snapshot.Roots(), want.Snapshot.Roots()) || (got.Err == nil) != (want.Err == nil) {
		t.Errorf("previewed %+v, and it is %+v", want, got)
	}
}
