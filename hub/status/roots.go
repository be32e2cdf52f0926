package status

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

// Root is a directory or file in scope.
type Root struct {
	URI       string `json:"uri"`
	Name      string `json:"name,omitempty"`
	Flag      string `json:"flag,omitempty"`
	File      bool   `json:"file,omitempty"` // a single file, and no directory
	Redundant bool   `json:"redundant,omitempty"`
}

// Skipped is a root that was left out.
type Skipped struct {
	Raw    string `json:"raw"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
	Map    string `json:"map,omitempty"` // what in hub.json would make a directory here of it, if that is the folder meant
}

// mapLine returns what in hub.json would make a root of an entry that gave none; "" if nothing would.
func mapLine(sk rootsmgr.Skipped) string {
	from, to, ok := sk.Unmapped(platform.Host())
	if !ok {
		return ""
	}
	line, err := json.Marshal(map[string]any{"map": map[string]string{from: to}})
	if err != nil {
		return ""
	}
	return printable.Escape(`"roots": `+string(line), 2*maxLine)
}

// maxLine bounds what is shown of the URI of a root.
const maxLine = 1024

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
	Served   []string `json:"served,omitempty"` // the roots that it is served if they are not the session's
	Confinement
}

// A Config is what is told about the configuration's source. JSON.
type Config struct {
	File      string     `json:"file,omitempty"` // "" where none was found
	LoadedAt  time.Time  `json:"loadedAt"`       // of what is in force
	LastError string     `json:"lastError,omitempty"`
	ErrorAt   *time.Time `json:"errorAt,omitempty"`
	Waiting   string     `json:"waiting,omitempty"`      // why a change is not read yet
	Restart   []string   `json:"afterRestart,omitempty"` // keys whose change takes effect after a restart
}

// RootsOf reports how the roots stand for a request. word is the state of the roots, era is of the
// protocol. What belongs to more than the request is filled in by the session.
func RootsOf(rootsView rootsmgr.RootsView, word string, client declaration.Claims, era string, conf *configuration.Configuration) Roots {
	snap := rootsView.Snapshot
	r := Roots{
		SupportsRoots: client.Roots, RootsListChanged: client.RootsChange,
		Roots: []Root{}, FilePaths: []string{}, Children: []ChildRoots{},
		State: word, Origin: snap.Origin().String(), Generation: snap.Generation(), Stale: rootsView.Stale,
		Era: era, Protocol: client.Protocol, Client: client.String(),
		OutsideAllowed: rootsView.Open, Meaning: rootsView.Meaning(),
		Policy: PolicyOf(conf.Checker), Resources: conf.Checker.Resources(rootsView), Audit: conf.Audit.Status(),
	}
	for _, root := range snap.Roots() {
		r.Roots = append(r.Roots, Root{URI: root.URI, Name: root.Name, Flag: root.Flag, File: root.File, Redundant: root.Redundant})
		r.FilePaths = append(r.FilePaths, root.Path)
	}
	r.RootsCount = len(r.Roots)
	for _, sk := range snap.Skipped() {
		r.Skipped = append(r.Skipped, Skipped{printable.Escape(sk.Raw, 200), printable.Escape(sk.Name, 100), sk.Reason, mapLine(sk)})
	}
	if rootsView.Err != nil {
		r.LastError = printable.Clean(rootsView.Err.Error())
	}
	return r
}

// HideOperator takes out what only the operator of the hub is told: in which folder hub.json lies, and rules that are
// about servers alone which are denied to the client.
func (r *Roots) HideOperator(served []string) {
	if c := r.Config; c != nil && c.File != "" {
		short := *c // the hub has the other
		short.File = filepath.Base(c.File)
		short.LastError = strings.ReplaceAll(c.LastError, c.File, short.File)
		short.Waiting = strings.ReplaceAll(c.Waiting, c.File, short.File)
		r.Config = &short
	}
	if r.Policy == nil {
		return
	}
	r.Policy.Rules = slices.DeleteFunc(r.Policy.Rules, func(rule Rule) bool {
		return len(rule.servers) > 0 && !slices.ContainsFunc(served, rule.isAbout)
	})
	for i := range r.Policy.Rules {
		if rule := &r.Policy.Rules[i]; rule.At != "" {
			rule.At = filepath.Base(rule.At)
		}
	}
}

// ChildRootsOf reports how a child stands to the roots of a session.
func ChildRootsOf(child *configuration.Child, st children.Status) ChildRoots {
	return ChildRoots{
		Server: child.Spec.Name, State: st.State.String(), Error: st.Err, Asked: st.AskedRoots, Cwd: st.Cwd,
		Share: child.Spec.Share.String(), Confinement: ConfinementOf(st.Sandbox),
	}
}
