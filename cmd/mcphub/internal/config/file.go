package config

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"time"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
)

// File is one configuration, checked, with its defaults filled in. Paths are
// as written once variables are replaced: "~" and relative ones are untouched.
type File struct {
	Path         string      `koanf:"-"`       // absolute where Load read it, as named where Parse did; "" for Default
	Servers      []Server    `koanf:"-"`       // in the order of the file, disabled and failed ones too
	Sandbox      string      `koanf:"sandbox"` // the mode of processes whose entry says none
	Changes      string      `koanf:"changes"` // of servers whose entry says none: a keys.Changes constant; "" = not said
	Name         string      `koanf:"name"`    // of the hub, for clients; "" = not said, as of the next two
	Title        string      `koanf:"title"`
	Instructions string      `koanf:"instructions"`
	Names        Names       `koanf:"names"`
	Expose       Expose      `koanf:"expose"`
	Results      Results     `koanf:"results"`
	Attach       Attach      `koanf:"attach"`
	Inputs       []Input     `koanf:"inputs"`
	Secrets      Secrets     `koanf:"secrets"`
	Auth         OAuthClient `koanf:"auth"`
	Roots        Roots       `koanf:"roots"`
	Policy       Policy      `koanf:"policy"`
	Approval     Approval    `koanf:"approval"`
	Audit        Audit       `koanf:"audit"`
	Logs         Logs        `koanf:"logs"`
	Metrics      Metrics     `koanf:"metrics"`
	HTTP         HTTP        `koanf:"http"`
	Limits       Limits      `koanf:"limits"`

	Toolsets map[string]Toolset  `koanf:"toolsets"` // by name
	Clients  map[string][]string `koanf:"clients"`  // names of toolsets, by the name of a client
	Projects map[string][]string `koanf:"projects"` // names of toolsets, by a folder

	Sum   string        `koanf:"-"` // of the bytes that were read, SHA-256 in hex; "" for Default
	Trail hubfile.Trail `koanf:"-"` // how Path led to the file when Load read it

	src  *jsonc.Source
	tree *jsonc.Node // in hub.json's own spelling, for At
}

// Server is one entry of mcpServers. Without Err exactly one of Builtin,
// Command and URL is set.
type Server struct {
	Name      string `koanf:"-"`       // made of A-Z a-z 0-9 _ . -, without the separator
	Key       string `koanf:"-"`       // the name as it is written
	Builtin   string `koanf:"builtin"` // keys.BuiltinFiles, or ""
	Process   `koanf:",squash"`
	Remote    `koanf:",squash"`
	Type      string        `koanf:"type"`  // a keys.Transport constant; "" = not said: stdio for Command, HTTP and then SSE for URL
	Roots     []string      `koanf:"roots"` // args, list or none, or directories; nil = not said
	Paths     Paths         `koanf:"paths"`
	Arguments string        `koanf:"arguments"` // lenient, strict or off: how they are held against the tools' schemas
	Prefix    *string       `koanf:"prefix"`    // nil = not said: name and separator; "" = none
	Changes   string        `koanf:"changes"`   // a keys.Changes constant; "" = not said
	Tools     Tools         `koanf:"tools"`
	Share     string        `koanf:"share"`    // session, roots, all; "" = not said
	Start     string        `koanf:"start"`    // lazy or eager
	Era       string        `koanf:"era"`      // auto, legacy or modern
	Protocol  string        `koanf:"protocol"` // a version; "" = not said
	Timeout   Timeout       `koanf:"timeout"`
	Sandbox   Sandbox       `koanf:"sandbox"`
	Limits    ServerLimits  `koanf:"limits"`
	Results   ServerResults `koanf:"results"`
	Disabled  bool          `koanf:"disabled"`
	Err       *Problem      `koanf:"-"` // why it must not be started; the first of its errors
}

// Sandbox describes what the kernel holds a server's process to.
type Sandbox struct {
	Mode    string   `koanf:"mode"` // a keys.Sandbox constant
	Default bool     `koanf:"-"`    // the entry says nothing about a sandbox
	Read    []string `koanf:"read"`
	Write   []string `koanf:"write"`
	Network Network  `koanf:"network"`
	Sockets string   `koanf:"sockets"` // on or off
	Widen   string   `koanf:"widen"`   // restart or refuse
}

