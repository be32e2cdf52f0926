package metricsfront

import (
	"compress/gzip"
	"context"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub/exposition"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/telemetry"
	"mcphub/internal/printable"
)

// Options say who may read what is counted.
type Options struct {
	Token string   // that they show as a bearer token; "": none is needed
	Hosts []string // more names by which they may ask, with or without a port
}

// Times and sizes of the listener.
const (
	path        = "/metrics"
	requestTime = 10 * time.Second // for one request, and its answer
	idleTime    = 5 * time.Minute  // of a connection
	headerSize  = 16 << 10
)

// Serve serves what t has counted, at /metrics, until ctx ends. It closes ln.
func Serve(ctx context.Context, ln net.Listener, t *telemetry.Telemetry, log zerolog.Logger, o Options) error {
	admitted, err := admission.New(admission.Options{Hosts: o.Hosts, LocalToken: o.Token, Open: o.Token == ""})
	if err != nil {
		_ = ln.Close()
		return err
	}
	open := &admission.Connections{}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answerMetrics(t, admitted, w, r) && o.Token != "" { // else the one who reaches the address stays a stranger
				open.Assign(r.Context(), "", 0)
			}
		}),
		ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: headerSize, ErrorLog: stdlog.New(log, "", 0),
		ConnContext: open.Track, ConnState: open.OnStateChange,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}

// writePage writes the page, packed for one who takes that. Who has asked may have gone.
func writePage(w http.ResponseWriter, r *http.Request, page []byte) {
	w.Header().Set("Vary", "Accept-Encoding")
	if !takesGzip(r.Header) {
		_, _ = w.Write(page)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	packed := gzip.NewWriter(w)
	_, _ = packed.Write(page)
	_ = packed.Close()
}

// takesGzip reports whether a request names gzip among the encodings that it takes, and does not refuse it.
func takesGzip(h http.Header) bool {
	for _, line := range h.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(line, ",") {
			name, q, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(one, " ", "")), ";")
			if name == "gzip" {
				return strings.Trim(strings.TrimPrefix(q, "q="), "0.") != "" || q == ""
			}
		}
	}
	return false
}

// answerMetrics answers a request, and reports whether its sender was admitted.
func answerMetrics(t *telemetry.Telemetry, admitted *admission.Admission, w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, err := admitted.Admit(w, r); err != nil {
		if refusal, ok := err.(*admission.Refusal); ok && refusal.Status == http.StatusUnauthorized {
			http.Error(w, "show the token of metrics.token in hub.json: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return false
		}
		http.Error(w, "metrics are not told to web pages, nor by the name "+printable.Quote(r.Host)+"; if that is this hub, add it to metrics.hosts in hub.json", http.StatusForbidden)
		return false
	}
	switch {
	case r.URL.Path != path:
		http.Error(w, "there is only "+path+" here", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are read by GET", http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", exposition.ContentType)
		writePage(w, r, t.Append(nil))
	}
	return true
}
