package hub

import (
	"cmp"
	"context"
	"slices"
	"time"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/handshake"
	"mcphub/hub/modern"
	"mcphub/internal/audit"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// This file says how things stand: what get-roots and list-tools answer, and
// what is told to whoever looks after the hub.

type rootReport struct {
	URI   string `json:"uri"`
	Name  string `json:"name,omitempty"`
	Flag  string `json:"flag,omitempty"`
	File  bool   `json:"file,omitempty"` // a single file, and no directory
	Below bool   `json:"redundant,omitempty"`
}

type skippedReport struct {
	Raw    string `json:"raw"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// rootsReport is the answer of get-roots. The first five members are the
// ones that its first users know; the others came later.
type rootsReport struct {
	SupportsRoots    bool                   `json:"supportsRoots"`
	RootsListChanged bool                   `json:"rootsListChanged"`
	RootsCount       int                    `json:"rootsCount"`
	Roots            []rootReport           `json:"roots"`
	FilePaths        []string               `json:"filePaths"`
	State            string                 `json:"state"`
	Origin           string                 `json:"origin"`
	Generation       uint64                 `json:"generation"`
	Stale            bool                   `json:"stale"`
	Era              string                 `json:"era"`
	Protocol         string                 `json:"protocolVersion,omitempty"`
	Client           string                 `json:"client,omitempty"`
	OutsideAllowed   bool                   `json:"outsideAllowed"`
	Meaning          string                 `json:"meaning,omitempty"`
	Resources        []string               `json:"resources,omitempty"` // prefixes that URIs of their schemes have to lie below
	Skipped          []skippedReport        `json:"skipped,omitempty"`
	LastError        string                 `json:"lastError,omitempty"`
	Config           *ConfigState           `json:"config,omitempty"`
	Policy           *PolicyReport          `json:"policy,omitempty"`
	Audit            AuditStatus            `json:"audit"`
	Redefined        []catalog.Redefinition `json:"redefinedTools,omitempty"`
	Children         []childRoots           `json:"children"`
	approval.Report
	extensionsReport
}

// childRoots is how one child stands to the roots, and who shares its process.
type childRoots struct {
	Server   string   `json:"server"`
	State    string   `json:"state"`
	Error    string   `json:"error,omitempty"` // why it is not ready, or what is wrong with it although it is
	Asked    bool     `json:"asked"`           // it has asked for the roots
	Cwd      string   `json:"cwd,omitempty"`
	Share    string   `json:"share"`            // session, roots or all
	Sessions int      `json:"sessions"`         // that this process serves, this one among them
	Served   []string `json:"served,omitempty"` // the roots that it is served where they are not the session's
	kernelReport
}

// Words for the two eras of the protocol.
const (
	eraHandshake = handshake.Era
	eraModern    = modern.Era
)

// rootsReport tells how the roots stand for the request of ctx: in the modern era
// those that came with it.
func (s *Session) rootsReport(ctx context.Context) rootsReport {
	c := s.calls.ClientOf(ctx)
	view, word, _ := c.Standing(ctx) // callOwn has seen to it that there is one
	caps, era := c.Claims(), c.Era()
	snap := view.Snapshot
	r := rootsReport{
		SupportsRoots: caps.Roots, RootsListChanged: caps.RootsChange,
		Roots: []rootReport{}, FilePaths: []string{}, Children: []childRoots{},
		State: word, Origin: snap.Origin().String(), Generation: snap.Generation(), Stale: view.Stale,
		Era: era, Protocol: caps.Protocol, Client: caps.String(),
		OutsideAllowed: view.Open, Meaning: view.Meaning(),
	}
	for _, root := range snap.Roots() {
		r.Roots = append(r.Roots, rootReport{URI: root.URI, Name: root.Name, Flag: root.Flag, File: root.File, Below: root.Redundant})
		r.FilePaths = append(r.FilePaths, root.Path)
	}
	r.RootsCount = len(r.Roots)
	for _, sk := range snap.Skipped() {
		r.Skipped = append(r.Skipped, skippedReport{printable.Escape(sk.Raw, 200), printable.Escape(sk.Name, 100), sk.Reason})
	}
	if view.Err != nil {
		r.LastError = printable.Clean(view.Err.Error())
	}
	r.Config = s.hub.ConfigState()
	r.Report = s.approvals.Report()
	conf := s.now()
	r.Policy, r.Resources = reportPolicy(conf.Checker), conf.Checker.Resources(view)
	r.Audit = conf.Audit.Status()
	r.Redefined = s.hub.redefined.Of(s.id)
	for _, name := range conf.ChildNames() {
		r.Children = append(r.Children, s.childRoots(conf, name, view))
	}
	r.extensionsReport = reportExtensions(s.Catalog().Extensions())
	return r
}

func (s *Session) childRoots(conf *configuration.Configuration, name string, view rootsmgr.View) childRoots {
	st, _, _, _ := s.ChildStatus(name)
	share := conf.Child(name).Spec.Share
	r := childRoots{
		Server: name, State: st.State.String(), Error: st.Err, Asked: st.AskedRoots, Cwd: st.Cwd,
		Share: share.String(), Sessions: s.hub.sessions.Sharing(s.member.Assigned().Key(name)), kernelReport: reportKernel(st.Sandbox),
	}
	if share == spec.ShareAll || len(conf.Beside(name, nil)) > 0 {
		for _, root := range s.member.RootsFor(conf, conf.Child(name), view) {
			r.Served = append(r.Served, root.URI)
		}
	}
	return r
}

// serverReport is one server as list-tools shows it.
type serverReport struct {
	Name       string           `json:"name"`
	State      string           `json:"state"`
	Share      string           `json:"share,omitempty"` // who shares its process: session, roots or all
	Error      string           `json:"error,omitempty"`
	Stderr     string           `json:"stderr,omitempty"`
	Restarts   int              `json:"restarts,omitempty"`
	Tools      []toolReport     `json:"tools"`
	NotOffered []omissionReport `json:"notOffered,omitempty"`
}

type toolReport struct {
	Name        string `json:"name"`     // towards the client
	ToolName    string `json:"toolName"` // the child's own, for call-tool
	Description string `json:"description,omitempty"`
	Note        string `json:"note,omitempty"`
}

type omissionReport struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

func reportOmitted(all []catalog.Omission) (r []omissionReport) {
	for _, left := range all {
		r = append(r, omissionReport{printable.Escape(left.Name, 100), left.Reason})
	}
	return r
}

type serversReport struct {
	Servers []serverReport `json:"servers"`
	extensionsReport
}

func (s *Session) serversReport(only string) serversReport {
	c := s.Catalog()
	out := serversReport{Servers: []serverReport{}, extensionsReport: reportExtensions(c.Extensions())}
	conf := c.By
	for _, name := range conf.ChildNames() {
		if only != "" && only != name {
			continue
		}
		st, _, _, _ := s.ChildStatus(name)
		r := serverReport{Name: name, State: st.State.String(), Share: conf.Child(name).Spec.Share.String(), Error: printable.Clean(st.Err), Restarts: st.Restarts, Tools: []toolReport{}}
		if st.State != children.Ready {
			r.Stderr = s.calls.StderrOf(st)
		}
		for _, o := range c.Tools() {
			if o.Child == name {
				r.Tools = append(r.Tools, toolReport{Name: o.Name, ToolName: o.Remote, Description: o.Description(), Note: o.Note()})
			}
		}
		r.NotOffered = reportOmitted(c.Omitted(name))
		out.Servers = append(out.Servers, r)
	}
	for _, b := range conf.Broken {
		if only == "" || only == b.Name {
			out.Servers = append(out.Servers, serverReport{Name: b.Name, State: "not configured", Error: b.Reason, Tools: []toolReport{}})
		}
	}
	return out
}

// A Status is how a whole hub stands at one moment: a copy, for whoever looks
// after it. Texts that came from children and clients are clean.
type Status struct {
	Children  []ChildStatus          `json:"children"`                 // every instance, and those configured that have none; by name, then instance
	NotServed []NotServed            `json:"notServed"`                // entries of hub.json that cannot be run, or are disabled
	Sessions  []SessionStatus        `json:"sessions"`                 // by the time they began
	Redefined []catalog.Redefinition `json:"redefinedTools,omitempty"` // tools that are defined otherwise than they were before
	Audit     AuditStatus            `json:"audit"`
	Policy    *PolicyReport          `json:"policy,omitempty"`
	Refusals  []audit.Refused        `json:"refusals,omitempty"` // the last, where no log is kept
	extensionsReport
}

// ChildStatus is one instance of a child.
type ChildStatus struct {
	Server   string     `json:"server"`                    // its name in hub.json
	Instance string     `json:"instance,omitempty"`        // what it serves: a session's id, or a set of roots; "" where it serves all, or none yet
	Share    string     `json:"share"`                     // session, roots or all
	ShareWhy string     `json:"shareWhy,omitempty"`        // why, where hub.json does not say it
	Sessions []string   `json:"sessions,omitempty"`        // ids of those that it serves, of clients that share this hub
	Apart    []string   `json:"apartBy,omitempty"`         // variables and keys by which it serves not all sessions that could share it: those that have others are served by another instance
	Era      string     `json:"era,omitempty"`             // handshake or modern: in which this instance was spoken to last; "" before
	State    string     `json:"state"`                     // configured, waiting, starting, ready, backing off, draining, stopped
	Since    *time.Time `json:"since,omitempty"`           // of this state
	PID      int        `json:"pid,omitempty"`             // while a process runs
	Tools    int        `json:"tools"`                     // offered when it was listed last
	Error    string     `json:"error,omitempty"`           // why it is not ready, or what is wrong with it although it is
	Stderr   string     `json:"stderr,omitempty"`          // the end of it, plain text
	Log      string     `json:"log,omitempty"`             // the file that all of it goes to; filled in by whoever keeps it
	Skipped  uint64     `json:"skippedLines"`              // on stdout, that were no message
	Muted    uint64     `json:"droppedMessages,omitempty"` // log and progress notifications: too many at a time

	Sandbox sandbox.Report `json:"-"` // what kernelReport and kernelDetails are made from

	childOmitted
	childFailures
	childLaunch
	childServed
}

// childOmitted is what a server defines and is not offered, or is offered and not checked.
type childOmitted struct {
	NotOffered []omissionReport `json:"notOffered,omitempty"`
	Unchecked  []omissionReport `json:"uncheckedTools,omitempty"`
}

// childFailures is how an instance has failed so far.
type childFailures struct {
	Restarts    int        `json:"restarts"`              // starts after the first
	Failures    int        `json:"failures"`              // in a row
	CircuitOpen bool       `json:"circuitOpen"`           // too many in a row: started only when called
	NextStart   *time.Time `json:"nextStart,omitempty"`   // when backing off: not before
	StartedBy   string     `json:"startedBy,omitempty"`   // when backing off: what starts it then, "call" or "hub"
	LastFailure string     `json:"lastFailure,omitempty"` // how the last start or run that failed ended, exit status included
	FailedAt    *time.Time `json:"failedAt,omitempty"`    // when that was
}

// childLaunch is how an instance was started.
type childLaunch struct {
	Command     string   `json:"command"`
	Args        []string `json:"args"` // what looks like a secret is left out
	Cwd         string   `json:"cwd,omitempty"`
	Environment []string `json:"environment"` // names of the variables passed; never their values

	Package *PackageReport `json:"package,omitempty"` // that was installed and runs in place of a launcher
}

// A PackageReport tells which package a confined server runs from.
type PackageReport struct {
	Name      string    `json:"name"`
	Version   string    `json:"version,omitempty"`
	Installed time.Time `json:"installed"`
	Error     string    `json:"error,omitempty"` // why it could not be looked for a newer version
}

func reportPackage(p children.Package) *PackageReport {
	if p.Name == "" {
		return nil
	}
	return &PackageReport{printable.Clean(p.Name), printable.Clean(p.Version), p.At, printable.Clean(p.Problem)}
}

// childServed is how an instance stands to the roots.
type childServed struct {
	RootsServed  []string `json:"rootsServed"`  // paths that it has applied, or was started with
	RootsApplied bool     `json:"rootsApplied"` // it is known, or must be assumed, to work with those of now
	RootsAsked   bool     `json:"rootsAsked"`   // it has asked roots/list in this run
	kernelReport
	kernelDetails
}

// NotServed is an entry of hub.json that has no child.
type NotServed struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// SessionStatus is one client's stay.
type SessionStatus struct {
	ID       string    `json:"id"`
	Since    time.Time `json:"since"`
	Client   string    `json:"client,omitempty"` // name and version, as it calls itself
	Protocol string    `json:"protocolVersion,omitempty"`
	Calls    int       `json:"calls"`  // requests of the client being served
	Passed   uint64    `json:"passed"` // requests that went on to servers so far, calls of tools among them
	sessionSurroundings
	sessionRoots
	approval.Report
}

// sessionSurroundings is what a client's process has brought; left out where that is the hub's
// own client.
type sessionSurroundings struct {
	Folder    string      `json:"folder,omitempty"`    // its working directory
	Process   int         `json:"process,omitempty"`   // the client's
	Adapter   int         `json:"adapter,omitempty"`   // of what the client has started to be served here
	NotServed []NotServed `json:"notServed,omitempty"` // to this session, beside what nobody is served
}

func (s *Session) surroundings(nobody []NotServed) (r sessionSurroundings) {
	if s.at == nil {
		return r
	}
	a := s.at.around
	r.Folder, r.Process, r.Adapter = printable.Escape(a.Dir, longestFolder), a.Client.PID, a.Adapter.PID
	for _, n := range notServed(s.now()) {
		if !slices.Contains(nobody, n) {
			r.NotServed = append(r.NotServed, n)
		}
	}
	return r
}

// notServed are the entries of a configuration that have no child.
func notServed(conf *configuration.Configuration) []NotServed {
	all := []NotServed{}
	for _, b := range conf.Broken {
		all = append(all, NotServed{b.Name, b.Reason})
	}
	for _, name := range conf.Disabled {
		all = append(all, NotServed{name, "disabled"})
	}
	return all
}

// sessionRoots is what is known of a session's roots.
type sessionRoots struct {
	RootsState   string   `json:"rootsState"`  // see rootsmgr.Manager.State
	RootsOrigin  string   `json:"rootsOrigin"` // who vouched for them
	Generation   uint64   `json:"rootsGeneration"`
	RootsCount   int      `json:"rootsCount"`
	Roots        []string `json:"roots,omitempty"` // their paths
	RootsSkipped int      `json:"rootsSkipped"`
	RootsError   string   `json:"rootsError,omitempty"` // of the last question
}

// Status tells how the hub stands. It may be called at any time.
func (h *Hub) Status() Status {
	conf := h.now()
	cfg := &conf.Settings
	sessions, offers := h.sessions.Sessions(), h.sessions.Offers()
	st := Status{Policy: reportPolicy(conf.Checker), Children: childrenStatus(cfg, sessions, h.sup.Status(), h.attached), NotServed: notServed(conf), Sessions: []SessionStatus{}, Audit: cfg.Audit.Status(), Redefined: h.redefined.List(), Refusals: h.recent.List()}
	st.NotServed = slices.DeleteFunc(st.NotServed, func(n NotServed) bool { // it is, in the surroundings of some
		return slices.ContainsFunc(sessions, func(s *Session) bool { return s.now().Child(n.Server) != nil })
	})
	st.extensionsReport = reportExtensions(conf.Offers.Extensions(offers))
	for i := range st.Children {
		if o := offers[st.Children[i].Server]; o != nil {
			st.Children[i].NotOffered = reportOmitted(o.Omitted)
			for _, t := range o.Tools {
				if note := t.Note(); note != "" {
					st.Children[i].Unchecked = append(st.Children[i].Unchecked, omissionReport{printable.Escape(t.Remote, 100), note})
				}
			}
		}
	}
	for _, s := range sessions {
		one := s.status()
		one.sessionSurroundings = s.surroundings(st.NotServed)
		st.Sessions = append(st.Sessions, one)
	}
	slices.SortFunc(st.Sessions, func(a, b SessionStatus) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return st
}

// childrenStatus lists every instance, and the children that have none.
func childrenStatus(c *Config, sessions []*Session, instances []children.Status, serves func(spec.Key) []string) []ChildStatus {
	out, all := []ChildStatus{}, c.Children
	for _, s := range sessions {
		for _, child := range s.now().Children {
			if s.at != nil && !slices.ContainsFunc(all, func(o Child) bool { return o.Spec.Name == child.Spec.Name }) {
				all = append(slices.Clip(all), child)
			}
		}
	}
	for i := range all {
		child, before := all[i].Spec, len(out)
		for _, st := range instances {
			if st.Child == child.Name {
				one := childStatus(c, child, st)
				one.Sessions = serves(st.Key)
				out = append(out, one)
			}
		}
		if len(out) == before {
			out = append(out, childStatus(c, child, children.Status{Key: spec.Key{Child: child.Name}, Command: child.Command, Args: child.Args}))
		}
	}
	slices.SortStableFunc(out, func(a, b ChildStatus) int { return cmp.Compare(a.Server, b.Server) })
	return out
}

func childStatus(c *Config, spec spec.Spec, st children.Status) ChildStatus {
	return ChildStatus{
		Server: st.Child, Instance: st.Instance, Share: spec.Share.String(), ShareWhy: spec.ShareWhy, Apart: st.Apart, Era: eraOf(st.Protocol), State: st.State.String(), Since: moment(st.Since), PID: st.PID,
		Tools: st.Tools, Error: printable.Clean(st.Err), Stderr: st.Stderr, Skipped: st.Skipped, Muted: st.Muted, Sandbox: st.Sandbox,
		childFailures: childFailures{
			Restarts: st.Restarts, Failures: st.Failures, CircuitOpen: st.CircuitOpen, NextStart: moment(st.NextStart), StartedBy: startedBy(st),
			LastFailure: printable.Clean(st.LastFailure), FailedAt: moment(st.FailedAt),
		},
		childLaunch: childLaunch{Command: st.Command, Args: redact.Args(st.Args, slices.Concat(st.Environ, c.Environ)), Cwd: st.Cwd, Environment: list(st.EnvNames), Package: reportPackage(st.Package)},
		childServed: childServed{RootsServed: list(st.Served), RootsApplied: st.RootsApplied, RootsAsked: st.AskedRoots, kernelReport: reportKernel(st.Sandbox), kernelDetails: detailKernel(st.Child, st.Sandbox, st.Served)},
	}
}

// eraOf is the word for the era of a protocol version; "" for none.
func eraOf(protocol string) string {
	switch protocol {
	case "":
		return ""
	case modern.Version:
		return eraModern
	}
	return eraHandshake
}

func startedBy(st children.Status) string {
	switch {
	case st.State != children.BackingOff:
		return ""
	case st.ByItself:
		return "hub"
	}
	return "call"
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// list copies a list that others own; none is an empty one in JSON too.
func list(all []string) []string { return append([]string{}, all...) }

func (s *Session) status() SessionStatus {
	view, roots, caps := s.roots.View(), s.roots.State(), s.capabilities()
	st := SessionStatus{
		ID: s.id, Since: s.since, Client: s.clientName(), Protocol: caps.Protocol, Calls: s.client.Serving(), Passed: s.calls.InFlight.Started(),
		sessionRoots: sessionRoots{
			RootsState: roots.Word, RootsOrigin: roots.Origin.String(), Generation: roots.Generation,
			RootsCount: view.Snapshot.Len(), RootsSkipped: len(view.Snapshot.Skipped()),
		},
	}
	for _, r := range view.Snapshot.Roots() {
		st.Roots = append(st.Roots, r.Path)
	}
	if roots.Err != nil {
		st.RootsError = printable.Clean(roots.Err.Error())
	}
	st.Report = s.approvals.Report()
	return st
}

// extensionsReport is what children offer beyond the protocol.
type extensionsReport struct {
	Extensions []ExtensionReport `json:"extensions,omitempty"`
}

// An ExtensionReport is one extension or experimental capability that clients are
// offered.
type ExtensionReport struct {
	Key          string   `json:"key"`
	Experimental bool     `json:"experimental,omitempty"`
	Server       string   `json:"server"`              // whose settings of it clients are shown
	Contested    []string `json:"contested,omitempty"` // other servers that have it too
}

func reportExtensions(all catalog.Extensions) (r extensionsReport) {
	for _, x := range all {
		r.Extensions = append(r.Extensions, ExtensionReport{printable.Escape(x.Key, 200), x.Experimental, x.Owners[0], x.Owners[1:]})
	}
	return r
}

// A PolicyReport is the policy in force as get-roots and status show it. It is
// JSON; members are added, never changed.
type PolicyReport struct {
	Sandbox string       `json:"sandbox,omitempty"` // inside every boundary
	Rules   []RuleReport `json:"rules"`             // in order: the first that matches a path decides
}

// RuleReport is one rule of the policy.
type RuleReport struct {
	Name  string `json:"name"`
	Then  string `json:"then"` // allow, deny or escalate
	If    string `json:"if"`   // what it asks for, in words
	Dir   string `json:"directory,omitempty"`
	Serve bool   `json:"served,omitempty"` // to the servers it matches, from the start
	At    string `json:"at,omitempty"`     // where it stands: file and line
	Note  string `json:"note,omitempty"`
}

// reportPolicy reports a policy, nil for none.
func reportPolicy(by *validate.Checker) *PolicyReport {
	info, ok := by.Policy()
	if !ok {
		return nil
	}
	out := &PolicyReport{Sandbox: info.Sandbox, Rules: []RuleReport{}}
	for i := range info.Rules {
		out.Rules = append(out.Rules, NewRuleReport(&info.Rules[i]))
	}
	return out
}

// NewRuleReport puts a rule into words.
func NewRuleReport(r *policy.RuleInfo) RuleReport {
	out := RuleReport{Name: printable.Escape(r.Name, 100), Then: r.Then.String(), If: r.Condition(), Dir: r.Dir, At: r.At}
	out.Serve = r.Dir != "" && (r.Then == policy.Allow || r.Then == policy.Escalate && r.Serve)
	if r.Dir != "" && !r.Found {
		out.Note = "the directory is not there, or may not be looked at"
	}
	return out
}