// ServerLimits bound all processes of a server together, and the calls of its tools; 0: none.
type ServerLimits struct {
	Memory     int64 `koanf:"memory"` // bytes
	Processes  int   `koanf:"processes"`
	CallLimits `koanf:",squash"`
	Tools      map[string]CallLimits `koanf:"tools"` // by pattern
}

// CallLimits bound calls.
type CallLimits struct {
	Calls int    `koanf:"calls"` // under way at a time; 0: any number
	Queue *int   `koanf:"queue"` // that wait; nil = not said
	Rate  string `koanf:"rate"`  // as keys.ParseRate reads it; "" = none
}

// Network is a word, or some ports.
type Network struct {
	Word  string `koanf:"word"`  // on or off; "" with Ports
	Ports []int  `koanf:"ports"` // of TCP
}

// Process describes how to start a child. In Args, Env and Cwd the placeholders
// ${root}, ${roots} and ${root:NAME} are still to be expanded; if one is meant
// literally, in the file or in a variable's value, it reads $${root}. In Args
// and Env references to secrets are marks (internal/reference).
type Process struct {
	Command string            `koanf:"command"`
	Args    []string          `koanf:"args"`
	Env     map[string]string `koanf:"env"`
	EnvFile string            `koanf:"envFile"` // "" = none; with placeholders, as Cwd
	Inherit []string          `koanf:"inherit"` // names of variables
	Cwd     string            `koanf:"cwd"`     // "" = not said
	Local   bool              `koanf:"local"`
}

// Remote describes a server on the network. References to secrets are marks.
type Remote struct {
	URL     string            `koanf:"url"` // absolute, http or https
	Headers map[string]string `koanf:"headers"`
	Auth    *Auth             `koanf:"auth"` // nil = not said
	TLS     *ServerTLS        `koanf:"tls"`  // nil = not said

	HeadersFrom *HeadersFrom `koanf:"headersFrom"` // nil = not said
}

// HeadersFrom names a program that prints headers.
type HeadersFrom struct {
	Command string        `koanf:"command"`
	Args    []string      `koanf:"args"`
	TTL     time.Duration `koanf:"ttl"` // 0 = not said
}

// ServerTLS describes how a server on the network is known, and what it is shown.
type ServerTLS struct {
	CA   string   `koanf:"ca"`   // a file; "" = none
	Cert string   `koanf:"cert"` // a file; "" = none, and no Key
	Key  string   `koanf:"key"`
	Pin  []string `koanf:"pin"` // as trust.Pin has them
}

// Auth describes how to log in at a server. References to secrets are marks.
type Auth struct {
	ClientID     string   `koanf:"clientId"` // "" = registered by itself
	ClientSecret string   `koanf:"clientSecret"`
	Scopes       []string `koanf:"scopes"`
	Issuer       string   `koanf:"issuer"`       // "" = the first that the server names
	Flow         string   `koanf:"flow"`         // a keys.Flow constant; "" = browser
	RedirectHost string   `koanf:"redirectHost"` // keys.RedirectIP, which "" is too, or RedirectName
	RedirectPath *string  `koanf:"redirectPath"` // nil = keys.RedirectPath
	CallbackPort int      `koanf:"callbackPort"` // 0 = any
}

// OAuthClient identifies this program to authorization servers.
type OAuthClient struct {
	ClientID string `koanf:"clientId"` // the https address of a client id metadata document; "" = none
}

// Paths describes how paths are found in the arguments of a server's tools.
type Paths struct {
	Mode string                        `koanf:"mode"` // strict, declared, off; "" = not said
	Args map[string]map[string]ArgRule `koanf:"args"` // tool or "*" -> JSON pointer with "*"
}

// ArgRule describes how one argument is judged.
type ArgRule struct {
	Role string `koanf:"role"` // read, write, delete or none
	Base string `koanf:"base"` // JSON pointer of the argument a relative path starts from; ""
}

// Tools chooses among a server's tools by pattern ("*" any text, "?" one
// character). Include nil means all.
type Tools struct {
	Include []string `koanf:"include"`
	Exclude []string `koanf:"exclude"`
	Always  []string `koanf:"always"`

	Rename   map[string]string            `koanf:"rename"`   // by the server's own name
	Describe map[string]string            `koanf:"describe"` // likewise
	Set      map[string]map[string]string `koanf:"set"`      // likewise, then by JSON pointer; values as JSON
}

