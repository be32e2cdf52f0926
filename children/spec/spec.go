package spec

import (
	"maps"
	"slices"
	"strings"
	"time"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/remote"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/trust"
	"mcphub/internal/wellknown"
	"mcphub/rootsmgr/guard"
)

// Defaults of a Spec's limits.
const (
	DefaultStartTimeout = 60 * time.Second
	// CompilingStartTimeout bounds the start of a program that is compiled at each start, as by go run.
	CompilingStartTimeout = 5 * time.Minute
	DefaultCallTimeout    = 10 * time.Minute
	DefaultStopTimeout    = 2500 * time.Millisecond
	DefaultFrameLimit     = 64 << 20
)

// A Spec describes how to run one child. Args, Cwd, EnvFile and the values of Env may hold ${roots},
// ${root} and ${root:NAME}. Args, URL and the values of Env and Headers may hold marks of secrets
// (internal/reference), never their values. It is a value: two Specs for which Equal holds run the
// same child, and a reload leaves it alone.
type Spec struct {
	Name    string            // the entry's name in hub.json
	URL     string            // of a server that is reached over HTTP; then Command and what follows it up to Roots is not used
	Headers map[string]string // sent with each request to URL
	Auth    Auth              // of the login at URL
	Login   remote.Login      // the login of an instance, set as it is started; Equal does not look at it

	Era         Era              // which family of protocol versions it is spoken to in
	Protocol    string           // the one version of the handshake that is proposed; "": the newest, and older ones if it refuses that
	TLS         trust.Settings   // of the connections to URL
	HeadersFrom HeaderProgram    // prints more headers of requests to URL
	Supply      remote.Supply    `json:"-"` // runs it, set as an instance is started; Equal does not look at it
	Transport   remote.Transport // to URL; "": Streamable HTTP, and the older SSE if the server knows only that

	Command string            // a name looked up in the child's PATH, or an absolute path
	Args    []string          //
	Env     map[string]string // the child's own variables, over what is passed on
	EnvFile string            // more variables, which count for less than Env; absolute, "": none
	Inherit []string          // more names of the hub's environment to pass on
	Cwd     string            // absolute; "": the first root that exists
	Roots   RootsMode
	Share   Share
	Start   StartMode
	Local   bool // the program may come from the working directory

	Directories bool // it can do with directories only, if a root is a file

	Sandbox sandbox.Settings // how the kernel holds it
	Limits  program.Limits   // of all processes of one instance together

	ShareWhy string // why Share is that, where hub.json does not say it; "": it does, or this is the default. Equal does not look at it

	StartTimeout time.Duration // start, handshake and first list; 0: 60 s
	CallTimeout  time.Duration // of one call without progress; 0: 10 min, negative: none
	IdleTimeout  time.Duration // stop after this long without a call; 0: never
	StopTimeout  time.Duration // of the whole stop ladder; 0: 2.5 s
	FrameLimit   int           // bytes of one line of the child; 0: 64 MiB
	IDLimit      int           // bytes of the id of a request of the child; 0: 1 KiB

	// Probe names a tool, called without arguments, whose text result lists the
	// directories that the child has applied. "" uses none, except for the
	// official filesystem server, whose tool is known.
	Probe string

	// Environ and Dir are the environment that it inherits from, and the working directory if
	// nothing else names one; nil and "": the hub's. Variant tells apart what one entry means
	// in different surroundings; "": what it is in the hub's. Equal looks at that alone.
	Environ []string
	Dir     string
	Variant string

	// Revision tells two configurations of one name apart. Equal does not look at
	// it: who makes Specs keeps it for as long as they are equal, and gives a child
	// that is to start again another one. Status and Lease carry it.
	Revision uint64
}

// WithDefaults fills in the limits that are not set, and the probe of a
// server that is known.
func (s Spec) WithDefaults() Spec {
	if s.StartTimeout <= 0 {
		if s.StartTimeout = DefaultStartTimeout; commandline.Compiles(s.Command, s.Args) {
			s.StartTimeout = CompilingStartTimeout
		}
	}
	if s.CallTimeout == 0 {
		s.CallTimeout = DefaultCallTimeout
	}
	if s.StopTimeout <= 0 {
		s.StopTimeout = DefaultStopTimeout
	}
	if s.FrameLimit <= 0 {
		s.FrameLimit = DefaultFrameLimit
	}
	if s.IDLimit <= 0 {
		s.IDLimit = jsonrpc.DefaultIDLimit
	}
	if known := s.known(); s.Probe == "" && known != nil {
		s.Probe = known.RootsProbe
	}
	return s
}

// known returns the well-known server that lists the roots it applies, if the command line starts one.
func (s *Spec) known() *wellknown.Server {
	return wellknown.ByLine(commandline.ReadLine(s.Command, s.Args), func(k *wellknown.Server) bool { return k.RootsProbe != "" })
}

