package children_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// modernOne is the instance of one for clients without a handshake.
var modernOne = spec.Key{Child: one.Child, Instance: one.Instance, Era: spec.EraModern}

// TestEraIsFoundOut plays every way in which a child may answer, or not answer,
// server/discover: for clients without a handshake each is spoken to in the era
// that it has, and no one waits longer than the probe does.
func TestEraIsFoundOut(t *testing.T) {
	t.Parallel()
	type script = childtest.Script
	const modern, legacy = "2026-07-28", "2025-11-25"
	for name, test := range map[string]greeting{
		"legacy":                       {script{}, 0, legacy, "", 0, 1},
		"both":                         {script{Era: "dual"}, 0, modern, "", 0, 1},
		"modern":                       {script{Era: "modern"}, 0, modern, "", 0, 1},
		"both, told to be legacy":      {script{Era: "dual"}, spec.EraLegacy, legacy, "", 0, 1},
		"legacy, told to be modern":    {script{}, spec.EraModern, "", "without a handshake", 0, 1},
		"modern, told to be legacy":    {script{Era: "modern"}, spec.EraLegacy, "", "2026-07-28 only", 0, 1},
		"silent":                       {script{Discover: "silent"}, 0, legacy, "", 2 * time.Second, 1},
		"silent, told":                 {script{Discover: "silent"}, spec.EraLegacy, legacy, "", 0, 1},
		"a line that is no JSON":       {script{Discover: "broken"}, 0, legacy, "", 2 * time.Second, 1},
		"dies of it":                   {script{Discover: "die"}, 0, legacy, "", 0, 2},
		"another error":                {script{Discover: `{"code":-32000,"message":"not initialized"}`}, 0, legacy, "", 0, 1},
		"a result that is none":        {script{Discover: `{"nonsense":true}`}, 0, legacy, "", 0, 1},
		"an odd list of versions":      {script{Discover: `{"supportedVersions":"2026-07-28"}`}, 0, legacy, "", 0, 1},
		"a type that is unknown":       {script{Discover: `{"resultType":"odd","supportedVersions":["2026-07-28"]}`}, 0, legacy, "", 0, 1},
		"other versions":               {script{Discover: `{"supportedVersions":["2031-01-01","2025-06-18"]}`}, 0, legacy, "", 0, 1},
		"no common version":            {script{Discover: `{"supportedVersions":["2031-01-01"]}`}, 0, "", "serves none of the protocol versions", 0, 1},
		"refuses the version":          {script{Discover: `{"code":-32022,"message":"x","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}`}, 0, legacy, "", 0, 1},
		"refuses, no common version":   {script{Discover: `{"code":-32022,"message":"x","data":{"supported":["2031-01-01"],"requested":"2026-07-28"}}`}, 0, "", "serves none of the protocol versions", 0, 1},
		"wants a capability":           {script{Discover: `{"code":-32021,"message":"x"}`}, 0, "", "refuses server/discover", 0, 1},
		"starts slowly, legacy":        {script{StartDelay: 5 * time.Second}, 0, legacy, "", 5 * time.Second, 1},
		"starts slowly, both":          {script{Era: "dual", StartDelay: 5 * time.Second}, 0, legacy, "", 5 * time.Second, 1},
		"starts slowly, modern":        {script{Era: "modern", StartDelay: 5 * time.Second}, 0, modern, "", 5 * time.Second, 1},
		"starts quite slowly, both":    {script{Era: "dual", StartDelay: 1500 * time.Millisecond}, 0, modern, "", 1500 * time.Millisecond, 1},
		"answers late, modern":         {script{Era: "modern", Discover: "late", Delay: 3 * time.Second}, 0, modern, "", 3 * time.Second, 1},
		"answers late, both":           {script{Era: "dual", Discover: "late", Delay: 3 * time.Second}, 0, legacy, "", 2 * time.Second, 1},
		"slow, told to be modern":      {script{Era: "dual", StartDelay: 5 * time.Second}, spec.EraModern, modern, "", 5 * time.Second, 1},
		"refuses both":                 {script{Era: "modern", Discover: `{"code":-1,"message":"no"}`}, 0, "", "2026-07-28 only", 0, 1},
		"modern only, and never tells": {script{Era: "modern", Discover: "silent"}, 0, "", "2026-07-28 only", 4 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				greeted(t, test, modernOne)
			})
		})
	}
}

// A greeting is a child and what comes of its start.
type greeting struct {
	script childtest.Script
	era    spec.Era // of the Spec
	want   string   // protocol; "": it does not start
	err    string
	after  time.Duration // when it is ready, at most; at least nearly that
	runs   int
}

func greeted(t *testing.T, test greeting, k spec.Key) {
	t.Helper()
	child := childtest.Spec("kid", test.script)
	child.Era = test.era
	launcher := &counter{}
	w := newWatcher()
	s := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{child}, Launcher: launcher})
	start := time.Now()
	s.Ensure(k, nil)
	<-s.Settled(k)
	if took := time.Since(start); took > test.after+100*time.Millisecond || took < test.after {
		t.Errorf("settled after %s, want %s", took, test.after)
	}
	if n := launcher.runs(); n != test.runs {
		t.Errorf("%d runs, want %d", n, test.runs)
	}
	st := statusOf(t, s, "kid")
	if test.want == "" {
		if st.State == children.Ready || !strings.Contains(st.Err, test.err) {
			t.Errorf("%s", st)
		}
		return
	}
	if st.State != children.Ready {
		t.Fatalf("%s", st)
	}
	l := acquire(t, s, k)
	defer l.Release()
	if o := l.Offer(); o.Protocol != test.want || l.IsModern() != (test.want == "2026-07-28") || o.ServerName != "scripted" || o.ServerVersion != "1.2.3" || o.Instructions != "Be kind." || len(o.Entries[offers.Tools]) == 0 {
		t.Errorf("offer: %s %s %s %q, %d tools", o.Protocol, o.ServerName, o.ServerVersion, o.Instructions, len(o.Entries[offers.Tools]))
	}
	if got := call(t, l, "echo", `{"n":12345678901234567890}`); !strings.Contains(got, `{"n":12345678901234567890}`) {
		t.Error(got)
	}
}

