package children

import (
	"fmt"
	"time"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
)

// State is the place of one instance in its life:
//
//	Configured --asked for--> Waiting     for its turn to start, or for roots that it
//	                                      cannot start without
//	Configured --known------> Cold        it is lazy, and what it offers is remembered, or
//	                                      nobody but a call needs to know
//	Cold -------called------> Waiting
//	Waiting ----its turn----> Starting    process, handshake, tools/list, first roots
//	Starting ---in time-----> Ready       leases are given
//	Starting ---failed------> BackingOff
//	Ready ------died--------> BackingOff  calls under way fail and quote its stderr
//	Ready ------no answer---> Hung        neither to calls nor to a ping
//	Hung -------any message-> Ready
//	Hung -------too long----> BackingOff  and started again; calls under way fail
//	Ready ------replaced----> Draining    by a process with other roots
//	Ready ------idle--------> Draining
//	Ready ------evicted-----> Draining    another needs its place
//	Ready ------dropped-----> Draining    its session, or the hub, has ended
//	Ready ------retired-----> Draining    its Spec has changed or is gone
//	Draining ---replaced----> Waiting     started again at once
//	Draining ---idle--------> Stopped     started by the next call; so if evicted
//	Draining ---dropped-----> Stopped     for good; so if retired
//	BackingOff -its delay---> Waiting
type State uint8

const (
	Configured State = iota // known, not yet asked for
	Waiting                 // asked for: waits for its turn, or for the first roots
	Starting                // its process runs; handshake, list, first roots
	Ready                   // may be called
	BackingOff              // it failed; started again after a while, or when called
	Draining                // calls under way end, no new ones; stops
	Stopped                 // not running; started when called, unless dropped
	Cold                    // not running yet: started when called
	Hung                    // it answers neither calls nor whether it is there: it is stopped, and started again
)

func (state State) String() string {
	switch state {
	case Configured:
		return "configured"
	case Waiting:
		return "waiting"
	case Starting:
		return "starting"
	case Ready:
		return "ready"
	case BackingOff:
		return "backing off"
	case Draining:
		return "draining"
	case Stopped:
		return "stopped"
	case Cold:
		return "cold"
	case Hung:
		return "hung"
	}
	return "unknown"
}

// Status is what can be told about one instance at one moment. A copy.
type Status struct {
	spec.Key
	// Serial tells instances of one Key apart that followed each other: the
	// later one has the greater. Final: this was the last of this instance.
	Serial uint64
	Final  bool
	// OtherEra: it has ended because the child does not speak the era of these
	// clients; Supervisor.ServingKey reports which instance serves them.
	OtherEra bool
	Protocol string // version that it was spoken to in when it was listed last by this instance; "" before
	State    State
	PID      int       // 0 when no process runs
	Since    time.Time // of this state
	Restarts int       // starts after the first
	Err      string    // why it is not ready, or what is wrong with it although it is
	Stderr   string    // tail, plain text
	Command  string    // as started: absolute path
	Args     []string  // as started: rewritten
	Cwd      string
	EnvNames []string // names of all variables passed, sorted
	Environ  []string // that it inherits from; nil: the hub's
	Apart    []string // what keeps a shared one apart from those in other surroundings, by name
	Sandbox  sandbox.Report
	Bounds   link.Bounds // of the run that was started last
	Package  Package     // what runs, or is being installed, instead of a launcher
	Served   []string    // root paths that it has applied, or was started with
	Tools    int
	Skipped  uint64       // lines on stdout that were no message
	TextIDs  uint64       // answers of this run that repeat the number of their request as a string
	Muted    uint64       // log and progress notifications that were dropped: too many at a time
	Listed   bool         // its tools were listed by this instance; otherwise they are remembered ones
	Unread   bool         // this instance has answered, and its list of tools could not be read
	Lives    offers.Lives // of the offer, as it was read last in this instance
	Revision uint64       // of the Spec that it runs by
	Renewed  uint64       // sessions started with a server that had forgotten the one before; subscriptions ended with that

	AskedRoots   bool      // it has asked roots/list in this run
	RootsApplied bool      // it is known, or must be assumed, to work with the roots last set
	Failures     int       // in a row
	LastFailure  string    // how the last start or run that failed ended, exit status included; "" before the first
	FailedAt     time.Time // when that was
	AsksLogin    bool      // it was because its server asks for a login
	CircuitOpen  bool      // too many in a row: started only when called
	NextStart    time.Time // when backing off: not before
	ByItself     bool      // when backing off: it is started then without a call
}

// A Package is what is installed for a confined child, instead of its launcher. The
// zero Package is none.
type Package struct {
	Name    string // as it calls itself; "" before it is installed
	Version string
	At      time.Time // of the install
	Change  string    // at the last start: see packages.Copy
	Problem string    // why it was not looked for a newer version
	Doing   string    // "installing ..." while the start waits for that
}

// A Term is the time for which a child remembers what it was told, such as a
// subscription: from its start, or from a new session with a server, until the next
// of these. The zero Term is none.
type Term struct {
	serial   uint64
	restarts int
	renewed  uint64
}

// Term returns the term of now; of a child that runs.
func (st Status) Term() Term { return Term{st.Serial, st.Restarts, st.Renewed} }

// String returns one line for logs and tests.
func (st Status) String() string {
	return fmt.Sprintf("%s %s pid=%d restarts=%d failures=%d asked=%t applied=%t %q", st.Key, st.State, st.PID, st.Restarts, st.Failures, st.AskedRoots, st.RootsApplied, st.Err)
}
