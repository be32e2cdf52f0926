package children_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// A versionServer answers initialize only in one version of the handshake, and keeps what
// it was asked for.
type versionServer struct {
	web    *childtest.Web
	speaks string
	body   string // of the refusal

	mu       sync.Mutex
	proposed []string
}

func (s *versionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var m struct {
		Method string
		Params struct{ ProtocolVersion string }
	}
	_ = json.Unmarshal(raw, &m)
	if r.Method == http.MethodGet && r.Header.Get("Mcp-Session-Id") == "" {
		w.WriteHeader(http.StatusMethodNotAllowed) // it is no older transport
		return
	}
	if m.Method == "initialize" {
		s.mu.Lock()
		s.proposed = append(s.proposed, m.Params.ProtocolVersion)
		s.mu.Unlock()
		if m.Params.ProtocolVersion != s.speaks {
			http.Error(w, s.body, http.StatusBadRequest)
			return
		}
	}
	r.Body = io.NopCloser(strings.NewReader(string(raw)))
	s.web.ServeHTTP(w, r)
}

func (s *versionServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.proposed)
}

// TestVersionRefusedOverHTTP: a refusal by the status 400 is first taken for the older
// transport, which is not there, and then for what it is; the connection serves all the same.
func TestVersionRefusedOverHTTP(t *testing.T) {
	t.Parallel()
	server := &versionServer{web: childtest.NewWeb(childtest.Script{}), speaks: "2025-03-26", body: "Bad Request: unsupported protocol version"}
	t.Cleanup(server.web.Close)
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	s := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{{Name: "kid", URL: at.URL}}, Launcher: children.ByURL{}})
	s.Ensure(one, nil)
	l := acquire(t, s, one)
	defer l.Release()
	if got := call(t, l, "echo", `{"n":1}`); !strings.Contains(got, `{"n":1}`) || l.Protocol() != "2025-03-26" {
		t.Errorf("%s, protocol %s", got, l.Protocol())
	}
	if want := []string{"2025-11-25", "2025-06-18", "2025-03-26"}; !slices.Equal(server.asked(), want) {
		t.Errorf("asked for %s, want %s", server.asked(), want)
	}
}

// TestVersionIsRemembered: what a server was found out to speak is what it is asked for
// first from then on, also by another hub, until the server calls itself another version.
func TestVersionIsRemembered(t *testing.T) {
	t.Parallel()
	old := childtest.Script{Speaks: []string{"2025-06-18"}, Refusal: `{"code":-32000,"message":"no such version"}`, Version: "1"}
	same := old
	same.Speaks = nil // it would take the newest, too
	other := same
	other.Version = "2"
	for name, test := range map[string]struct {
		then []childtest.Script // of the starts after the first
		want []string           // the versions that they agree on
	}{
		"the same program":    {[]childtest.Script{same, same}, []string{"2025-06-18", "2025-06-18"}},
		"another one is told": {[]childtest.Script{other, other}, []string{"2025-06-18", "2025-11-25"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child := childtest.Spec("kid", old)
				child.IdleTimeout = time.Minute
				launcher := &counter{}
				cache := filepath.Join(t.TempDir(), "catalogue")
				begin := func() *children.Supervisor {
					return start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{child}, Launcher: launcher, Cache: cache})
				}
				s := begin()
				s.Ensure(one, nil)
				l := acquire(t, s, one)
				if l.Protocol() != "2025-06-18" {
					t.Fatal(l.Protocol())
				}
				l.Release()
				for i, script := range test.then {
					launcher.next = &script
					time.Sleep(2 * time.Minute) // it is stopped, and what it offered is written down
					if i > 0 {                  // another hub
						s = begin()
						s.Ensure(one, nil)
					}
					l := acquire(t, s, one)
					if l.Protocol() != test.want[i] {
						t.Errorf("start %d: %s, want %s", i+2, l.Protocol(), test.want[i])
					}
					l.Release()
				}
			})
		})
	}
}

// TestVersionIsPinned: the version that an entry names is the only one that is proposed.
func TestVersionIsPinned(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script childtest.Script
		want   string
	}{
		"it takes it":   {childtest.Script{}, "2025-03-26"},
		"it refuses it": {childtest.Script{Speaks: []string{"2025-06-18"}, Refusal: `{"code":-32000,"message":"no such version"}`}, ""},
		"of both eras":  {childtest.Script{Era: "dual"}, "2025-03-26"},
		"no handshake":  {childtest.Script{Era: "modern"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child := childtest.Spec("kid", test.script)
				child.Protocol, child.Era = "2025-03-26", spec.EraLegacy
				s := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{child}, Launcher: &counter{}})
				s.Ensure(one, nil)
				<-s.Settled(one)
				if st := statusOf(t, s, "kid"); st.Protocol != test.want || (st.State == children.Ready) != (test.want != "") {
					t.Errorf("%s, protocol %s", st, st.Protocol)
				}
			})
		})
	}
}