// Timeout bounds a server's life. Call and Stop are above zero.
type Timeout struct {
	Start time.Duration  `koanf:"start"` // 0: not said, which depends on the program
	Call  time.Duration  `koanf:"call"`
	Idle  *time.Duration `koanf:"idle"` // nil = not said, which depends on sharing; 0 = never
	Stop  time.Duration  `koanf:"stop"`
}

// Toolset names what a session sees. Its patterns read SERVER__TOOL with the separator of Names.
type Toolset struct {
	Servers      []string `koanf:"servers"` // names
	Tools        []string `koanf:"tools"`   // patterns
	Exclude      []string `koanf:"exclude"` // patterns
	Instructions string   `koanf:"instructions"`
	Selectable   bool     `koanf:"selectable"` // a file in a project may choose it
}

// Expose describes which tools of the children are listed.
type Expose struct {
	Mode   string `koanf:"mode"`   // direct, search or auto
	Tokens int    `koanf:"tokens"` // what auto lists at most, at four bytes a token
}

// Results bounds what one result of a tool brings; 0: nothing does.
type Results struct {
	Max int64 `koanf:"max"` // bytes of text
}

// ServerResults are the Results of one server.
type ServerResults struct {
	Max *int64 `koanf:"max"` // nil = those of all
}

// Attach reports whether the clients of a user share one hub.
type Attach struct {
	Mode string        `koanf:"mode"` // a constant of keys
	Idle time.Duration `koanf:"idle"` // the hub ends when no client has been attached for so long
}

// An Input describes what to ask for a secret.
type Input struct {
	ID          string `koanf:"id"`
	Description string `koanf:"description"`
	Password    bool   `koanf:"password"`
	Type        string `koanf:"type"` // of other clients; without effect
}

// Secrets describes where secrets are kept.
type Secrets struct {
	Store    string `koanf:"store"`    // keys.StoreKeyring or keys.StoreFile
	Identity string `koanf:"identity"` // "" = default
}

// Names describes how tools are named.
type Names struct {
	Separator string `koanf:"separator"`
	Max       int    `koanf:"max"` // characters
}

// Roots configures the directories in scope.
type Roots struct {
	Timeout  time.Duration `koanf:"timeout"`
	Debounce time.Duration `koanf:"debounce"`
	Stale    time.Duration `koanf:"stale"`
	Fallback []Fallback    `koanf:"fallback"`
	When     When          `koanf:"when"`

	Resources       []string `koanf:"resources"`
	ClientResources bool     `koanf:"clientResources"`

	Map map[string]string `koanf:"map"` // URIs of remote workspaces -> directories
}

// Fallback is a root for clients that give none.
type Fallback struct {
	Path string `koanf:"path"`
	Name string `koanf:"name"` // may be ""
}

// When describes what holds if no boundary is known: true lets paths pass.
type When struct {
	Unsupported string `koanf:"unsupported"` // keys.WhenProject, keys.WhenAllow or keys.WhenDeny
	Empty       bool   `koanf:"empty"`
	Failed      bool   `koanf:"failed"`
}

// Policy holds the rules that are asked before the boundary is.
type Policy struct {
	Sandbox   string          `koanf:"sandbox"`
	Protected []string        `koanf:"protected"`
	Rules     []Rule          `koanf:"rules"` // in order
	Raw       json.RawMessage `koanf:"-"`     // the policy as it stands in the file, as plain JSON, variables not replaced; nil = none
}

// Rule is one rule of a policy.
type Rule struct {
	Name  string    `koanf:"name"`  // never empty, no two alike
	Then  string    `koanf:"then"`  // allow, deny or escalate
	Serve bool      `koanf:"serve"` // of an escalate rule only
	If    Condition `koanf:"if"`
}

// Condition describes which calls a rule is about; nil means any.
type Condition struct {
	Principals []string       `koanf:"principals"` // patterns
	Groups     []string       `koanf:"groups"`     // patterns
	Servers    []string       `koanf:"servers"`    // patterns
	Tools      []string       `koanf:"tools"`      // patterns
	Paths      *PathCondition `koanf:"paths"`
}

// PathCondition describes which paths a rule is about.
type PathCondition struct {
	Roles   []string `koanf:"roles"`  // of read, write, delete; nil = any
	Within  string   `koanf:"within"` // a directory; "" = any
	Outside bool     `koanf:"outside"`
}

