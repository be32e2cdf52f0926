package hub

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// TestAChildThatHangsDelaysTheFirstListAlone: lists wait for children that are
// starting, once; what is known already waits for no one (C1).
func TestAChildThatHangsDelaysTheFirstListAlone(t *testing.T) {
	good := played("good", spec.ShareSession, childtest.Script{Library: true})
	hangs := played("hangs", spec.ShareSession, childtest.Script{Mute: true})
	hangs.StartTimeout = time.Minute
	play(t, []spec.Spec{hangs, good}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		took := func(method, params string) time.Duration {
			began := time.Now()
			c.raw(method, params)
			return time.Since(began)
		}
		if d := took("tools/list", `{}`); d != 5*time.Second {
			t.Errorf("the first list took %s", d)
		}
		for _, again := range []struct{ method, params string }{
			{"tools/list", `{}`}, {"prompts/list", `{}`}, {"resources/list", `{}`}, {"resources/templates/list", `{}`},
			{"resources/read", `{"uri":"note://1"}`}, {"resources/read", `{"uri":"note://unlisted"}`}, {"resources/subscribe", `{"uri":"note://1"}`},
			{"completion/complete", `{"ref":{"type":"ref/resource","uri":"note://{id}"},"argument":{"name":"id","value":""}}`},
		} {
			if d := took(again.method, again.params); d > 100*time.Millisecond {
				t.Errorf("%s %s took %s", again.method, again.params, d)
			}
		}
		cfg := testConfig(t, hangs, good, played("late", spec.ShareSession, childtest.Script{}))
		cfg.Launcher = h.currentConfiguration().Launcher
		apply(t, h, cfg)
		took("tools/list", `{}`)
		if !c.listed("late__echo") {
			t.Error("a list after a reload does not wait for what is new")
		}
	})
}

// TestAKnownListHardlyWaits: where it is remembered what other servers offer, not even the
// first list waits long for one that is not known. The client is told when that has come.
func TestAKnownListHardlyWaits(t *testing.T) {
	good := played("good", spec.ShareSession, childtest.Script{})
	late := played("late", spec.ShareSession, childtest.Script{StartDelay: 15 * time.Second})
	synctest.Test(t, func(t *testing.T) {
		cache := filepath.Join(t.TempDir(), "catalogue")
		first := func(specs ...spec.Spec) (*testClient, time.Duration) {
			cfg := testConfig(t, specs...)
			cfg.Launcher, cfg.Cache, cfg.Dir, cfg.Limits.ListWait = newStage(), cache, filepath.Dir(cache), 0 // as shipped
			c, _ := enter(t, runHub(t, cfg))
			c.handshake(`{}`)
			began := time.Now()
			c.raw("tools/list", `{}`)
			return c, time.Since(began)
		}
		if c, took := first(late, good); took != 5*time.Second || !c.listed("good__echo") {
			t.Fatalf("where nothing is known the first list took %s: %t", took, c.listed("good__echo"))
		}
		c, took := first(played("other", spec.ShareSession, childtest.Script{StartDelay: 15 * time.Second}), good)
		if took > time.Second || !c.listed("good__echo") || c.listed("other__echo") {
			t.Errorf("the list took %s", took)
		}
		time.Sleep(20 * time.Second)
		if !c.announced() || !c.listed("other__echo") {
			t.Error("the client was not told of the server that came late")
		}
	})
}
