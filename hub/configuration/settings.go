package configuration

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/preflight"
	"mcphub/children/remote"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/pin"
	"mcphub/hub/record"
	"mcphub/hub/telemetry"
	"mcphub/hub/toolset"
	"mcphub/hub/turns"
	"mcphub/internal/callertoken"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
	"mcphub/internal/reference"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
)

// Settings are everything that a hub is built from. They are not changed afterwards.
type Settings struct {
	Version           string
	About             About
	Children          []Child // in the order of hub.json
	Broken            []Broken
	Disabled          []string // entries that are left out on purpose: shown by Status
	Checker           *validate.Checker
	Names             catalog.Names
	Expose            catalog.Exposure
	Toolsets          *toolset.Table    // nil: there are none
	Roots             rootsmgr.Settings // see RootsOf
	AllowWithoutRoots bool              // a principal that a token names goes by Roots.When too, where neither token nor client names roots
	Fallback          rootsmgr.Fallback
	Limits            Limits
	Approval          approval.Options
	FS                guard.FS // nil: this machine's
	Log               zerolog.Logger
	OnStderrLine      func(child spec.Key, pid int, line string)  // takes each line of a child's stderr; must not block; may be nil
	Record            *sandbox.Recorder                           // notes what confined children use beyond what they may; nothing is held if it is free; may be nil
	RecordWritable    func(dirs []string) error                   // puts directories on record before servers may write there, or they may not; may be nil
	Written           func(paths ...string) (dir string, ok bool) // reports which folder that servers may write holds one of these paths; nil: none is known
	Inspect           bool                                        // serve the method that explains a call: for the program's own commands only
	Audit             record.Settings
	Pins              *pin.Pins // which definitions are withheld because they have grown since a person accepted them; nil: none

	Telemetry *telemetry.Telemetry // of the hub, and of no other; nil: no one watches

	Callers *callertoken.Table                                  // holds the tokens by which callers over HTTP were admitted, while a child needs them; of the hub, and of no other; nil: none is held
	Login   func(k spec.Key, s spec.Spec) (remote.Login, error) // gives the login of a child; nil: none has any
	// StartLogin logs in at the server of a child for a principal. page is given the address that
	// a person is to open, and the code to enter there, if any; it returns once the person has
	// agreed. The address for one whom a token names is that of a page of the hub, which shows the result when ctx ends. nil: no one can log in this way.
	StartLogin func(ctx context.Context, child string, who principal.Principal, page func(address, code string) error) error
	LoginPages bool                                                                                      // StartLogin has pages for those whom a token names
	Secret     func(ctx context.Context, r reference.Ref, leads func(real string) error) (string, error) // gives what a reference to a secret stands for; nil: nothing
	Environ    []string                                                                                  // the hub's own environment, for the children's allow-list; what SettingsFor gives: the client's
	Home, Dir  string                                                                                    // home folder and working directory of the hub
	Cache      string                                                                                    // folder for what children offered last; "": it is not kept

	Launcher children.Launcher // runs the children; nil: as processes

	// ForSurroundings gives these settings as they are in the surroundings of a client. Its error reports
	// what of them cannot differ from client to client, and what mends that. nil: they are the same in all.
	ForSurroundings func(*Surroundings) (Settings, error)
}

// About describes the hub to its clients.
type About struct {
	Name         string // "mcphub" if it is ""
	Title        string
	Instructions string // before the hub's own
}

// Host returns what the children are started with.
func (s *Settings) Host() preflight.Host {
	return preflight.Host{Environ: s.Environ, Home: s.Home, Dir: s.Dir}
}

// A Child is one entry of mcpServers that can be run.
type Child struct {
	Spec    spec.Spec
	Prefix  string               // before each tool's name, separator included; "" = unprefixed
	Include []string             // globs of tool names; empty: all
	Exclude []string             // globs of tool names, after Include
	Always  []string             // globs of tools that are listed whatever Settings.Expose says
	Words   catalog.Words        // of the operator, about its tools
	Roots   []rootsmgr.RootEntry // directories that count for it instead of its client's roots; nil: those count

	Calls turns.Limits // on its requests

	ResultMax int // bytes of text of a tool's result, beyond which it is cut; 0: it never is
}

// A Broken entry of hub.json cannot be run; it is shown with its reason.
type Broken struct {
	Name   string
	Prefix string // that its tools would have had
	Reason string
}

// Limits bound what one client can make the hub hold. Zero means the default.
type Limits struct {
	Frame              int           // bytes of one message, 64 MiB
	ID                 int           // bytes of the id of a client's request, 1 KiB
	Definitions        int           // bytes of what one child offers of each kind, 64 MiB
	Calls              int           // requests of one client served at a time, 256
	Starting           int           // children starting at a time, 8
	Children           int           // children running at a time, 256
	PrincipalChildren  int           // of them of one principal that is named by a token; 0: as many, or where MultiplePrincipals a part
	MultiplePrincipals bool          // there may be several principals
	ListWait           time.Duration // how long the lists of a session wait, together, for starting children, 5 s
	Grace              time.Duration // for calls already read when a client's input ends, 800 ms
}

func (l Limits) withDefaults() Limits {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&l.Frame, 64<<20)
	def(&l.ID, jsonrpc.DefaultIDLimit)
	def(&l.Definitions, 64<<20)
	def(&l.Calls, 256)
	def(&l.Starting, 8)
	def(&l.Children, children.DefaultMaxChildren)
	if l.ListWait <= 0 {
		l.ListWait = 5 * time.Second
	}
	if l.Grace <= 0 {
		l.Grace = 800 * time.Millisecond
	}
	return l
}

// RootsOf returns the Roots of a principal by its key; "" is a client that no token names. If
// no boundary is known, no path of a client that a token names passes, unless
// AllowWithoutRoots.
func (settings *Settings) RootsOf(principal string) rootsmgr.Settings {
	r := settings.Roots
	r.When.Denied = principal != "" && !settings.AllowWithoutRoots
	return r
}

// keepFrom takes from old what holds for as long as a hub lives.
func (settings Settings) keepFrom(old *Settings) Settings {
	settings.About.Name, settings.About.Title = old.About.Name, old.About.Title
	settings.Version, settings.FS, settings.Log, settings.OnStderrLine, settings.Record, settings.Inspect, settings.Launcher = old.Version, old.FS, old.Log, old.OnStderrLine, old.Record, old.Inspect, old.Launcher
	settings.Environ, settings.Home, settings.Dir, settings.Cache = old.Environ, old.Home, old.Dir, old.Cache
	settings.Audit.Recorder, settings.Audit.Recent = old.Audit.Recorder, old.Audit.Recent
	return settings
}
