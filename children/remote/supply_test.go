package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/children/link"
	"mcphub/children/remote"
	"mcphub/e2e/childtest"
)

// printer prints a token with a number that grows.
type printer struct {
	n    atomic.Int32
	more map[string]string
	err  error
}

func (p *printer) headers(context.Context) (map[string]string, error) {
	n := p.n.Add(1)
	if p.err != nil {
		return nil, p.err
	}
	out := map[string]string{"Authorization": fmt.Sprintf("Bearer c4n4ry-%d", n)}
	for name, value := range p.more {
		out[name] = value
	}
	return out, nil
}

// tokens returns a server that takes no token below good, and quotes the one that it refuses.
func tokens(t *testing.T, good int) (s *childtest.Server, address string, seen func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s = childtest.NewServer(t)
	s.On["tools/list"] = func(w http.ResponseWriter, r *http.Request, id string) {
		childtest.Plain(w, id, `{"x": "`+r.Header.Get("X-Own")+`"}`)
	}
	in := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.Header.Get("Authorization"), "Bearer c4n4ry-%d", &n)
		if r.Method == http.MethodPost {
			mu.Lock()
			all = append(all, r.Header.Get("Authorization"))
			mu.Unlock()
		}
		if n < good {
			http.Error(w, "I do not know "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		s.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(in.Close)
	return s, in.URL, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), all...) }
}

// What a program prints is sent with each request for as long as it holds, instead of a header of hub.json.
func TestSupply(t *testing.T) {
	t.Parallel()
	_, address, seen := tokens(t, 1)
	p := &printer{more: map[string]string{"x-own": "printed"}}
	l, _, _ := open(t, remote.Server{URL: address, Transport: remote.HTTP, Headers: map[string]string{"X-Own": "static", "authorization": "Basic c3RhdGlj"}, Supply: remote.Supply{Headers: p.headers, TTL: time.Hour}})
	greet(t, l)
	res, err := l.Call(t.Context(), "tools/list")
	if err != nil || !strings.Contains(string(res.Result), "printed") || p.n.Load() != 1 {
		t.Errorf("%v, printed %d times", err, p.n.Load())
	}
	modern := l.(interface{ Stateless() link.ChildConnection }).Stateless()
	if _, err := modern.Call(t.Context(), "tools/list"); err != nil || p.n.Load() != 1 {
		t.Errorf("without a handshake: %v, printed %d times", err, p.n.Load())
	}
	for _, token := range seen() {
		if token != "Bearer c4n4ry-1" {
			t.Errorf("sent %q", token)
		}
	}
}

// After its time it is printed again.
func TestSupplyEnds(t *testing.T) {
	t.Parallel()
	_, address, seen := tokens(t, 1)
	p := &printer{}
	l, _, _ := open(t, remote.Server{URL: address, Transport: remote.HTTP, Supply: remote.Supply{Headers: p.headers, TTL: time.Nanosecond}})
	greet(t, l)
	if _, err := l.Call(t.Context(), "tools/list"); err != nil {
		t.Fatal(err)
	}
	if all := seen(); len(all) != 3 || all[0] == all[1] || all[1] == all[2] {
		t.Errorf("sent %q", all)
	}
}

// A refused token is printed again once, and the request is sent again once. The error shows none of it, even if the server does.
func TestSupplyRenewed(t *testing.T) {
	t.Parallel()
	for _, transport := range []remote.Transport{remote.HTTP, remote.SSE} {
		_, address, seen := tokens(t, 2)
		p := &printer{}
		l, _, _ := open(t, remote.Server{URL: address, Transport: transport, Supply: remote.Supply{Headers: p.headers, TTL: time.Hour}})
		if transport == remote.HTTP {
			greet(t, l)
			if _, err := l.Call(t.Context(), "tools/list"); err != nil || p.n.Load() != 2 || strings.Join(seen(), " ") != "Bearer c4n4ry-1 Bearer c4n4ry-2 Bearer c4n4ry-2 Bearer c4n4ry-2" {
				t.Errorf("%v, printed %d times, sent %q", err, p.n.Load(), seen())
			}
		}
		_, address, seen = tokens(t, 1<<20)
		p = &printer{}
		l, _, _ = open(t, remote.Server{URL: address, Transport: transport, Supply: remote.Supply{Headers: p.headers, TTL: time.Hour}, Login: &login{tokens: []string{"of a login"}, advice: "log in"}})
		_, err := l.Call(t.Context(), "initialize", []byte(`{}`))
		if err == nil || p.n.Load() != 2 || strings.Contains(err.Error(), "c4n4ry") || !strings.Contains(err.Error(), "headersFrom") {
			t.Errorf("%s: %v, printed %d times", transport, err, p.n.Load())
		}
		if transport == remote.SSE {
			continue
		}
		bad, ok := errors.AsType[*link.StatusError](err)
		if !ok || bad.Code != http.StatusUnauthorized || strings.Contains(bad.Text, "c4n4ry") || !strings.Contains(bad.Text, "[redacted]") || bad.LogIn || len(seen()) != 2 {
			t.Errorf("%+v, sent %q", bad, seen())
		}
	}
}

