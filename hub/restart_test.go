package hub

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// A child that is started again lets its calls end, and the next one goes to
// another process; the others are left alone.
func TestRestart(t *testing.T) {
	kid, other := scripted("kid", childtest.Script{}), scripted("other", childtest.Script{})
	cfg := testConfig(t, kid, other)
	cfg.Disabled, cfg.Broken = []string{"off"}, []Broken{{Name: "odd", Reason: "it lacks something"}}
	h := runHub(t, cfg)
	c := connect(t, h)
	c.handshake(`{}`)
	c.raw("tools/list", `{}`)
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	c.raw("tools/call", toolCall("other__echo", `{}`))
	was, beside := pid(t, h, "kid"), pid(t, h, "other")

	if r, err := h.RestartServer(t.Context(), "kid"); err != nil || !reflect.DeepEqual(r, RestartReport{Processes: 1, Ready: 1}) {
		t.Fatalf("%+v, %v", r, err)
	}
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	if now := pid(t, h, "kid"); now == was {
		t.Error("the same process answers")
	}
	if now := pid(t, h, "other"); now != beside {
		t.Error("another child was started anew, too")
	}
	for name, want := range map[string]string{"off": "disabled", "odd": "it lacks something", "none": noEntry} {
		var gone *NotServedError
		if _, err := h.RestartServer(t.Context(), name); !errors.As(err, &gone) || gone.Reason != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := apply(t, h, cfg) // what a reload compares with is as it was
	if len(a.Untouched) != 2 {
		t.Errorf("a reload of the same configuration: %+v", a)
	}
}

// A call under way ends in the old process while the new one serves.
func TestRestartDuringACall(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		c.tagged(s, "kid", "before")
		done := make(chan string)
		go func() { done <- c.raw("tools/call", toolCall("kid__progress", `{"Steps":1,"Every":60000000000}`)) }()
		synctest.Wait()
		if r, err := h.RestartServer(context.Background(), "kid"); !reflect.DeepEqual(r, RestartReport{Processes: 1, Ready: 1}) || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
		c.tagged(s, "kid", "after")
		if got := <-done; !strings.Contains(got, `"done"`) {
			t.Errorf("the call under way: %s", got)
		}
		if launched, _ := s.count("kid"); launched != 2 {
			t.Errorf("it was started %d times", launched)
		}
	})
}

// A child that has failed too often to be tried again is tried again, at once.
func TestRestartClosesTheCircuit(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Mute: true})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		time.Sleep(time.Hour)
		if st := h.Status().Children[0]; !st.CircuitOpen || st.Failures == 0 {
			t.Fatalf("%+v", st)
		}
		before, _ := s.count("kid")
		if r, err := h.RestartServer(context.Background(), "kid"); r.Processes != 1 || r.Ready != 0 || r.Error == "" || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
		if st := h.Status().Children[0]; st.CircuitOpen || st.Failures > 2 {
			t.Errorf("%+v", st)
		}
		if launched, _ := s.count("kid"); launched == before {
			t.Error("it was not started again")
		}
	})
}
