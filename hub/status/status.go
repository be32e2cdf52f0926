package status

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/audit"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/handshake"
	"mcphub/hub/modern"
	"mcphub/hub/record"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/rootsmgr"
)

// Audit is how the record stands.
type Audit = record.Status

// Hub is how a whole hub stands at one moment: a copy, for the caller
// that looks after it. Texts that came from children and clients are
// clean.
type Hub struct {
	Children  []Child                `json:"children"`                 // every instance, and those configured that have none; by name, then instance
	NotServed []NotServed            `json:"notServed"`                // entries of hub.json that cannot be run, or are disabled
	Sessions  []Session              `json:"sessions"`                 // by the time they began
	Redefined []catalog.Redefinition `json:"redefinedTools,omitempty"` // tools that are defined differently from before
	Audit     Audit                  `json:"audit"`
	Policy    *Policy                `json:"policy,omitempty"`
	Refusals  []audit.Refusal        `json:"refusals,omitempty"` // the last, if no log is kept

	Extensions []Extension `json:"extensions,omitempty"` // beyond the protocol
}

// Child is one instance of a child.
type Child struct {
	Server   string     `json:"server"`                    // its name in hub.json
	Instance string     `json:"instance,omitempty"`        // what it serves: a session's id, or a set of roots; "" if it serves all, or none yet
	Share    string     `json:"share"`                     // session, roots or all
	ShareWhy string     `json:"shareWhy,omitempty"`        // why, where hub.json does not say it
	Sessions []string   `json:"sessions,omitempty"`        // ids of the ones that it serves, of clients that share this hub
	Apart    []string   `json:"apartBy,omitempty"`         // variables and keys by which it serves not all sessions that could share it: the ones that have others are served by another instance
	Era      string     `json:"era,omitempty"`             // handshake or modern: in which this instance was spoken to last; "" before
	State    string     `json:"state"`                     // configured, waiting, starting, ready, backing off, draining, stopped
	Since    *time.Time `json:"since,omitempty"`           // of this state
	PID      int        `json:"pid,omitempty"`             // while a process runs
	Tools    int        `json:"tools"`                     // offered when it was listed last
	Tokens   int        `json:"tokens,omitempty"`          // that their definitions take of a model's context where they are listed, at four bytes a token
	Error    string     `json:"error,omitempty"`           // why it is not ready, or what is wrong with it although it is
	Stderr   string     `json:"stderr,omitempty"`          // the end of it, plain text
	Log      string     `json:"log,omitempty"`             // the file that all of it goes to; filled in by the one who keeps it
	Skipped  uint64     `json:"skippedLines"`              // on stdout, that were no message
	TextIDs  uint64     `json:"textIds,omitempty"`         // answers that repeat the number of their request as a string
	Muted    uint64     `json:"droppedMessages,omitempty"` // log and progress notifications: too many at a time

	Listed  bool           `json:"-"` // its tools were listed in this instance
	Sandbox sandbox.Report `json:"-"` // what Confinement and ConfinementDetails are made from

	childOmitted
	childFailures
	childLaunch
	childServed
}

// childOmitted is what a server defines and is not offered, is mended, or is offered and not checked.
type childOmitted struct {
	NotOffered []Omission `json:"notOffered,omitempty"`
	Mended     []Omission `json:"mended,omitempty"`
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

	Package *Package `json:"package,omitempty"` // that was installed and runs instead of a launcher
	Limits  *Limits  `json:"limits,omitempty"`
}

// A Package describes which package a confined server runs from.
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
	RootsApplied bool     `json:"rootsApplied"` // it is known, or must be assumed, to work with the ones of now
	RootsAsked   bool     `json:"rootsAsked"`   // it has asked roots/list in this run
	Ahead        Ahead    `json:"kernelAhead"`
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
	ID        string    `json:"id"`
	Since     time.Time `json:"since"`
	Principal string    `json:"principal"`        // whose it is: the name of a token, NAME@ISSUER, local or no one
	Client    string    `json:"client,omitempty"` // name and version, as it calls itself
	Protocol  string    `json:"protocolVersion,omitempty"`
	Calls     int       `json:"calls"`              // requests of the client being served
	Passed    uint64    `json:"passed"`             // requests that went on to servers so far, calls of tools among them
	Toolsets  []string  `json:"toolsets,omitempty"` // what it sees of the servers; none: everything, or what a reload has taken away
	Surroundings
	SessionRoots
	approval.Report
}

// Surroundings is what a client's process has brought; left out if that is the hub's
// own client.
type Surroundings struct {
	Folder    string      `json:"folder,omitempty"`    // its working directory
	Process   int         `json:"process,omitempty"`   // the client's
	Adapter   int         `json:"adapter,omitempty"`   // of what the client has started to be served here
	NotServed []NotServed `json:"notServed,omitempty"` // to this session, beside what no one is served
}