// Many that are refused at once wait for one renewal.
func TestSupplyRenewedForAll(t *testing.T) {
	t.Parallel()
	const calls = 8
	_, address, _ := tokens(t, 1)
	var old, came atomic.Int32
	all := make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" || r.Header.Get("Authorization") != "Bearer c4n4ry-1" || r.Method != http.MethodPost || old.Load() == 0 {
			httputil.NewSingleHostReverseProxy(must(t, address)).ServeHTTP(w, r)
			return
		}
		if came.Add(1) == calls {
			close(all)
		}
		<-all
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(front.Close)
	p := &printer{}
	l, _, _ := open(t, remote.Server{URL: front.URL, Transport: remote.HTTP, Supply: remote.Supply{Headers: p.headers, TTL: time.Hour}})
	greet(t, l)
	old.Store(1)
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if _, err := l.Call(t.Context(), "tools/list"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if p.n.Load() != 2 {
		t.Errorf("printed %d times", p.n.Load())
	}
}

func must(t *testing.T, address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		t.Error(err)
	}
	return u
}

// A program that fails is the error of the call, and the next call tries again.
func TestSupplyFails(t *testing.T) {
	t.Parallel()
	_, address, seen := tokens(t, 0)
	p := &printer{err: errors.New("headersFrom: it is not there")}
	l, _, _ := open(t, remote.Server{URL: address, Transport: remote.HTTP, Supply: remote.Supply{Headers: p.headers, TTL: time.Hour}})
	for range 2 {
		if _, err := l.Call(t.Context(), "initialize", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "it is not there") {
			t.Error(err)
		}
	}
	if p.n.Load() != 2 || len(seen()) != 0 {
		t.Errorf("printed %d times, sent %q", p.n.Load(), seen())
	}
}

// The end of a connection ends a program that hangs.
func TestSupplyIsStopped(t *testing.T) {
	t.Parallel()
	_, address, _ := tokens(t, 0)
	runs := make(chan struct{})
	l, _, stop := open(t, remote.Server{URL: address, Transport: remote.HTTP, Supply: remote.Supply{Headers: func(ctx context.Context) (map[string]string, error) {
		close(runs)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}, TTL: time.Hour}})
	failed := make(chan error, 1)
	go func() {
		_, err := l.Call(t.Context(), "initialize", []byte(`{}`))
		failed <- err
	}()
	<-runs
	_ = stop()
	if err := <-failed; err == nil {
		t.Error("the call succeeds")
	}
}

// What a server quotes of a header of hub.json, or of a login, is in no error.
func TestErrorsShowNoHeaders(t *testing.T) {
	t.Parallel()
	_, address, _ := tokens(t, 1)
	for name, s := range map[string]remote.Server{
		"a header": {Headers: map[string]string{"Authorization": "Basic c4n4ryc4n4ry"}},
		"a login":  {Login: &login{tokens: []string{"c4n4ryc4n4ry"}}},
	} {
		s.URL, s.Transport = address, remote.HTTP
		l, _, _ := open(t, s)
		if _, err := l.Call(t.Context(), "initialize", []byte(`{}`)); err == nil || strings.Contains(err.Error(), "c4n4ry") || !strings.Contains(err.Error(), "I do not know") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
