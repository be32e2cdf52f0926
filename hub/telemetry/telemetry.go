package telemetry

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/exposition"
	"mcphub/hub/tracing"
)

// Options shape a Telemetry.
type Options struct {
	Version    string         // of the hub
	Principals bool           // name principals
	Tracer     tracing.Tracer // makes a span of each request; nil: no one does
	// Undelivered returns how many lines of the record collectors will not get; nil: it is not known.
	Undelivered func() uint64
}

// A Telemetry is what is counted of one hub. Its methods may be called from any goroutine, and
// do nothing if it is nil.
type Telemetry struct {
	page       exposition.Page
	principals bool
	tracer     tracing.Tracer // nil: nothing is traced
	epoch      time.Time

	serverOps      *exposition.Family[*exposition.Histogram]
	clientOps      *exposition.Family[*exposition.Histogram]
	serverSessions *exposition.Family[*exposition.Histogram]
	clientSessions *exposition.Family[*exposition.Histogram]
	requests       *exposition.Family[*exposition.Counter]
	decisions      *exposition.Family[*exposition.Counter]
	refusals       *exposition.Family[*exposition.Counter]
	rejections     *exposition.Family[*exposition.Counter]
	sessions       *exposition.Family[*exposition.Gauge]
	states         *exposition.Family[*exposition.Gauge]
	restarts       *exposition.Family[*exposition.Counter]

	transport func(child string) string // of a server, by its name
	reloaded  atomic.Pointer[Reload]

	mu       sync.Mutex // guards what follows
	clients  map[clientKey]*clientMetrics
	tools    map[string]map[string]bool // that have a series of their own, by server
	children map[childKey]*childState
}

// Bounds.
const (
	maxTools   = 128 // of a server, that have a series of their own
	maxClients = 256 // principals, by transport and version, that have series of their own
)

// New makes a Telemetry. It starts nothing.
func New(options Options) *Telemetry {
	t := &Telemetry{
		principals: options.Principals, tracer: options.Tracer, epoch: time.Now(), transport: func(string) string { return "" },
		clients: map[clientKey]*clientMetrics{}, tools: map[string]map[string]bool{}, children: map[childKey]*childState{},
	}
	method, tool, operation := makeLabel(attrMethod, false), makeLabel(attrTool, true), makeLabel(attrOperation, false)
	server, fault, code := makeLabel(attrServer, true), makeLabel(attrError, false), makeLabel(attrCode, false)
	version, transport, principal := makeLabel(attrVersion, false), makeLabel(attrTransport, false), makeLabel(attrPrincipal, true)
	p := &t.page
	p.Gauges(exposition.Desc{Name: "mcphub_build_info", Help: "The version of the hub.", Labels: []exposition.Label{{Name: "version"}}}).With(options.Version).Set(1)
	t.serverOps = p.Histograms(exposition.Desc{
		Name: onPage(serverOperation), Help: "Requests of clients, from when they came until they were answered (" + serverOperation + ").", Most: 4000,
		Labels: []exposition.Label{method, server, tool, operation, fault, code, version, transport},
	}, buckets)
	t.requests = p.Counters(exposition.Desc{
		Name: "mcphub_requests_total", Help: "Requests of clients that were answered, by principal if metrics.principals is true. Histograms name no principal.", Most: 4000,
		Labels: []exposition.Label{server, fault, principal},
	})
	t.clientOps = p.Histograms(exposition.Desc{
		Name: onPage(clientOperation), Help: "Requests to servers, from when they were sent until they were answered (" + clientOperation + ").", Most: 4000,
		Labels: []exposition.Label{method, server, tool, operation, fault, code, version, transport},
	}, buckets)
	t.serverSessions = p.Histograms(exposition.Desc{
		Name: onPage(serverSession), Help: "Sessions of clients that have ended (" + serverSession + ").",
		Labels: []exposition.Label{version, transport},
	}, buckets)
	t.clientSessions = p.Histograms(exposition.Desc{
		Name: onPage(clientSession), Help: "Stays of servers that have ended: from when one was ready (" + clientSession + ").",
		Labels: []exposition.Label{server, fault, version, transport},
	}, buckets)
	t.decisions = p.Counters(exposition.Desc{
		Name: "mcphub_decisions_total", Help: "Decisions: allow, deny by a rule, refuse before the rules were asked.",
		Labels: []exposition.Label{{Name: "decision"}, {Name: "rule", Open: true}, principal},
	})
	t.refusals = p.Counters(exposition.Desc{
		Name: "mcphub_kernel_refusals_total", Help: "What the kernel has refused servers, as far as they tell.", Labels: []exposition.Label{server},
	})
	t.rejections = p.Counters(exposition.Desc{
		Name: "mcphub_http_refusals_total", Help: "Requests that the HTTP front has refused, by status and reason.", Labels: []exposition.Label{{Name: "code"}, {Name: "reason"}},
	})
	t.sessions = p.Gauges(exposition.Desc{Name: "mcphub_sessions", Help: "Sessions that there are.", Labels: []exposition.Label{transport, principal}})
	t.states = p.Gauges(exposition.Desc{Name: "mcphub_children", Help: "Instances of servers, by the state they are in.", Labels: []exposition.Label{server, {Name: "state"}}})
	t.restarts = p.Counters(exposition.Desc{Name: "mcphub_child_restarts_total", Help: "Starts of servers after the first.", Labels: []exposition.Label{server}})
	p.Func(exposition.Desc{Name: "mcphub_config_last_reload_successful", Help: "Whether hub.json is in force as it was read last (1), or was refused (0)."}, "gauge", func() (float64, bool) {
		r := t.reloaded.Load()
		if r == nil || !r.Successful {
			return 0, r != nil
		}
		return 1, true
	})
	p.Func(exposition.Desc{Name: "mcphub_audit_undelivered_total", Help: "Lines of the record that a collector (audit.syslog, OTLP) has refused for good, or that were removed before they were sent."}, "counter", func() (float64, bool) {
		if options.Undelivered == nil {
			return 0, false
		}
		return float64(options.Undelivered()), true
	})
	p.Func(exposition.Desc{Name: "mcphub_config_last_reload_success_timestamp_seconds", Help: "When hub.json was read that is in force, since the epoch."}, "gauge", func() (float64, bool) {
		r := t.reloaded.Load()
		if r == nil {
			return 0, false
		}
		return float64(r.At.UnixMilli()) / 1000, true
	})
	return t
}

