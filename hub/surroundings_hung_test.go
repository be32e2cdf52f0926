package hub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/surroundings"
)

// dead is a mount that a single session's folders lie on: what looks at it waits until it answers.
type dead struct {
	looks   chan struct{} // one for each look at it
	answers chan struct{} // closed once it does
	hangs   atomic.Bool
}

const deadFolder = "PATH=/dead"

// onDead plays servers for sessions of which those with deadFolder in their environment lie on a dead mount.
func onDead(t *testing.T, test func(t *testing.T, h *Hub, cfg Config, d *dead)) {
	play(t, []spec.Spec{played("own", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, _ *stage) {
		d := &dead{looks: make(chan struct{}, 100), answers: make(chan struct{})}
		d.hangs.Store(true)
		cfg := h.currentConfiguration().Settings
		read := inAny(cfg)
		cfg.ForSurroundings = func(a *Surroundings) (Config, error) {
			if slices.Contains(a.Environ, deadFolder) && d.hangs.Load() {
				d.looks <- struct{}{}
				<-d.answers
			}
			return read(a)
		}
		if _, err := h.Apply(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		test(t, h, cfg, d)
		close(d.answers)
		synctest.Wait()
		if _, n := h.surroundings.Counts(); n != 0 {
			t.Errorf("%d looks are counted that have ended", n)
		}
	})
}

// isServed checks that a session is served.
func isServed(t *testing.T, c *testClient) {
	t.Helper()
	if msg, bad := text(c.raw("tools/call", toolCall("own__echo", `{"tag":"x"}`))); bad {
		t.Errorf("not served: %s", msg)
	}
}

// TestHungAttach: while the folders of one session do not answer, another attaches and hub.json is read again. The one
// is refused within a bound, with the reason.
func TestHungAttach(t *testing.T) {
	onDead(t, func(t *testing.T, h *Hub, cfg Config, d *dead) {
		refused := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := h.PrepareAttachment(t.Context(), Surroundings{Environ: []string{deadFolder}})
			refused <- err
		}()
		<-d.looks
		c, leave := enterFrom(t, h, Surroundings{Environ: []string{"LANG=a"}})
		defer leave()
		c.handshake(declared)
		if _, err := h.Apply(t.Context(), cfg); err != nil {
			t.Error(err)
		}
		isServed(t, c)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the others waited for %s", waited)
		}
		err := <-refused
		if !errors.Is(err, ErrSurroundings) || !strings.Contains(err.Error(), surroundings.ErrHung.Error()) || time.Since(began) != surroundings.LookTime {
			t.Errorf("refused after %s: %v", time.Since(began), err)
		}
	})
}

// TestHungReload: a session whose folders do not answer any more ends when hub.json is read again. The reload goes
// through within a bound, and meanwhile others attach.
func TestHungReload(t *testing.T) {
	onDead(t, func(t *testing.T, h *Hub, cfg Config, d *dead) {
		d.hangs.Store(false)
		lost, leaveLost := enterFrom(t, h, Surroundings{Environ: []string{deadFolder}})
		defer leaveLost()
		lost.handshake(declared)
		c, leave := enterFrom(t, h, Surroundings{Environ: []string{"LANG=a"}})
		defer leave()
		c.handshake(declared)
		isServed(t, lost)
		d.hangs.Store(true)

		began, reloaded := time.Now(), make(chan error, 1)
		go func() {
			_, err := h.Apply(context.Background(), cfg)
			reloaded <- err
		}()
		<-d.looks
		other, leaveOther := enterFrom(t, h, Surroundings{Environ: []string{"LANG=b"}})
		defer leaveOther()
		other.handshake(declared)
		isServed(t, other)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("who came meanwhile waited for %s", waited)
		}
		if err := <-reloaded; err != nil || time.Since(began) != surroundings.RereadTime {
			t.Errorf("reloaded after %s: %v", time.Since(began), err)
		}
		synctest.Wait()
		if n := len(h.sessions.Sessions()); n != 2 {
			t.Errorf("%d sessions are left", n)
		}
		isServed(t, c)
		isServed(t, other)
		for _, s := range h.sessions.Sessions() {
			if s.currentConfiguration().Number != h.currentConfiguration().Number {
				t.Error("a session goes by what was read before")
			}
		}
	})
}

// TestReplacedWhilePrepared: a session that was prepared for what is no longer in force is prepared again.
func TestReplacedWhilePrepared(t *testing.T) {
	t.Parallel()
	onDead(t, func(t *testing.T, h *Hub, cfg Config, _ *dead) {
		a, err := h.PrepareAttachment(t.Context(), Surroundings{Environ: []string{"LANG=a"}})
		if err != nil {
			t.Fatal(err)
		}
		was := h.currentConfiguration()
		if _, err := h.Apply(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		_, leave, err := a.at.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		if now := a.at.Current.InForce(); now.Number != was.Number+1 || now.Number != h.currentConfiguration().Number {
			t.Errorf("it goes by number %d, and %d is in force", now.Number, h.currentConfiguration().Number)
		}
	})
}

// TestManyHung: who comes after many sessions whose folders have never answered is refused at once.
func TestManyHung(t *testing.T) {
	t.Parallel()
	onDead(t, func(t *testing.T, h *Hub, _ Config, d *dead) {
		for range surroundings.MaxHung {
			if _, err := h.PrepareAttachment(t.Context(), Surroundings{Environ: []string{deadFolder}}); !errors.Is(err, ErrSurroundings) {
				t.Fatal(err)
			}
			<-d.looks
		}
		began := time.Now()
		if _, err := h.PrepareAttachment(t.Context(), Surroundings{Environ: []string{deadFolder}}); !errors.Is(err, ErrSurroundings) || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