// Approval describes how a human is asked.
type Approval struct {
	Timeout time.Duration `koanf:"timeout"`
	From    []string      `koanf:"from"`   // who may answer: client, terminal, console; nil: see Local
	Local   string        `koanf:"local"`  // off, or tty: client and terminal
	Notify  string        `koanf:"notify"` // auto or off
}

// Audit describes what is recorded.
type Audit struct {
	Dir       string `koanf:"dir"` // "" = default; "off" = see Off
	Required  bool   `koanf:"required"`
	Arguments bool   `koanf:"arguments"`
	Stdout    bool   `koanf:"stdout"` // of serve --http
	Keep      Keep   `koanf:"keep"`
	Syslog    Syslog `koanf:"syslog"`
}

// Syslog is the collector that the record is sent to.
type Syslog struct {
	Address string `koanf:"address"` // "" = none
	CA      string `koanf:"ca"`
}

// Keep bounds what is kept of the record.
type Keep struct {
	Age  time.Duration `koanf:"age"`  // 0 = of any age
	Size int64         `koanf:"size"` // bytes; 0 = any number
}

// IsOff reports that no record is kept.
func (a Audit) IsOff() bool { return a.Dir == "off" }

// Logs describes where what the children write to stderr is kept.
type Logs struct {
	Dir string `koanf:"dir"` // "" = default; "off" = see Off
}

// IsOff reports that no files are kept.
func (l Logs) IsOff() bool { return l.Dir == "off" }

// HTTP configures the Streamable HTTP front.
type HTTP struct {
	Listen  string        `koanf:"listen"` // host:port
	Auth    string        `koanf:"auth"`   // a keys.Auth constant; none with neither Tokens nor Issuers
	Hosts   []string      `koanf:"hosts"`
	Origins []string      `koanf:"origins"`
	Poll    time.Duration `koanf:"poll"` // 0 = never
	Drain   time.Duration `koanf:"drain"`
	Grace   time.Duration `koanf:"grace"`
	Tokens  []Token       `koanf:"tokens"`

	Resource string   `koanf:"resource"` // "" = none; never "" if there are Issuers
	Issuers  []Issuer `koanf:"issuers"`

	Idle     time.Duration `koanf:"idle"`
	StateKey []Secret      `koanf:"stateKey"` // the first seals; nil: none is given
	TLS      *TLS          `koanf:"tls"`      // nil: plain HTTP
	When     HTTPWhen      `koanf:"when"`
	Node     string        `koanf:"node"` // "" = the name of this machine

	TrustedProxies []string `koanf:"trustedProxies"` // addresses, and networks as in CIDR
	Peers          []string `koanf:"peers"`          // addresses of the other hubs
}

// HTTPWhen describes what holds for clients that show a token, if no boundary is known.
type HTTPWhen struct {
	AllowWithoutRoots bool `koanf:"noRoots"` // true: what roots.when says; false: no path passes
}

// MakesToken reports that the hub itself makes the token that clients show.
func (h *HTTP) MakesToken() bool { return h.Auth == keys.AuthToken && !h.NamesTokens() }

// NamesTokens reports that hub.json says whose tokens count.
func (h *HTTP) NamesTokens() bool { return len(h.Tokens)+len(h.Issuers) > 0 }

// HasSeveral reports that there may be more than one principal.
func (h *HTTP) HasSeveral() bool { return len(h.Tokens) > 1 || len(h.Issuers) > 0 }

// TLS names the files of a certificate and its key.
type TLS struct {
	Cert string `koanf:"cert"`
	Key  string `koanf:"key"`
}

// Metrics is the address at which the hub reports what it counts.
type Metrics struct {
	Listen     string   `koanf:"listen"` // host:port; "" = nowhere
	Token      Secret   `koanf:"token"`  // the zero Secret: none is needed
	Hosts      []string `koanf:"hosts"`
	Principals bool     `koanf:"principals"`
}

// Secret is where a secret is held: in one of both.
type Secret struct {
	Env  string `koanf:"env"`  // name of the variable, not looked up here
	File string `koanf:"file"` // path of the file, not read here
}

// Token admits one client.
type Token struct {
	Name   string   `koanf:"name"`
	Env    string   `koanf:"env"`  // name of the variable that holds it, not looked up here; "" with File
	File   string   `koanf:"file"` // path of the file that holds it, not read here; "" with Env
	Groups []string `koanf:"groups"`
	Roots  []string `koanf:"roots"` // nil = no ceiling; never empty otherwise

	Toolsets []string `koanf:"toolsets"` // nil = any; never empty otherwise
}

