//go:build otlp

package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"mcphub/cmd/mcphub/internal/delivery"
	"mcphub/e2e/bounds"
	"mcphub/e2e/recordtest"
	"mcphub/e2e/trusttest"
	"mcphub/hub/audit"
)

// A logReceiver takes log records. answer may answer a request in another way, and reports whether it has.
type logReceiver struct {
	t      *testing.T
	answer func(n int, w http.ResponseWriter) bool

	mu       sync.Mutex
	requests int
	headers  []http.Header
	records  []*logs.LogRecord
	of       map[string]string // attributes of the resource
}

func (l *logReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.headers = append(l.headers, r.Header)
	body, err := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			l.t.Error(err)
			return
		}
		body, _ = io.ReadAll(z)
	}
	var data logs.LogsData
	if err = errors.Join(err, proto.Unmarshal(body, &data)); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
		l.t.Errorf("%s %s: %v", r.Method, r.Header, err)
	}
	if l.answer != nil && l.answer(l.requests, w) {
		return
	}
	for _, of := range data.ResourceLogs {
		l.of = textsOf(of.Resource.Attributes)
		for _, scope := range of.ScopeLogs {
			l.records = append(l.records, scope.LogRecords...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// got returns the log records that have come.
func (l *logReceiver) got() []*logs.LogRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

func textsOf(all []*common.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range all {
		texts[a.Key] = a.Value.GetStringValue()
	}
	return texts
}

// deliverTo delivers a folder to a collector of variables until a condition holds, and returns how many lines are lost.
func deliverTo(t *testing.T, dir string, env map[string]string, until func() bool) (lost uint64) {
	t.Helper()
	c, err := OpenLogs(t.Context(), func(name string) string { return env[name] }, "1.2.3", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), bounds.Patience)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&delivery.Sender{Dir: dir, To: c, Lost: func(lines uint64) { lost += lines }, Log: zerolog.Nop()}).Run(ctx)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !until() && ctx.Err() == nil {
		<-tick.C
	}
	if ctx.Err() != nil {
		t.Error("it has not come to that")
	}
	stop()
	<-done
	return lost
}

func writeRecord(t *testing.T, lines int) (dir string, text string) {
	t.Helper()
	dir = t.TempDir()
	for _, file := range recordtest.Write(t, dir, recordtest.Shape{Lines: lines, Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Every: time.Second, Principals: 2, Sessions: 3}) {
		if !strings.HasSuffix(file, audit.LogEnding) {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	return dir, text
}

// TestTheCollectorHasTheRecord: the bodies are the lines of the log, in order and each once, although the collector is busy for a while; each decision has attributes; and the
// collector gets the headers of the variables and is named the resource.
func TestTheCollectorHasTheRecord(t *testing.T) {
	dir, text := writeRecord(t, 1200)
	receiver := &logReceiver{t: t, answer: func(n int, w http.ResponseWriter) bool {
		if n == 2 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return n == 2
	}}
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_SERVICE_NAME", "hub-under-test")
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/base/", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_HEADERS": "other=x", "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "Authorization=Basic%20abc, tenant=a"}
	bodies := func() (all string) {
		for _, r := range receiver.got() {
			if r.Body != nil {
				all += r.Body.GetStringValue() + "\n"
			}
		}
		return all
	}
	if lost := deliverTo(t, dir, env, func() bool { return len(bodies()) >= len(text) }); lost != 0 {
		t.Errorf("%d lines are lost", lost)
	}
	if bodies() != text {
		t.Errorf("the collector has %d bytes of %d, or others", len(bodies()), len(text))
	}
	calls, denied := 0, 0
	for _, r := range receiver.got() {
		a := textsOf(r.Attributes)
		if a["mcphub.decision"] == "" {
			continue
		}
		if calls++; a["mcphub.decision"] == "deny" {
			denied++
		}
		for _, name := range []string{"mcphub.audit.log", "mcphub.principal", "mcphub.server.name", "gen_ai.tool.name", "mcp.session.id"} {
			if a[name] == "" {
				t.Fatalf("a decision has no %s: %v", name, a)
			}
		}
		if r.TimeUnixNano == 0 || r.SeverityNumber == 0 || r.EventName != "mcphub.decision" {
			t.Fatalf("%v", r)
		}
	}
	if want := strings.Count(text, `"decision":`); calls < want || denied == 0 {
		t.Errorf("%d decisions, %d denied, want %d", calls, denied, want)
	}
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	if h := receiver.headers[0]; h.Get("Authorization") != "Basic abc" || h.Get("Tenant") != "a" || h.Get("Other") != "" || h.Get("Content-Encoding") != "gzip" {
		t.Errorf("headers %v", h)
	}
	if receiver.of["service.name"] != "hub-under-test" || receiver.of["service.version"] != "1.2.3" {
		t.Errorf("the resource is %v", receiver.of)
	}
}

// TestWhatACollectorRefuses is counted, and delivery goes on; what it cannot take now is sent again.
func TestWhatACollectorRefuses(t *testing.T) {
	partial := protowire.AppendTag(nil, 1, protowire.BytesType)
	said := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)
	said = protowire.AppendString(protowire.AppendTag(said, 2, protowire.BytesType), "too old")
	partial = protowire.AppendBytes(partial, said)
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter)
		lost   uint64
		again  bool
	}{
		"a part":    {func(w http.ResponseWriter) { _, _ = w.Write(partial) }, 5, false},
		"for now":   {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, 0, true},
		"the token": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, 0, true},
		"sends it away": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := writeRecord(t, 30)
			receiver := &logReceiver{t: t, answer: func(n int, w http.ResponseWriter) bool {
				if n == 1 {
					tc.answer(w)
				}
				return n == 1
			}}
			server := httptest.NewServer(receiver)
			t.Cleanup(server.Close)
			delivered := func() bool {
				_, err := os.Stat(filepath.Join(dir, "otlp.json"))
				return err == nil
			}
			if lost := deliverTo(t, dir, map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": server.URL}, delivered); lost != tc.lost || (len(receiver.got()) > 0) != tc.again {
				t.Errorf("%d lines are lost, and %d log records have come", lost, len(receiver.got()))
			}
		})
	}
}

