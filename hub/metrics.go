package hub

import (
	"context"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/telemetry"
	"mcphub/internal/exposition"
	"mcphub/internal/printable"
)

// This file has the hub watched, and tells what was seen.

// Telemetry is what is counted of a hub, and TelemetryOptions shape it.
type (
	Telemetry        = telemetry.Telemetry
	TelemetryOptions = telemetry.Options
)

// NewTelemetry makes what Config.Telemetry takes.
func NewTelemetry(o TelemetryOptions) *Telemetry { return telemetry.New(o) }

// watch has t count what the hub does. It is called before anything runs.
func (h *Hub) watch(t *Telemetry) {
	h.telemetry = t
	t.For(telemetry.Owner{
		Transport: h.transportOf, Questions: h.asked.Load, Suspended: h.suspended.Load,
		Unrecorded: func() uint64 { return h.now().Audit.Status().Unrecorded },
	})
}

// transportOf is how a server is spoken to, as the conventions call it.
func (h *Hub) transportOf(child string) string {
	switch c := h.now().Child(child); {
	case c == nil:
		return ""
	case c.Spec.URL != "":
		return telemetry.TCP
	}
	return telemetry.Pipe
}

// toldWatched is Told of a hub that is watched.
func (h *Hub) toldWatched(st children.Status, offer *offers.Offer) {
	h.telemetry.Child(&st)
	h.sessions.Told(st, offer)
}

// MetricsOptions say who may read what is counted.
type MetricsOptions struct {
	Token string   // that they show as a bearer token; "": none is needed
	Hosts []string // more names by which they may ask, with or without a port
}

// Times and sizes of the listener for metrics.
const (
	metricsPath   = "/metrics"
	metricsTime   = 10 * time.Second // for one request, and its answer
	metricsIdle   = 5 * time.Minute  // of a connection
	metricsHeader = 16 << 10
)

// ServeMetrics serves what is counted, at /metrics, until ctx ends. It closes ln. Config.Telemetry
// was set.
func (h *Hub) ServeMetrics(ctx context.Context, ln net.Listener, o MetricsOptions) error {
	admitted, err := admission.New(admission.Options{Hosts: o.Hosts, Local: o.Token, Open: o.Token == ""})
	if err != nil {
		_ = ln.Close()
		return err
	}
	log, open := h.now().Log, &admission.Connections{}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if h.tellMetrics(admitted, w, r) && o.Token != "" { // else whoever reaches the address stays a stranger
				open.Know(r.Context(), "", 0)
			}
		}),
		ReadTimeout: metricsTime, WriteTimeout: metricsTime, IdleTimeout: metricsIdle, MaxHeaderBytes: metricsHeader, ErrorLog: stdlog.New(log, "", 0),
		ConnContext: open.Met, ConnState: open.Left,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}

// tellMetrics answers a request, and reports whether its sender was admitted.
func (h *Hub) tellMetrics(admitted *admission.Admission, w http.ResponseWriter, r *http.Request) bool {
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
	case r.URL.Path != metricsPath:
		http.Error(w, "there is only "+metricsPath+" here", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are read by GET", http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", exposition.ContentType)
		_, _ = w.Write(h.telemetry.Append(nil)) // to whom has asked, who may have gone
	}
	return true
}
