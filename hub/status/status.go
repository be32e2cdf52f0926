package status

import (
	"cmp"
	"slices"
	"time"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/hub/handshake"
	"mcphub/hub/modern"
	"mcphub/hub/record"
	"mcphub/internal/audit"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// Root is a directory or file in scope.
type Root struct {
	URI   string `json:"uri"`
	Name  string `json:"name,omitempty"`
	Flag  string `json:"flag,omitempty"`
	File  bool   `json:"file,omitempty"` // a single file, and no directory
	Below bool   `json:"redundant,omitempty"`
}

// Skipped is a root that was left out.
type Skipped struct {
	Raw    string `json:"raw"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// Roots is the answer of get-roots. The first five members are the
// ones that its first users know; the others came later.
type Roots struct {
	SupportsRoots    bool                   `json:"supportsRoots"`
	RootsListChanged bool                   `json:"rootsListChanged"`
	RootsCount       int                    `json:"rootsCount"`
	Roots            []Root                 `json:"roots"`
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
	Skipped          []Skipped              `json:"skipped,omitempty"`
	LastError        string                 `json:"lastError,omitempty"`
	Config           *Config                `json:"config,omitempty"`
	Policy           *Policy                `json:"policy,omitempty"`
	Audit            Audit                  `json:"audit"`
	Redefined        []catalog.Redefinition `json:"redefinedTools,omitempty"`
	Children         []ChildRoots           `json:"children"`
	approval.Report
	Extensions []Extension `json:"extensions,omitempty"`
}

// ChildRoots is how one child stands to the roots, and who shares its process.
type ChildRoots struct {
	Server   string   `json:"server"`
	State    string   `json:"state"`
	Error    string   `json:"error,omitempty"` // why it is not ready, or what is wrong with it although it is
	Asked    bool     `json:"asked"`           // it has asked for the roots
	Cwd      string   `json:"cwd,omitempty"`
	Share    string   `json:"share"`            // session, roots or all
	Sessions int      `json:"sessions"`         // that this process serves, this one among them
	Served   []string `json:"served,omitempty"` // the roots that it is served where they are not the session's
	Confinement
}

// A Config is what is told of the configuration's source. JSON.
type Config struct {
	File      string     `json:"file,omitempty"` // "" where none was found
	LoadedAt  time.Time  `json:"loadedAt"`       // of what is in force
	LastError string     `json:"lastError,omitempty"`
	ErrorAt   *time.Time `json:"errorAt,omitempty"`
	Waiting   string     `json:"waiting,omitempty"`      // why a change is not read yet
	Restart   []string   `json:"afterRestart,omitempty"` // keys whose change takes effect after a restart
}

// RootsOf reports how the roots stand for a request. word is the state of the roots, era that of the
// protocol. What belongs to more than the request is filled in by the session.
func RootsOf(view rootsmgr.View, word string, client declaration.Claims, era string, conf *configuration.Configuration) Roots {
	snap := view.Snapshot
	r := Roots{
		SupportsRoots: client.Roots, RootsListChanged: client.RootsChange,
		Roots: []Root{}, FilePaths: []string{}, Children: []ChildRoots{},
		State: word, Origin: snap.Origin().String(), Generation: snap.Generation(), Stale: view.Stale,
		Era: era, Protocol: client.Protocol, Client: client.String(),
		OutsideAllowed: view.Open, Meaning: view.Meaning(),
		Policy: PolicyOf(conf.Checker), Resources: conf.Checker.Resources(view), Audit: conf.Audit.Status(),
	}
	for _, root := range snap.Roots() {
		r.Roots = append(r.Roots, Root{URI: root.URI, Name: root.Name, Flag: root.Flag, File: root.File, Below: root.Redundant})
		r.FilePaths = append(r.FilePaths, root.Path)
	}
	r.RootsCount = len(r.Roots)
	for _, sk := range snap.Skipped() {
		r.Skipped = append(r.Skipped, Skipped{printable.Escape(sk.Raw, 200), printable.Escape(sk.Name, 100), sk.Reason})
	}
	if view.Err != nil {
		r.LastError = printable.Clean(view.Err.Error())
	}
	return r
}

// ChildRootsOf reports how a child stands to the roots of a session.
func ChildRootsOf(child *configuration.Child, st children.Status) ChildRoots {
	return ChildRoots{
		Server: child.Spec.Name, State: st.State.String(), Error: st.Err, Asked: st.AskedRoots, Cwd: st.Cwd,
		Share: child.Spec.Share.String(), Confinement: ConfinementOf(st.Sandbox),
	}
}

// Server is one server as list-tools shows it.
type Server struct {
	Name       string     `json:"name"`
	State      string     `json:"state"`
	Share      string     `json:"share,omitempty"` // who shares its process: session, roots or all
	Error      string     `json:"error,omitempty"`
	Stderr     string     `json:"stderr,omitempty"`
	Restarts   int        `json:"restarts,omitempty"`
	Tools      []Tool     `json:"tools"`
	NotOffered []Omission `json:"notOffered,omitempty"`
}

// Tool is one tool of a server.
type Tool struct {
	Name        string `json:"name"`     // towards the client
	ToolName    string `json:"toolName"` // the child's own, for call-tool
	Description string `json:"description,omitempty"`
	Note        string `json:"note,omitempty"`
}

// Omission is a tool that is left out, or a remark about one.
type Omission struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

func omissionsOf(all []catalog.Omission) (r []Omission) {
	for _, left := range all {
		r = append(r, Omission{printable.Escape(left.Name, 100), left.Reason})
	}
	return r
}

// Servers is the answer of list-tools.
type Servers struct {
	Servers    []Server    `json:"servers"`
	Extensions []Extension `json:"extensions,omitempty"`
}

// ServersOf reports the servers of a catalogue; with a name that one alone. of tells how each stands, and
// stderr what of its output the session may see.
func ServersOf(c *catalog.Catalog, conf *configuration.Configuration, only string, of func(name string) children.Status, stderr func(children.Status) string) Servers {
	out := Servers{Servers: []Server{}, Extensions: ExtensionsOf(c.Extensions())}
	for _, name := range conf.ChildNames() {
		if only != "" && only != name {
			continue
		}
		st := of(name)
		r := Server{Name: name, State: st.State.String(), Share: conf.Child(name).Spec.Share.String(), Error: printable.Clean(st.Err), Restarts: st.Restarts, Tools: []Tool{}}
		if st.State != children.Ready {
			r.Stderr = stderr(st)
		}
		for _, o := range c.Tools() {
			if o.Child == name {
				r.Tools = append(r.Tools, Tool{Name: o.Name, ToolName: o.Remote, Description: o.Description(), Note: o.Note()})
			}
		}
		r.NotOffered = omissionsOf(c.Omitted(name))
		out.Servers = append(out.Servers, r)
	}
	for _, b := range conf.Broken {
		if only == "" || only == b.Name {
			out.Servers = append(out.Servers, Server{Name: b.Name, State: "not configured", Error: b.Reason, Tools: []Tool{}})
		}
	}
	return out
}

// An Extension is one extension or experimental capability that clients are
// offered.
type Extension struct {
	Key          string   `json:"key"`
	Experimental bool     `json:"experimental,omitempty"`
	Server       string   `json:"server"`              // whose settings of it clients are shown
	Contested    []string `json:"contested,omitempty"` // other servers that have it too
}

// ExtensionsOf reports what children offer beyond the protocol.
func ExtensionsOf(all catalog.Extensions) (r []Extension) {
	for _, x := range all {
		r = append(r, Extension{printable.Escape(x.Key, 200), x.Experimental, x.Owners[0], x.Owners[1:]})
	}
	return r
}

// Audit is how the record stands.
type Audit = record.Status

// Hub is how a whole hub stands at one moment: a copy, for whoever looks
// after it. Texts that came from children and clients are clean.
type Hub struct {
	Children  []Child                `json:"children"`                 // every instance, and those configured that have none; by name, then instance
	NotServed []NotServed            `json:"notServed"`                // entries of hub.json that cannot be run, or are disabled
	Sessions  []Session              `json:"sessions"`                 // by the time they began
	Redefined []catalog.Redefinition `json:"redefinedTools,omitempty"` // tools that are defined otherwise than they were before
	Audit     Audit                  `json:"audit"`
	Policy    *Policy                `json:"policy,omitempty"`
	Refusals  []audit.Refused        `json:"refusals,omitempty"` // the last, where no log is kept

	Extensions []Extension `json:"extensions,omitempty"` // beyond the protocol
}

// Child is one instance of a child.
type Child struct {
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

	Sandbox sandbox.Report `json:"-"` // what Confinement and ConfinementDetails are made from

	childOmitted
	childFailures
	childLaunch
	childServed
}

// childOmitted is what a server defines and is not offered, or is offered and not checked.
type childOmitted struct {
	NotOffered []Omission `json:"notOffered,omitempty"`
	Unchecked  []Omission `json:"uncheckedTools,omitempty"`
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

	Package *Package `json:"package,omitempty"` // that was installed and runs in place of a launcher
}

// A Package tells which package a confined server runs from.
type Package struct {
	Name      string    `json:"name"`
	Version   string    `json:"version,omitempty"`
	Installed time.Time `json:"installed"`
	Error     string    `json:"error,omitempty"` // why it could not be looked for a newer version
}

func packageOf(p children.Package) *Package {
	if p.Name == "" {
		return nil
	}
	return &Package{printable.Clean(p.Name), printable.Clean(p.Version), p.At, printable.Clean(p.Problem)}
}

// childServed is how an instance stands to the roots.
type childServed struct {
	RootsServed  []string `json:"rootsServed"`  // paths that it has applied, or was started with
	RootsApplied bool     `json:"rootsApplied"` // it is known, or must be assumed, to work with those of now
	RootsAsked   bool     `json:"rootsAsked"`   // it has asked roots/list in this run
	Confinement
	ConfinementDetails
}

// NotServed is an entry of hub.json that has no child.
type NotServed struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}

// Session is one client's stay.
type Session struct {
	ID       string    `json:"id"`
	Since    time.Time `json:"since"`
	Client   string    `json:"client,omitempty"` // name and version, as it calls itself
	Protocol string    `json:"protocolVersion,omitempty"`
	Calls    int       `json:"calls"`  // requests of the client being served
	Passed   uint64    `json:"passed"` // requests that went on to servers so far, calls of tools among them
	Surroundings
	SessionRoots
	approval.Report
}

// Surroundings is what a client's process has brought; left out where that is the hub's
// own client.
type Surroundings struct {
	Folder    string      `json:"folder,omitempty"`    // its working directory
	Process   int         `json:"process,omitempty"`   // the client's
	Adapter   int         `json:"adapter,omitempty"`   // of what the client has started to be served here
	NotServed []NotServed `json:"notServed,omitempty"` // to this session, beside what nobody is served
}

// NotServedBy are the entries of a configuration that have no child.
func NotServedBy(conf *configuration.Configuration) []NotServed {
	all := []NotServed{}
	for _, b := range conf.Broken {
		all = append(all, NotServed{b.Name, b.Reason})
	}
	for _, name := range conf.Disabled {
		all = append(all, NotServed{name, "disabled"})
	}
	return all
}

// SessionRoots is what is known of a session's roots.
type SessionRoots struct {
	RootsState   string   `json:"rootsState"`  // see rootsmgr.Manager.State
	RootsOrigin  string   `json:"rootsOrigin"` // who vouched for them
	Generation   uint64   `json:"rootsGeneration"`
	RootsCount   int      `json:"rootsCount"`
	Roots        []string `json:"roots,omitempty"` // their paths
	RootsSkipped int      `json:"rootsSkipped"`
	RootsError   string   `json:"rootsError,omitempty"` // of the last question
}

// SessionRootsOf reports the roots of a session.
func SessionRootsOf(view rootsmgr.View, state rootsmgr.State) SessionRoots {
	r := SessionRoots{
		RootsState: state.Word, RootsOrigin: state.Origin.String(), Generation: state.Generation,
		RootsCount: view.Snapshot.Len(), RootsSkipped: len(view.Snapshot.Skipped()),
	}
	for _, root := range view.Snapshot.Roots() {
		r.Roots = append(r.Roots, root.Path)
	}
	if state.Err != nil {
		r.RootsError = printable.Clean(state.Err.Error())
	}
	return r
}

// Children lists every instance of some children, and the children that have none. offers are what
// they offer by their names, and serves tells the sessions that an instance serves.
func Children(all []configuration.Child, instances []children.Status, offers map[string]*catalog.Offer, environ []string, serves func(spec.Key) []string) []Child {
	out := []Child{}
	for i := range all {
		child, before := all[i].Spec, len(out)
		for _, st := range instances {
			if st.Child == child.Name {
				one := childOf(child, st, environ)
				one.Sessions = serves(st.Key)
				out = append(out, one)
			}
		}
		if len(out) == before {
			out = append(out, childOf(child, children.Status{Key: spec.Key{Child: child.Name}, Command: child.Command, Args: child.Args}, environ))
		}
	}
	slices.SortStableFunc(out, func(a, b Child) int { return cmp.Compare(a.Server, b.Server) })
	for i := range out {
		if offer := offers[out[i].Server]; offer != nil {
			out[i].childOmitted = omittedFrom(offer)
		}
	}
	return out
}

func omittedFrom(offer *catalog.Offer) childOmitted {
	o := childOmitted{NotOffered: omissionsOf(offer.Omitted)}
	for _, t := range offer.Tools {
		if note := t.Note(); note != "" {
			o.Unchecked = append(o.Unchecked, Omission{printable.Escape(t.Remote, 100), note})
		}
	}
	return o
}

func childOf(spec spec.Spec, st children.Status, environ []string) Child {
	return Child{
		Server: st.Child, Instance: st.Instance, Share: spec.Share.String(), ShareWhy: spec.ShareWhy, Apart: st.Apart, Era: eraOf(st.Protocol), State: st.State.String(), Since: moment(st.Since), PID: st.PID,
		Tools: st.Tools, Error: printable.Clean(st.Err), Stderr: st.Stderr, Skipped: st.Skipped, Muted: st.Muted, Sandbox: st.Sandbox,
		childFailures: childFailures{
			Restarts: st.Restarts, Failures: st.Failures, CircuitOpen: st.CircuitOpen, NextStart: moment(st.NextStart), StartedBy: startedBy(st),
			LastFailure: printable.Clean(st.LastFailure), FailedAt: moment(st.FailedAt),
		},
		childLaunch: childLaunch{Command: st.Command, Args: redact.Args(st.Args, slices.Concat(st.Environ, environ)), Cwd: st.Cwd, Environment: list(st.EnvNames), Package: packageOf(st.Package)},
		childServed: childServed{RootsServed: list(st.Served), RootsApplied: st.RootsApplied, RootsAsked: st.AskedRoots, Confinement: ConfinementOf(st.Sandbox), ConfinementDetails: ConfinementDetailsOf(st.Child, st.Sandbox, st.Served)},
	}
}

// eraOf is the word for the era of a protocol version; "" for none.
func eraOf(protocol string) string {
	switch protocol {
	case "":
		return ""
	case modern.Version:
		return modern.Era
	}
	return handshake.Era
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

// A Policy is the policy in force as get-roots and status show it. It is
// JSON; members are added, never changed.
type Policy struct {
	Sandbox string `json:"sandbox,omitempty"` // inside every boundary
	Rules   []Rule `json:"rules"`             // in order: the first that matches a path decides
}

// Rule is one rule of the policy.
type Rule struct {
	Name  string `json:"name"`
	Then  string `json:"then"` // allow, deny or escalate
	If    string `json:"if"`   // what it asks for, in words
	Dir   string `json:"directory,omitempty"`
	Serve bool   `json:"served,omitempty"` // to the servers it matches, from the start
	At    string `json:"at,omitempty"`     // where it stands: file and line
	Note  string `json:"note,omitempty"`
}

// PolicyOf reports a policy, nil for none.
func PolicyOf(by *validate.Checker) *Policy {
	info, ok := by.Policy()
	if !ok {
		return nil
	}
	out := &Policy{Sandbox: info.Sandbox, Rules: []Rule{}}
	for i := range info.Rules {
		out.Rules = append(out.Rules, RuleOf(&info.Rules[i]))
	}
	return out
}

// RuleOf puts a rule into words.
func RuleOf(r *policy.RuleInfo) Rule {
	out := Rule{Name: printable.Escape(r.Name, 100), Then: r.Then.String(), If: r.Condition(), Dir: r.Dir, At: r.At}
	out.Serve = r.Dir != "" && (r.Then == policy.Allow || r.Then == policy.Escalate && r.Serve)
	if r.Dir != "" && !r.Found {
		out.Note = "the directory is not there, or may not be looked at"
	}
	return out
}