// Gauges are what the hub knows and is asked for when the page is written.
type Gauges struct {
	Transport  func(child string) string // stdio is "pipe", HTTP is "tcp"; "" if there is no such server
	Questions  func() int64              // that people have not answered
	Suspended  func() int64              // requests that wait for their clients
	Waiting    func() int64              // requests that wait for a turn at their server
	Unrecorded func() uint64             // decisions whose line could not be written when it had to be
	Sessions   func() LimitUse           // of sessions over HTTP
	Children   func() LimitUse           // of places for running servers
}

// A LimitUse is how much of a limit is used, by all and by the principal that uses most of it. A limit of 0 is none, or is not known.
type LimitUse struct{ Used, Most, UsedByOne, MostOfOne int }

// SetGauges adds what the hub knows. It is called once, before anything else.
func (t *Telemetry) SetGauges(o Gauges) {
	if t == nil {
		return
	}
	t.transport = o.Transport
	t.page.Func(exposition.Desc{Name: "mcphub_questions_pending", Help: "Questions that people have not answered."}, "gauge", func() (float64, bool) { return float64(o.Questions()), true })
	t.page.Func(exposition.Desc{Name: "mcphub_requests_suspended", Help: "Requests of 2026-07-28 that wait for their client to come again."}, "gauge", func() (float64, bool) { return float64(o.Suspended()), true })
	t.page.Func(exposition.Desc{Name: "mcphub_calls_waiting", Help: "Calls that wait for a turn at their server (limits.calls of an entry)."}, "gauge", func() (float64, bool) { return float64(o.Waiting()), true })
	t.page.Func(exposition.Desc{Name: "mcphub_decisions_unrecorded_total", Help: "Decisions whose line could not be written to the record."}, "counter", func() (float64, bool) { return float64(o.Unrecorded()), true })
	t.addLimit("sessions", "Sessions over HTTP", "limits.sessions", "limits.principal.sessions", o.Sessions)
	t.addLimit("children", "Servers that run", "limits.children", "limits.principal.children", o.Children)
	t.page.Process()
}