// TestWhatACollectorCannotRead takes nothing else along: of a batch that it refuses, only the line is lost for which that is so. Else a caller whose
// line the collector refuses would hide the lines of others. One that takes
// nothing is sent a bounded number of requests.
func TestWhatACollectorCannotRead(t *testing.T) {
	const lines = 300
	for name, tc := range map[string]struct {
		answer func(r *http.Request, body string) int
		lost   uint64
	}{
		"one line": {func(_ *http.Request, body string) int {
			if strings.Contains(body, `"n":217,`) {
				return http.StatusBadRequest
			}
			return http.StatusOK
		}, 1},
		"every tenth line": {func(_ *http.Request, body string) int {
			if strings.Contains(body, `5,"prev":`) {
				return http.StatusBadRequest
			}
			return http.StatusOK
		}, lines / 10},
		"more than it takes at a time": {func(r *http.Request, _ string) int {
			if r.ContentLength > 64<<10 {
				return http.StatusRequestEntityTooLarge
			}
			return http.StatusOK
		}, 0},
		"all": {func(*http.Request, string) int { return http.StatusUnprocessableEntity }, lines},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := writeRecord(t, lines)
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++ // one comes after the other
				body, _ := io.ReadAll(r.Body)
				w.WriteHeader(tc.answer(r, string(body)))
			}))
			t.Cleanup(server.Close)
			delivered := func() bool {
				_, err := os.Stat(filepath.Join(dir, "otlp.json"))
				return err == nil
			}
			if lost := deliverTo(t, dir, map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": server.URL}, delivered); lost != tc.lost {
				t.Errorf("%d lines are lost, want %d", lost, tc.lost)
			}
			if tc.lost == lines && requests > 2*maxRequests {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// TestLogsOverTLS: the collector is asked for a certificate of the authority that a variable names, and is shown the hub's own.
func TestLogsOverTLS(t *testing.T) {
	authority, other := trusttest.New(t), trusttest.New(t)
	dir, _ := writeRecord(t, 10)
	receiver := &logReceiver{t: t}
	server := authority.Serve(receiver, authority)
	cert, key := authority.Files(t.TempDir(), authority.Issue("hub"))
	env := map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE": other.File(), "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": cert, "OTEL_EXPORTER_OTLP_CLIENT_KEY": key}
	c, err := OpenLogs(t.Context(), func(name string) string { return env[name] }, "1", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	link, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = link.Put("log", &audit.Entry{Kind: audit.KindDecision}, []byte("{}"))
	if _, err := link.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a collector of another authority: %v", err)
	}
	link.Close()
	env["OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE"] = authority.File()
	deliverTo(t, dir, env, func() bool { return len(receiver.got()) >= 10 })
}

// TestVariablesOfLogs: what cannot be read is told by the variable, and never with the value of a header.
func TestVariablesOfLogs(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "collector:4318", "write http://HOST:PORT or https://HOST:PORT"},
		{"OTEL_EXPORTER_OTLP_LOGS_HEADERS", "a=b,s3cret", "its header 2 is not NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret%zz", "its header 1 is not NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "write milliseconds"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "write gzip or none"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/no/such/file", "no such file"},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/no/such/file", "CLIENT_KEY"},
	} {
		_, err := OpenLogs(t.Context(), func(name string) string {
			if name == tc.name {
				return tc.value
			}
			return ""
		}, "1", zerolog.Nop())
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s=%s: %v, want %q", tc.name, tc.value, err, tc.want)
		}
	}
	const address = "http://hub:s3cret@collector:4318/v1/logs"
	for value, shown := range map[string]bool{address: true, "ftp" + address: false} {
		c, err := OpenLogs(t.Context(), func(name string) string {
			if name == "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT" {
				return value
			}
			return ""
		}, "1", zerolog.Nop())
		if shown != (err == nil) || err != nil && strings.Contains(err.Error(), "s3cret") || err == nil && (strings.Contains(c.Destination(), "s3cret") || !strings.Contains(c.Destination(), "collector:4318")) {
			t.Errorf("%s: the password is shown, or the address is not: %v", value, err)
		}
	}
	c, err := OpenLogs(t.Context(), func(string) string { return "" }, "1", zerolog.Nop())
	if err != nil || c.Destination() != defaultLogs {
		t.Errorf("without variables: %v", err)
	}
}
