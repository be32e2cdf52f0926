package children_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/reference"
)

// seer is a Launcher that keeps what it is given.
type seer struct {
	mu  sync.Mutex
	got []string
}

func (s *seer) Launch(l launch.Launch, spec spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	s.mu.Lock()
	s.got = append(s.got, fmt.Sprintf("%q %q %q %q", l.Args, l.Env, spec.URL, spec.Headers))
	s.mu.Unlock()
	if spec.URL != "" {
		return nil, fmt.Errorf("nothing is there")
	}
	return childtest.Pipes{}.Launch(l, spec, h, log)
}

// lockedText is a log that is read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestSecretsReachTheLauncherAlone(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"K": "canary-k", "S": "canary/s", "BREAK": "canary\nx", "HOST": "canary@evil.example/"}
	key := func(name string) string { return reference.Ref{Kind: reference.Keyring, Name: name}.Mark() }
	remote := func(name, url, header string) spec.Spec {
		return spec.Spec{Name: name, URL: url, Headers: map[string]string{"X-Key": header}}
	}
	process := childtest.Spec("process", childtest.Script{})
	process.Env["KEY"] = key("K")
	missing := childtest.Spec("missing", childtest.Script{})
	missing.Env["KEY"] = key("NONE")
	see, w := &seer{}, newWatcher()
	var log lockedText
	s := children.NewSupervisor(w.watches(children.SupervisorOptions{
		Specs: []spec.Spec{process, missing,
			remote("remote", "http://127.0.0.1:1/"+key("S")+"?k="+key("K"), "Bearer "+key("K")),
			remote("broken", "http://127.0.0.1:1/", key("BREAK")), remote("elsewhere", "http://127.0.0.1"+"/"+key("K"), key("NONE"))},
		Launcher: see, Log: zerolog.New(&log).Level(zerolog.TraceLevel),
		Secret: func(_ context.Context, r reference.Ref, _ func(string) error) (string, error) {
			if v, ok := secrets[r.Name]; ok {
				return v, nil
			}
			return "", fmt.Errorf("the secret %q is not set; mcphub secret set %s", r.Name, r.Name)
		},
	}))
	runSupervisor(t, s)
	var said []string
	for name, want := range map[string]string{
		"process": "", "missing": `env KEY: the secret "NONE" is not set; mcphub secret set NONE`, "remote": "nothing is there",
		"broken": "headers.X-Key: a secret in it holds a line break", "elsewhere": `headers.X-Key: the secret "NONE" is not set`,
	} {
		k := spec.Key{Child: name, Instance: "s"}
		s.Ensure(k, nil)
		l, err := s.Acquire(t.Context(), k)
		if err == nil {
			l.Release()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		said = append(said, fmt.Sprint(err))
	}
	for _, st := range s.Status() {
		said = append(said, fmt.Sprintf("%+v", st))
	}
	said = append(said, log.String())
	if all := strings.Join(said, "\n"); strings.Contains(all, "canary") {
		t.Errorf("a secret is told:\n%s", all)
	}
	see.mu.Lock()
	defer see.mu.Unlock()
	if all := strings.Join(see.got, "\n"); !strings.Contains(all, `"KEY=canary-k"`) || !strings.Contains(all, `http://127.0.0.1:1/canary/s?k=canary-k`) || !strings.Contains(all, "Bearer canary-k") || strings.Contains(all, `\x00`) {
		t.Errorf("the launcher was given\n%s", all)
	}
}