// TestEraOfTheClient: for clients of the handshake a child that has both eras is
// spoken to by the handshake, and is asked nothing else before; one that has no
// handshake is bridged.
func TestEraOfTheClient(t *testing.T) {
	t.Parallel()
	type script = childtest.Script
	const modern, legacy = "2026-07-28", "2025-11-25"
	for name, test := range map[string]greeting{
		"legacy":                         {script{}, 0, legacy, "", 0, 1},
		"both":                           {script{Era: "dual"}, 0, legacy, "", 0, 1},
		"both, the first message counts": {script{Era: "dual", Locks: true}, 0, legacy, "", 0, 1},
		"both, told to be modern":        {script{Era: "dual"}, spec.EraModern, modern, "", 0, 1},
		"modern":                         {script{Era: "modern"}, 0, modern, "", 0, 1},
		"would die of server/discover":   {script{Discover: "die"}, 0, legacy, "", 0, 1},
		"would not answer it":            {script{Discover: "silent"}, 0, legacy, "", 0, 1},
		"starts slowly, both":            {script{Era: "dual", StartDelay: 5 * time.Second}, 0, legacy, "", 5 * time.Second, 1},
		"starts slowly, modern":          {script{Era: "modern", StartDelay: 5 * time.Second}, 0, modern, "", 5 * time.Second, 1},
		"modern, and dies of initialize": {script{Era: "modern", DieAtInit: true}, 0, modern, "", 0, 2},
		"refuses both":                   {script{Era: "modern", Discover: `{"code":-1,"message":"no"}`}, 0, "", "2026-07-28 only", 0, 1},
		"no common version":              {script{Era: "modern", Discover: `{"supportedVersions":["2031-01-01"]}`}, 0, "", "serves none of the protocol versions", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { greeted(t, test, one) })
		})
	}
	t.Run("both, the first message counts, for a client without a handshake", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			greeted(t, greeting{script{Era: "dual", Locks: true}, 0, modern, "", 0, 1}, modernOne)
		})
	})
}

// TestEraIsRemembered: what was found out once is not found out again, be it by
// the same instance or another hub; and a child that has changed meanwhile is
// spoken to all the same.
func TestEraIsRemembered(t *testing.T) {
	t.Parallel()
	type script = childtest.Script
	slow := 5 * time.Second
	for name, test := range map[string]struct {
		first, then script
		want        string
		after       time.Duration
	}{
		"silent":                       {script{Discover: "silent"}, script{Discover: "silent"}, "2025-11-25", 0},
		"dies of it":                   {script{Discover: "die"}, script{Discover: "die"}, "2025-11-25", 0},
		"modern, and slow":             {script{Era: "dual"}, script{Era: "dual", StartDelay: slow}, "2026-07-28", slow},
		"both, and slow at first":      {script{Era: "dual", StartDelay: slow}, script{Era: "dual", StartDelay: slow}, "2026-07-28", slow},
		"legacy becomes both":          {script{}, script{Era: "dual"}, "2025-11-25", 0},
		"legacy becomes modern":        {script{}, script{Era: "modern"}, "2026-07-28", 0},
		"modern becomes legacy":        {script{Era: "modern"}, script{}, "2025-11-25", 0},
		"modern becomes one that dies": {script{Era: "modern"}, script{Discover: "die"}, "2025-11-25", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child := childtest.Spec("kid", test.first)
				child.IdleTimeout = time.Minute
				launcher := &counter{next: &test.then}
				if test.first.Discover == "die" {
					launcher.next = nil
				}
				s := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{child}, Launcher: launcher})
				s.Ensure(modernOne, nil)
				acquire(t, s, modernOne).Release()
				time.Sleep(time.Minute + time.Second) // it idles out
				runs := launcher.runs()
				start := time.Now()
				l := acquire(t, s, modernOne)
				defer l.Release()
				if took := time.Since(start); took < test.after || took > test.after+100*time.Millisecond {
					t.Errorf("ready after %s", took)
				}
				if got := l.Offer().Protocol; got != test.want {
					t.Errorf("spoken to in %s, want %s", got, test.want)
				}
				if n := launcher.runs() - runs; n != 1 && test.then.Discover != "die" {
					t.Errorf("%d more runs", n)
				}
			})
		})
	}
}

// TestEraFailureStaysOne: a child that fails to start for another reason is
// started again for its era, and not ever after.
func TestEraFailureStaysOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		launcher := &counter{}
		s := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{childtest.Spec("kid", childtest.Script{Exit: 3})}, Launcher: launcher})
		s.Ensure(one, nil)
		<-s.Settled(one)
		if n := launcher.runs(); n != 2 {
			t.Errorf("%d runs", n)
		}
		if st := statusOf(t, s, "kid"); st.Failures != 1 {
			t.Errorf("%d failures: %s", st.Failures, st)
		}
		time.Sleep(300 * time.Millisecond) // the back-off
		synctest.Wait()
		if n := launcher.runs(); n != 3 {
			t.Errorf("%d runs after the second start", n)
		}
	})
}