// addLimit adds the gauges of a limit and of its use.
func (t *Telemetry) addLimit(name, what, key, keyOfOne string, look func() LimitUse) {
	add := func(name, help string, value func(LimitUse) (v, most int)) {
		t.page.Func(exposition.Desc{Name: name, Help: help}, "gauge", func() (float64, bool) {
			v, most := value(look())
			return float64(v), most > 0
		})
	}
	add("mcphub_limit_"+name, what+" at most ("+key+").", func(l LimitUse) (int, int) { return l.Most, l.Most })
	add("mcphub_limit_"+name+"_used", what+" now.", func(l LimitUse) (int, int) { return l.Used, l.Most })
	add("mcphub_limit_principal_"+name, what+" of one principal at most ("+keyOfOne+").", func(l LimitUse) (int, int) { return l.MostOfOne, l.MostOfOne })
	add("mcphub_limit_principal_"+name+"_used", what+" now of the principal that has most.", func(l LimitUse) (int, int) { return l.UsedByOne, l.MostOfOne })
}

// Append writes the page; its type is [exposition.ContentType].
func (t *Telemetry) Append(b []byte) []byte { return t.page.Append(b) }

// Descs returns what is on the page.
func (t *Telemetry) Descs() []exposition.Desc { return t.page.Descs() }

// A Reload is how hub.json stands.
type Reload struct {
	Successful bool
	At         time.Time // when that was read which is in force
}

// SetReload remembers how hub.json stands now.
func (t *Telemetry) SetReload(r Reload) {
	if t != nil {
		t.reloaded.Store(&r)
	}
}

// ForgetServerNames is called when another hub.json is in force, because other servers may have the same names.
func (t *Telemetry) ForgetServerNames() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.clients {
		c.forgetClient()
	}
}

// CountKernelRefusal counts what the kernel has refused a server.
func (t *Telemetry) CountKernelRefusal(child string) {
	if t != nil {
		t.refusals.With(child).Add(1)
	}
}

// CountHTTPRefusal counts a request that the HTTP front has refused.
func (t *Telemetry) CountHTTPRefusal(status int, reason string) {
	if t != nil {
		t.rejections.With(strconv.Itoa(status), reason).Add(1)
	}
}

// sinceEpoch returns the time since the epoch, which is cheaper to read than the time of day.
func (t *Telemetry) sinceEpoch() time.Duration { return time.Since(t.epoch) }

// toolValue returns the value for a tool that a server lists.
func (t *Telemetry) toolValue(child, name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.tools[child]
	switch {
	case all[name]:
	case len(all) >= maxTools:
		return exposition.Other
	case all == nil:
		t.tools[child] = map[string]bool{name: true}
	default:
		all[name] = true
	}
	return name
}

// childKey is one instance of a server.
type childKey struct {
	spec.Key
	serial uint64
}

// childState is what was told about an instance last.
type childState struct {
	state    children.State
	ready    time.Duration // since when it was there; 0: it is not
	restarts int
}

// UpdateChild takes in how an instance of a server stands. It is called by one goroutine for each.
func (t *Telemetry) UpdateChild(st *children.Status) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := childKey{st.Key, st.Serial}
	was, known := t.children[key]
	if !known {
		was = &childState{}
		t.children[key] = was
	} else {
		t.states.With(st.Child, stateWord(was.state)).Add(-1)
	}
	if more := st.Restarts - was.restarts; more > 0 {
		t.restarts.With(st.Child).Add(uint64(more))
	}
	switch there := st.State == children.Ready || st.State == children.Hung || st.State == children.Draining; {
	case there && !st.Final:
		if was.ready == 0 {
			was.ready = max(t.sinceEpoch(), 1)
		}
	case was.ready != 0:
		fault := ""
		if st.State == children.BackingOff {
			fault = otherError
		}
		t.clientSessions.With(st.Child, fault, st.Protocol, t.transport(st.Child)).Observe(t.sinceEpoch() - was.ready)
		was.ready = 0
	}
	was.state, was.restarts = st.State, st.Restarts
	if st.Final {
		delete(t.children, key)
		return
	}
	t.states.With(st.Child, stateWord(was.state)).Add(1)
}

// stateWord returns a state in one word.
func stateWord(s children.State) string {
	if s == children.BackingOff {
		return "backing_off"
	}
	return s.String()
}
