package doctor

import (
	"cmp"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/config"
)

// The groups of findings, in the order in which they are shown.
const (
	Configuration = "configuration"
	Servers       = "servers"
	Clients       = "clients"
	System        = "system"
	Hubs          = "hubs"
)

// Groups are all groups.
var Groups = []string{Configuration, Servers, Clients, System, Hubs}

// A Finding is one thing that is wrong, and what mends it. It is written as JSON, to which members
// may be added.
type Finding struct {
	Group    string   `json:"group"`
	Subject  string   `json:"subject,omitempty"` // the server or client that it is about
	Severity string   `json:"severity"`          // error, warning or note
	At       string   `json:"at,omitempty"`      // FILE:LINE:COLUMN
	Text     string   `json:"text"`
	Details  []string `json:"details,omitempty"` // such as what a server wrote last
	Cure     string   `json:"cure,omitempty"`
	Command  string   `json:"command,omitempty"` // a command line that mends it
}

// A Report is what was found; the shape of JSON.
type Report struct {
	OK       bool              `json:"ok"`     // there is no error
	Config   string            `json:"config"` // hub.json; "" if there is none
	Findings []Finding         `json:"findings"`
	Servers  []Server          `json:"servers"`
	Clients  []InstalledClient `json:"clients"`
	Hubs     []Hub             `json:"hubs"`
	System   *SystemInfo       `json:"system,omitempty"` // absent where only servers were named
}

// A Server is one entry of hub.json, as it was when it was tried.
type Server struct {
	Name        string       `json:"name"`
	State       string       `json:"state"` // ready, or why not: failed, unusable, disabled, untried
	Command     string       `json:"command,omitempty"`
	URL         string       `json:"url,omitempty"`
	Interpreter *Interpreter `json:"interpreter,omitempty"`
	Environment []string     `json:"environment"` // names of the variables that it got
	Tools       int          `json:"tools"`
	Tokens      int          `json:"tokens"` // that the definitions of its tools take of a model's context
	Roots       []string     `json:"roots"`  // that it works with
	Era         string       `json:"era,omitempty"`
	Kernel      string       `json:"kernel,omitempty"`      // how far it is held to these roots: held, partial or none; absent: not at all
	Lacks       []string     `json:"kernelLacks,omitempty"` // what is not held, and why
}

// An Interpreter is what runs a server, and which versions of it the package wants.
type Interpreter struct {
	Name    string `json:"name"` // node or python
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // "" if it does not tell
	Wants   string `json:"wants,omitempty"`   // as the package writes it
	Package string `json:"package,omitempty"` // the file that says so
}

// An InstalledClient is a client on this machine, and how the hub is registered in it.
type InstalledClient struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	File       string   `json:"file,omitempty"`
	Registered string   `json:"registered,omitempty"` // the name of the hub in it
	Program    []string `json:"program,omitempty"`    // that it starts as the hub
	GivesRoots bool     `json:"givesRoots"`           // it reports which folders are open
	Roots      []string `json:"roots,omitempty"`      // that the hub is registered with
}

// A Hub is one that runs.
type Hub struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Config  string `json:"config"`
}

// A SystemInfo is what the system gives.
type SystemInfo struct {
	Landlock int      `json:"landlock"`           // ABI of the kernel's Landlock; 0: there is none
	Seatbelt string   `json:"seatbelt,omitempty"` // what macOS holds; "" on another system
	Inside   string   `json:"inside,omitempty"`   // WSL 1, WSL 2, a container or a devcontainer
	Guardian bool     `json:"guardian"`           // one ends what the servers leave behind
	Shares   bool     `json:"shares,omitempty"`   // clients share a hub
	Secrets  string   `json:"secrets"`            // where a new secret is kept: keyring or file
	Why      string   `json:"why,omitempty"`
	Roots    []string `json:"roots"` // of clients that give none
	State    string   `json:"state"` // folders that the hub writes to; "" if it does not
	Audit    string   `json:"audit"`
	Logs     string   `json:"logs"`
	Cache    string   `json:"cache"`
}

// Count returns how many findings are as severe as that.
func (r *Report) Count(severity config.Severity) (n int) {
	for i := range r.Findings {
		if r.Findings[i].Severity == severity.String() {
			n++
		}
	}
	return n
}

func (r *Report) addFinding(f Finding) { r.Findings = append(r.Findings, f) }

// addFinding adds a finding, and returns it for what else there is to say about it.
func (e *examination) addFinding(group, severity, text, cure string) *Finding {
	e.report.addFinding(Finding{Group: group, Severity: severity, Text: text, Cure: cure})
	return &e.report.Findings[len(e.report.Findings)-1]
}

// runChmod makes a command of a cure that is a call of chmod, and takes words for the cure instead.
func (f *Finding) runChmod(words string) {
	if strings.HasPrefix(f.Cure, "chmod ") {
		f.Command, f.Cure = f.Cure, words
	}
}

// sortFindings puts the findings in order, the worst of each group first.
func (r *Report) sortFindings() {
	rank := map[string]int{config.SeverityError.String(): 0, config.SeverityWarning.String(): 1, config.SeverityNote.String(): 2}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(Groups, a.Group), slices.Index(Groups, b.Group)), cmp.Compare(rank[a.Severity], rank[b.Severity]))
	})
	r.OK = r.Count(config.SeverityError) == 0
}

// The severities as they are written.
var (
	sevError   = config.SeverityError.String()
	sevWarning = config.SeverityWarning.String()
	sevNote    = config.SeverityNote.String()
)