// Issuer is an authorization server whose tokens count.
type Issuer struct {
	Issuer    string        `koanf:"issuer"`
	Audience  string        `koanf:"audience"` // "" = HTTP.Resource
	Principal string        `koanf:"principal"`
	Groups    string        `koanf:"groups"` // a claim; "" = none
	Scopes    []string      `koanf:"scopes"`
	Roots     *IssuerValues `koanf:"roots"` // nil = no ceiling

	Toolsets *IssuerValues `koanf:"toolsets"` // nil = any
	Login    IssuerLogin   `koanf:"login"`
}

// IssuerLogin is the client by which people log in at an Issuer, on a page of the hub.
type IssuerLogin struct {
	ClientID string `koanf:"clientId"` // "" = the hub registers itself
	Secret   `koanf:",squash"`
}

// IssuerValues maps what a token says to directories, or to toolsets.
type IssuerValues struct {
	Claim  string              `koanf:"claim"`
	Values map[string][]string `koanf:"values"`
}

// Limits bounds what the hub holds.
type Limits struct {
	Frame       int64           `koanf:"frame"`       // bytes
	ID          int64           `koanf:"id"`          // bytes
	Definitions int64           `koanf:"definitions"` // bytes
	Sessions    int             `koanf:"sessions"`
	Calls       int             `koanf:"calls"`
	Children    int             `koanf:"children"`
	Starting    int             `koanf:"starting"`
	Depth       int             `koanf:"depth"`
	Principal   PrincipalLimits `koanf:"principal"`
}

// PrincipalLimits bounds what one principal takes; 0: not said.
type PrincipalLimits struct {
	Sessions int `koanf:"sessions"`
	Calls    int `koanf:"calls"`
	Children int `koanf:"children"`
	Rate     int `koanf:"rate"`
	Burst    int `koanf:"burst"`
}

// ServerNames returns what the servers are called in the hub.
func (f *File) ServerNames() []string {
	names := make([]string, len(f.Servers))
	for i := range f.Servers {
		names[i] = f.Servers[i].Name
	}
	return names
}

// Server returns the server of that name, or nil.
func (f *File) Server(name string) *Server {
	for i := range f.Servers {
		if f.Servers[i].Name == name {
			return &f.Servers[i]
		}
	}
	return nil
}

// Named returns the server whose name is written so, else the one that is called so in
// the hub, or nil.
func (f *File) Named(name string) *Server {
	for i := range f.Servers {
		if f.Servers[i].Key == name {
			return &f.Servers[i]
		}
	}
	return f.Server(name)
}

// Dir returns the folder of the file, absolute; "" for Default, and if
// the working directory is unknown.
func (f *File) Dir() string {
	if f.Path == "" {
		return ""
	}
	abs, err := filepath.Abs(f.Path)
	if err != nil {
		return ""
	}
	return filepath.Dir(abs)
}

// At makes a Problem, without Text, that points at a key: At("policy",
// "rules", "0", "if"). List elements are given by number from 0, keys in
// hub.json's own spelling, also if the file uses a client's. If the key is
// not in the file it points at the nearest one around it.
func (f *File) At(path ...string) Problem {
	p := Problem{}
	if len(path) > 1 && path[0] == "mcpServers" {
		if server := f.Server(path[1]); server != nil {
			path = append([]string{path[0], server.Key}, path[2:]...)
		}
	}
	n, at, steps := f.tree, 0, make([]string, 0, len(path))
	for i, step := range path {
		var next *jsonc.Node
		steps = append(steps, step)
		if n != nil {
			at = n.Off
			if k := n.Index(step); k >= 0 {
				next, at = n.Members[k].Value, n.Members[k].Off
			}
			if k, err := strconv.Atoi(step); n.Kind == '[' && err == nil && k >= 0 {
				steps[i] = jsonc.Index(k)
				if k < len(n.Elems) {
					next, at = n.Elems[k], n.Elems[k].Off
				}
			}
		}
		n = next
	}
	if len(path) == 0 && n != nil {
		at = n.Off
	}
	p.Key = jsonc.FormatKey(steps)
	if f.src != nil {
		p.File, p.Line, p.Col = f.src.Locate(at)
	}
	return p
}