// NotServedBy returns the entries of a configuration that have no child.
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
	RootsState   string   `json:"rootsState"`  // see rootsmgr.Manager.Word
	RootsOrigin  string   `json:"rootsOrigin"` // who vouched for them
	Generation   uint64   `json:"rootsGeneration"`
	RootsCount   int      `json:"rootsCount"`
	Roots        []string `json:"roots,omitempty"` // their paths
	RootsSkipped int      `json:"rootsSkipped"`
	RootsError   string   `json:"rootsError,omitempty"` // of the last question
}

// SessionRootsOf reports the roots of a session. word is how they stand.
func SessionRootsOf(rootsView rootsmgr.RootsView, word string) SessionRoots {
	r := SessionRoots{
		RootsState: word, RootsOrigin: rootsView.Snapshot.Origin().String(), Generation: rootsView.Snapshot.Generation(),
		RootsCount: rootsView.Snapshot.Len(), RootsSkipped: len(rootsView.Snapshot.Skipped()),
	}
	for _, root := range rootsView.Snapshot.Roots() {
		r.Roots = append(r.Roots, root.Path)
	}
	if rootsView.Err != nil {
		r.RootsError = printable.Clean(rootsView.Err.Error())
	}
	return r
}

// Children lists every instance of some children, and the children that have none. offers are what
// they offer by their names, and serves tells the sessions that an instance serves.
func Children(all []configuration.Child, instances []children.Status, offers map[string]*catalog.Offer, environ []string, serves func(spec.Key) []string) []Child {
	out := []Child{}
	base := sync.OnceValue(sandbox.UserBase)
	for i := range all {
		child, before := all[i].Spec, len(out)
		for _, st := range instances {
			if st.Child == child.Name {
				one := childOf(child, st, environ, base)
				one.Sessions = serves(st.Key)
				out = append(out, one)
			}
		}
		if len(out) == before {
			out = append(out, childOf(child, children.Status{Key: spec.Key{Child: child.Name}, Command: child.Command, Args: child.Args}, environ, base))
		}
	}
	slices.SortStableFunc(out, func(a, b Child) int { return cmp.Compare(a.Server, b.Server) })
	for i := range out {
		if offer := offers[out[i].Server]; offer != nil {
			out[i].Tokens, out[i].childOmitted = offer.Tokens(), omittedFrom(offer)
		}
	}
	return out
}

func omittedFrom(offer *catalog.Offer) childOmitted {
	o := childOmitted{NotOffered: omissionsOf(offer.Omitted), Mended: omissionsOf(offer.Mended)}
	for _, t := range offer.Tools {
		if note := t.Note(); note != "" {
			o.Unchecked = append(o.Unchecked, Omission{printable.Escape(t.OwnName, 100), note})
		}
	}
	return o
}

func childOf(spec spec.Spec, st children.Status, environ []string, base func() []sandbox.Rule) Child {
	return Child{
		Server: st.Child, Instance: st.Instance, Share: spec.Share.String(), ShareWhy: spec.ShareWhy, Apart: st.Apart, Era: eraOf(st.Protocol), State: st.State.String(), Since: timePointer(st.Since), PID: st.PID,
		Tools: st.Tools, Error: printable.Clean(st.Err), Stderr: st.Stderr, Skipped: st.Skipped, TextIDs: st.TextIDs, Muted: st.Muted, Listed: st.Listed, Sandbox: st.Sandbox,
		childFailures: childFailures{
			Restarts: st.Restarts, Failures: st.Failures, CircuitOpen: st.CircuitOpen, NextStart: timePointer(st.NextStart), StartedBy: startedBy(st),
			LastFailure: printable.Clean(st.LastFailure), FailedAt: timePointer(st.FailedAt),
		},
		childLaunch: childLaunch{Command: st.Command, Args: redact.Args(st.Args, slices.Concat(st.Environ, environ)), Cwd: st.Cwd, Environment: copyList(st.EnvNames), Package: packageOf(st.Package), Limits: limitsOf(spec, st.Bounds)},
		childServed: childServed{RootsServed: copyList(st.Served), RootsApplied: st.RootsApplied, RootsAsked: st.AskedRoots, Ahead: AheadOf(&spec), Confinement: ConfinementOf(st.Sandbox), ConfinementDetails: ConfinementDetailsOf(st.Child, st.Sandbox, st.Served, base)},
	}
}

// eraOf returns the word for the era of a protocol version; "" for none.
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

func timePointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// copyList copies a list that others own; none is an empty one in JSON too.
func copyList(all []string) []string { return append([]string{}, all...) }