// Equal reports whether s and o run the same child in the same way, defaults,
// the difference between empty and absent, ShareWhy and Revision left aside. Start is no
// part of that: it says when, and not what.
func (s Spec) Equal(o Spec) bool {
	a, b := s.WithDefaults(), o.WithDefaults()
	return a.Name == b.Name &&
		a.Variant == b.Variant &&
		a.Command == b.Command &&
		a.Cwd == b.Cwd &&
		a.URL == b.URL &&
		a.Auth.equalTo(b.Auth) &&
		a.Era == b.Era &&
		a.Protocol == b.Protocol &&
		a.Transport == b.Transport &&
		a.TLS.Equal(b.TLS) &&
		a.HeadersFrom.equalTo(b.HeadersFrom) &&
		maps.Equal(a.Headers, b.Headers) &&
		slices.Equal(a.Args, b.Args) &&
		maps.Equal(a.Env, b.Env) &&
		a.EnvFile == b.EnvFile &&
		slices.Equal(a.Inherit, b.Inherit) &&
		a.Roots == b.Roots &&
		a.Directories == b.Directories &&
		a.Share == b.Share &&
		a.Local == b.Local &&
		a.Sandbox.Equal(b.Sandbox) &&
		a.Limits == b.Limits &&
		a.StartTimeout == b.StartTimeout &&
		a.CallTimeout == b.CallTimeout &&
		a.IdleTimeout == b.IdleTimeout &&
		a.StopTimeout == b.StopTimeout &&
		a.FrameLimit == b.FrameLimit &&
		a.IDLimit == b.IDLimit &&
		a.Probe == b.Probe
}

// A HeaderProgram prints headers; the zero HeaderProgram is none.
type HeaderProgram struct {
	Command string // as a Spec's
	Args    []string
	TTL     time.Duration // how long the headers hold
	At      string        // the line of hub.json
}

func (p HeaderProgram) equalTo(o HeaderProgram) bool {
	return p.Command == o.Command && slices.Equal(p.Args, o.Args) && p.TTL == o.TTL
}

// Auth describes how to log in at a server that asks for it. ClientSecret may hold marks
// of secrets.
type Auth struct {
	Asked        bool // the configuration states that the server asks
	Machine      bool // the client itself logs in, for no person
	Exchange     bool // a token is had in exchange for the caller's own
	ClientID     string
	Document     string // the address of a client id metadata document, where ClientID is "" and the authorization server takes one
	ClientSecret string
	Issuer       string
	Scopes       []string
	Redirect     string // of the browser, without its port; "": as cmd/mcphub/internal/oauth has it
	CallbackPort int    // of the redirect; 0: any
	At           string // the line of hub.json that has it; "": none. equalTo does not look at it
}

func (a Auth) equalTo(b Auth) bool {
	return a.Asked == b.Asked && a.Machine == b.Machine && a.Exchange == b.Exchange && a.ClientID == b.ClientID && a.Document == b.Document && a.ClientSecret == b.ClientSecret &&
		a.Issuer == b.Issuer && slices.Equal(a.Scopes, b.Scopes) && a.Redirect == b.Redirect && a.CallbackPort == b.CallbackPort
}

// LogsIn reports whether the server may ask for a login: it is reached by URL, and the
// configuration holds no credentials for it.
func (s Spec) LogsIn() bool {
	if s.URL == "" {
		return false
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return true
}

// IsPersonal reports whether each user logs in at this server, or has a token of their own there, and not the hub for all.
func (s Spec) IsPersonal() bool { return s.LogsIn() && !s.Auth.Machine }

// Program returns what the Spec says about the process to start.
func (s Spec) Program() program.Program {
	return program.Program{
		Command: s.Command, Args: s.Args, Env: s.Env, EnvFile: s.EnvFile, Inherit: s.Inherit, Cwd: s.Cwd, Rewrite: s.Roots.rewriteMode(),
		Shared: s.Share != ShareSession, Local: s.Local, Directories: s.Directories, Sandbox: s.Sandbox,
	}
}

// Plan computes how a child starts with these roots; of one that is reached by URL
// nothing runs here.
func (s Spec) Plan(roots []guard.Root, m launch.Machine) (launch.Launch, error) {
	if s.URL != "" {
		return launch.Launch{}, nil
	}
	return launch.Plan(s.Program(), roots, m)
}

// TakesDirectories reports whether the child takes every root for a directory: it
// is given roots in its arguments, cwd or environment, or is a filesystem-like
// server that is told about them.
func (s Spec) TakesDirectories() bool {
	if s.URL != "" {
		return s.Directories
	}
	return s.Program().TakesDirectories()
}

// NeedsRoots reports whether the child cannot be started sensibly before the
// first roots are known: it is given them, or the kernel is to hold it to them.
func (s Spec) NeedsRoots() bool { return s.URL == "" && s.Program().NeedsRoots() }

// GivenRoots reports whether its arguments, cwd or environment are given root paths.
func (s Spec) GivenRoots() bool { return s.URL == "" && s.Program().GivenRoots() }

// ProjectWarning reports for an entry what it would, or may, take out of a working
// directory that may be a project someone else wrote, and what helps; "" if
// there is nothing to say.
func (s Spec) ProjectWarning() string {
	if s.URL != "" {
		return ""
	}
	return s.Program().ProjectWarning()
}

// SeesNoProject reports whether nothing in a session's directories can decide what the child offers: it runs
// elsewhere, and is served no roots.
func (s Spec) SeesNoProject() bool { return s.URL != "" && s.Roots == RootsNone }

// Identity returns what tells one server from another, whatever its program: its
// name, and what it starts or reaches.
func (s Spec) Identity() []string {
	return append([]string{s.Name, s.URL, s.Command}, s.Args...)
}
