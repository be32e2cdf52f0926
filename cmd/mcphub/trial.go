package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/doctor"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/progress"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/cmd/mcphub/internal/trial"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/printable"
	"mcphub/internal/reference"
)

// This file tries servers for init, import and add, before hub.json is written, and
// says for each what it will be able to open.

// tryTime is what one start of one server may take beyond the time limit of its entry. In that
// time a launcher downloads its package.
const tryTime = 2 * time.Minute

// tryAllTime is what all trials may take if nothing else is said.
const tryAllTime = 10 * time.Minute

// What a trial came to.
const (
	tryWorks   = "works"
	tryFails   = "fails"   // it does not start, or not under the kernel
	tryLess    = "less"    // it offers less than it does without the kernel
	tryUntried = "untried" // it was not started
)

// tryReport is what became of one server; a member of what init, import and add print as
// JSON.
type tryReport struct {
	State     string        `json:"state"`
	Tools     int           `json:"tools"`
	Prompts   int           `json:"prompts"`
	Resources int           `json:"resources"`
	Why       string        `json:"why,omitempty"`        // it does not work, or was not tried
	Missing   []string      `json:"missing,omitempty"`    // what it offers without the kernel alone
	Left      []string      `json:"notOffered,omitempty"` // what it defines and clients do not get, and why
	Mended    []string      `json:"mended,omitempty"`     // what clients get in another form than it gave
	Said      []string      `json:"said,omitempty"`       // the last words of the server
	Cure      string        `json:"cure,omitempty"`
	Commands  []string      `json:"commands,omitempty"` // that mend it
	Kernel    string        `json:"kernel,omitempty"`   // held, partial or none; absent: nothing is to hold it
	Opens     string        `json:"opens"`              // in words
	Names     []namedReport `json:"names,omitempty"`    // paths that its entry names
	Recorded  []string      `json:"recorded,omitempty"` // what was seen in use and is open to it beside that; in words
	Closed    []string      `json:"closed,omitempty"`   // what was seen in use and stays closed
	Record    string        `json:"record,omitempty"`   // the command that asks about what stays closed
	Keys      []string      `json:"keys,omitempty"`     // commands that open single keys which a call used
	Failed    []string      `json:"failed,omitempty"`   // calls that failed, and why

	owner   string           // by which profile is kept
	profile sandbox.Recorded // what was confirmed

	also []string // what a person should know of one that works, in few words
}

// namedReport is a path that an entry names.
type namedReport struct {
	Key    string `json:"key"`
	Path   string `json:"path"`
	Access string `json:"access"`
	Why    string `json:"why,omitempty"` // it is not open to read and write
}

// tryFunc is the type of [trial.Try].
type tryFunc func(context.Context, hub.Config, string, trial.Options) (trial.Result, error)

// A trier tries servers of a hub.json that is not written yet.
type trier struct {
	config   string // --config; "": none was named
	path     string // of hub.json
	text     []byte // that it is to have
	env      clients.Env
	secret   func(name string) (string, bool) // values that have yet to be kept
	roots    []string                         // in scope meanwhile; none: the project, or an empty folder
	confined bool                             // nothing starts that the kernel does not hold
	limit    time.Duration                    // for all servers together
	again    []string                         // the command that tries them again and takes --timeout; nil: there is none
	brief    bool                             // one line for a server that works
	say      io.Writer
	try      tryFunc
	confirm  confirmFunc  // asks a person about what a server uses; nil: no person can be asked
	calls    []trial.Call // are made at each start

	declined map[string]bool        // servers about which a person has said no
	look     func() []progress.Step // what the server is at
	found    setup.CheckResult
	doctor   doctor.Options
	o        trial.Options
}

// tryServers tries servers by name, one after the other, and says meanwhile what became of each.
func (t *trier) tryServers(ctx context.Context, names []string) (map[string]*tryReport, error) {
	out := map[string]*tryReport{}
	if len(names) == 0 {
		return out, nil
	}
	if _, err := setup.Edit(consentStore(), t.path); err != nil { // it could not be written either
		return nil, exit.ConfigErrorf("%w", err)
	}
	src := &setup.Source{Version: buildVersion(), Config: t.path, Bytes: t.text}
	var err error
	if t.found, err = src.Check(io.Discard); err != nil {
		return nil, err
	}
	defer t.found.WaitForLogins()
	t.doctor = doctor.Options{Source: &setup.Source{Config: t.config}, Clients: t.env, Log: zerolog.Nop()}
	t.o = trial.Options{Name: "mcphub-try", Log: zerolog.Nop(), Confined: t.confined, Confirm: t.chooseOpened, Calls: t.calls}
	done, err := t.chooseScope()
	if err != nil {
		return nil, err
	}
	defer done()
	t.resolveSecrets()
	all, stop := context.WithTimeout(ctx, t.limit)
	defer stop()
	marks := layout.CanRedraw(t.say) // elsewhere the beginning of the line shows what is waited for
	for i, name := range names {
		head := fmt.Sprintf("%d of %d %s", i+1, len(names), name)
		if !marks {
			layout.Printf(t.say, "  %d of %d  %s: ", i+1, len(names), name)
		}
		t.watchServer(head)
		r := t.tryOne(all, t.hubName(name))
		running.End()
		if ctx.Err() != nil {
			if !marks {
				layout.Println(t.say)
			}
			return nil, ctx.Err()
		}
		out[name] = r
		if marks {
			layout.Line(t.say, "  "+r.outcomeMark()+" ", head+": "+r.outcomeText(t.brief))
		} else {
			layout.Println(t.say, r.outcomeText(t.brief))
		}
		r.showDetails(t.say, t.brief)
	}
	return out, nil
}

// watchServer shows on a terminal what the server is at that is tried next, until running.End.
func (t *trier) watchServer(head string) {
	var starts atomic.Int32
	var look atomic.Pointer[func() status.Hub] // nil: the server does not run yet, or no more
	t.o.Watch = func(of func() status.Hub) func() {
		starts.Add(1)
		look.Store(&of)
		return func() { look.Store(nil) }
	}
	t.look = func() []progress.Step {
		phase := "starts"
		if of := look.Load(); of != nil {
			phase = "asks what it offers"
			for _, c := range (*of)().Children {
				phase = cmp.Or(phaseOf(c.State, c.Error, c.Stderr, c.PID), phase)
			}
		} else if starts.Load() > 0 {
			phase = "ends"
		}
		return []progress.Step{{Name: head, Phase: layout.When(starts.Load() > 1, "without the kernel: ") + phase}}
	}
	running.Watch(t.look)
}

// hubName returns the name in the hub of a server that is written as name.
func (t *trier) hubName(name string) string {
	if t.found.File != nil {
		if s := t.found.File.Named(name); s != nil {
			return s.Name
		}
	}
	return name
}

// chooseScope chooses the directories in scope: what was given, what hub.json has, the project
// in which this runs, or an empty folder that is gone afterwards.
func (t *trier) chooseScope() (done func(), err error) {
	done = func() {}
	if t.o.Roots = t.roots; len(t.roots) > 0 || t.found.Whole && !t.found.Hub.Fallback.IsEmpty() {
		return done, nil
	}
	project, bad := projectFolder(t.env.Home)
	if bad == "" {
		t.o.Roots = []string{project}
		return done, nil
	}
	empty, err := os.MkdirTemp("", "mcphub-try-")
	if err != nil {
		return done, err
	}
	t.o.Roots = []string{empty}
	return func() { _ = os.RemoveAll(empty) }, nil
}

// resolveSecrets has references resolved to what has yet to be kept.
func (t *trier) resolveSecrets() {
	kept := t.found.Hub.Secret
	t.found.Hub.Secret = func(ctx context.Context, r reference.Ref, leads func(string) error) (string, error) {
		if (r.Kind == reference.Keyring || r.Kind == reference.Input) && t.secret != nil {
			if value, ok := t.secret(r.Name); ok {
				return value, nil
			}
		}
		return kept(ctx, r, leads)
	}
}

func (t *trier) tryOne(ctx context.Context, name string) *tryReport {
	if ctx.Err() != nil {
		return t.reportUntried(name, fmt.Sprintf("the %s for all trials are over", t.limit))
	}
	if lacks := doctor.Lacks(t.doctor, t.found, name); !t.found.Whole || t.found.Bad[name] {
		r := &tryReport{State: tryFails, Why: "hub.json cannot be read", Opens: opensUnknown}
		for i, f := range lacks {
			if i == 0 {
				r.Why, r.Cure = f.Text, f.Cure
			}
			r.addCommand(f.Command)
		}
		return r
	}
	t.o.Timeout = tryTime
	if at := slices.IndexFunc(t.found.Hub.Children, func(c hub.Child) bool { return c.Spec.Name == name }); at >= 0 {
		t.o.Timeout += t.found.Hub.Children[at].Spec.WithDefaults().StartTimeout
	}
	t.doctor.Timeout, t.doctor.More = t.o.Timeout, printable.BuildCommand("warm", nil, name)
	did, err := t.try(ctx, t.found.Hub, name, t.o)
	switch {
	case ctx.Err() != nil:
		return t.reportUntried(name, fmt.Sprintf("the %s for all trials were over before it was ready", t.limit))
	case err != nil:
		r := &tryReport{State: tryFails, Why: printable.Clean(err.Error()), Opens: opensUnknown, Cure: "give it more time if it is slow, and try it again"}
		r.addCommand(t.doctor.Source.CommandLine(t.doctor.More...))
		return r
	case did.Skipped != "":
		return &tryReport{State: tryUntried, Why: did.Skipped, Opens: opensAll + "; " + did.Skipped}
	}
	return t.reportTrial(ctx, name, &did)
}

// reportUntried reports a server for which no time was left, and the command that gives more time.
func (t *trier) reportUntried(name, why string) *tryReport {
	r := &tryReport{State: tryUntried, Why: why, Opens: opensUnknown, Cure: "try it again with more time"}
	again := printable.BuildCommand("warm", nil, name)
	if t.again != nil {
		again = append(slices.Clone(t.again), "--timeout", (2 * t.limit).String())
	}
	r.addCommand(t.doctor.Source.CommandLine(again...))
	return r
}

// reportTrial returns what a trial came to.
func (t *trier) reportTrial(ctx context.Context, name string, did *trial.Result) *tryReport {
	st := &did.Run.Status
	r := &tryReport{State: tryWorks, Tools: len(did.Run.Tools), Prompts: len(did.Run.Prompts), Resources: len(did.Run.Resources), Kernel: st.Kernel}
	showOmissions(st.NotOffered, allOmissions, func(text string) { r.Left = append(r.Left, text) })
	showOmissions(st.Mended, allOmissions, func(text string) { r.Mended = append(r.Mended, text) })
	var beyond []string
	r.Opens, r.Names, beyond = t.describeOpens(&did.Run)
	t.tellRecorded(r, name, did)
	for _, of := range []struct {
		n    int
		what string
	}{{len(st.NotOffered), "left out"}, {len(st.Mended), "mended"}} {
		if of.n > 0 {
			r.also = append(r.also, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	if len(beyond) > 0 {
		r.also = append(r.also, "opens also "+joinFirst(beyond))
	}
	if did.Works {
		return r
	}
	if did.Run.Ready() {
		r.State, r.Missing = tryLess, did.Missing
		r.Why = "the kernel holds it, and so it does not offer " + strings.Join(did.Missing, ", ")
	} else {
		f := doctor.Failure(ctx, t.doctor, t.found, &did.Run)
		r.State, r.Why, r.Said, r.Cure = tryFails, f.Text, f.Details, f.Cure
		if strings.HasPrefix(f.Command, "mcphub disable ") { // it is not served
			f.Command = ""
			r.Cure, _, _ = strings.Cut(f.Cure, ";")
		}
		r.addCommand(f.Command)
	}
	if did.Kernel() || len(did.Refused) > 0 {
		r.Why, _, _ = strings.Cut(r.Why, "; the kernel holds it")
		switch {
		case did.Run.Ready():
		case did.Kernel():
			r.Why = "the kernel holds it, and so it does not start: " + r.Why
		default:
			r.Why = "it does not start, and the kernel has refused it something: " + r.Why
		}
		r.Cure, r.Commands = "", nil
		t.addMend(r, name, did)
	}
	return r
}

// addMend adds what opens to a server what the kernel has refused it.
func (t *trier) addMend(r *tryReport, name string, did *trial.Result) {
	command := t.doctor.Source.CommandLine
	r.addCommand(r.Record)
	r.Cure = layout.When(r.Record != "", "let it ask you what of that it is to have")
	for _, refused := range did.Refused[min(len(did.Closed.Shown), len(did.Refused)):] { // the first are what it asks about
		m := hints.RemedyFor(name, refused, nil)
		if m.Run == nil {
			r.Cure += layout.WithPrefix("; ", r.Cure) + printable.Line(refused.Text()) + " is closed to it, and no command opens it: " + m.Text
			continue
		}
		r.Cure = cmp.Or(r.Cure, "open what it was refused, if it is to have that")
		r.addCommand(command(m.Run...))
	}
	for _, n := range r.Names {
		if n.Why != "" {
			r.Cure += layout.When(r.Cure != "", "; ") + n.Key + " of its entry: " + n.Path + " is not open to it as it may need: " + n.Why
		}
	}
	if len(r.Commands) == 0 {
		r.Cure = cmp.Or(r.Cure, "it has not said what it was refused; once it is in hub.json, find out what it opens")
		r.addCommand(command(hints.Learn(name, ".")...))
	}
}

func (r *tryReport) addCommand(command string) {
	if command != "" && !slices.Contains(r.Commands, command) {
		r.Commands = append(r.Commands, command)
	}
}

const (
	opensUnknown = "what its client has open and what its entry names; more is not known, since it was not started"
	opensAll     = "everything that you can open"
)

// describeOpens returns what a server will be able to open, beside what every program needs. beyond lists
// the paths that lie outside the directories in scope and outside the server's program.
func (t *trier) describeOpens(run *trial.Attempt) (text string, names []namedReport, beyond []string) {
	st := &run.Status
	var named []string
	for _, n := range st.Sandbox.Named {
		names = append(names, namedReport{n.Key, n.Path, n.Access.String(), n.Why})
		named = append(named, n.Path)
		if n.Path == st.Command || slices.ContainsFunc(slices.Concat(t.o.Roots, st.RootsServed), func(root string) bool { return sandbox.Contains(root, n.Path) }) {
			continue
		}
		beyond = append(beyond, n.Path+" ("+n.Access.String()+layout.WithPrefix("; ", n.Why)+")")
	}
	all := func(why string) (string, []namedReport, []string) {
		text := opensAll + layout.WithPrefix("; the kernel does not hold it: ", why)
		return text, names, append(beyond, text)
	}
	switch {
	case run.Spec.URL != "":
		return "nothing on this machine: it runs elsewhere", names, nil
	case st.Opens == nil && (len(st.Lacks) > 0 || run.Spec.Sandbox.Cannot != ""):
		return all(cmp.Or(strings.Join(st.Lacks, "; "), run.Spec.Sandbox.Cannot))
	case st.Opens == nil && run.Spec.Sandbox.Confines():
		return opensUnknown, names, beyond
	case st.Opens == nil || st.Opens.All:
		return all("")
	}
	text = "what its client has open"
	for _, list := range []struct {
		word  string
		paths []string
	}{{"to read and write", st.Opens.Write}, {"to read", st.Opens.Read}} {
		paths := slices.DeleteFunc(slices.Clone(list.paths), func(path string) bool {
			return slices.Contains(t.o.Roots, path) || slices.Contains(st.RootsServed, path) || slices.Contains(named, path) || t.itsOwn(path)
		})
		if len(paths) > 0 {
			text += "; " + list.word + " " + strings.Join(paths, " ")
		}
		for _, path := range paths {
			if !sandbox.Contains("/dev", path) && (list.word != "to read" || !t.ofProgram(st, path)) {
				beyond = append(beyond, path+" ("+list.word+")")
			}
		}
	}
	if st.Opens.Sockets == "on" {
		beyond = append(beyond, "unix sockets")
	}
	return text + "; what every program needs (docs/sandbox.md); network " + st.Opens.Network + ", unix sockets " + st.Opens.Sockets, names, beyond
}

// ofProgram reports a folder that holds the program of a server, or packages that the hub has
// installed.
func (t *trier) ofProgram(st *status.Child, path string) bool {
	holds := func(word string) bool { return filepath.IsAbs(word) && sandbox.Contains(path, word) }
	return holds(st.Command) || slices.ContainsFunc(st.Args, holds) || sandbox.Contains(filepath.Dir(t.found.Hub.Cache), path)
}

// itsOwn reports a folder that the hub makes for one server alone: its cache, and the one
// for temporary files, which is gone by now; and one of programs, by PATH.
func (t *trier) itsOwn(path string) bool {
	_, err := os.Stat(path)
	return err != nil || slices.Contains(filepath.SplitList(os.Getenv("PATH")), path) || sandbox.Contains(filepath.Join(filepath.Dir(t.found.Hub.Cache), "children"), path)
}

// outcomeMark stands before the name of the server on a terminal.
func (r *tryReport) outcomeMark() string {
	switch r.State {
	case tryWorks:
		return "✓"
	case tryUntried:
		return "-"
	}
	return "✗"
}

// showTrial prints the report of a server for a person.
func (r *tryReport) showTrial(w io.Writer, name string, brief bool) {
	layout.Line(w, "  ", name+": "+r.outcomeText(brief))
	r.showDetails(w, brief)
}

// outcomeText returns the text behind the name of the server. If brief, a person reads nothing else of a server that works.
func (r *tryReport) outcomeText(brief bool) string {
	offers := pluralOf(r.Tools, "tool")
	if r.Prompts > 0 {
		offers += ", " + pluralOf(r.Prompts, "prompt")
	}
	if r.Resources > 0 {
		offers += ", " + pluralOf(r.Resources, "resource")
	}
	if brief {
		offers += layout.WithPrefix("; ", strings.Join(r.also, "; "))
	}
	switch r.State {
	case tryWorks:
		return "works, with " + offers
	case tryUntried:
		return "not tried: " + r.Why
	}
	return "does not work: " + r.Why
}

// showDetails prints what helps below the outcome. If not brief, it also prints what the server offers in another form and what
// it opens.
func (r *tryReport) showDetails(w io.Writer, brief bool) {
	line := func(before, text string) { layout.Line(w, "       "+before, text) }
	if !brief {
		for _, left := range r.Left {
			line("left out: ", left)
		}
		for _, mended := range r.Mended {
			line("mended: ", mended)
		}
	}
	for _, said := range r.Said {
		line("| ", said)
	}
	if r.Cure != "" {
		line("cure:   ", r.Cure)
	}
	for _, c := range r.Commands { // whole, to be copied
		layout.Printf(w, "       run:    %s\n", c)
	}
	r.showRecorded(w)
	if brief {
		return
	}
	line("opens:  ", r.Opens)
	for _, n := range r.Names {
		line("names:  ", fmt.Sprintf("%s (%s): %s%s", n.Path, n.Key, n.Access, layout.WithPrefix("; ", n.Why)))
	}
}

// tryMerged tries the servers that clients run already, of the ones that are imported or
// are there. confined: only the ones that are imported, and only under the kernel.
func (w *clientWork) tryMerged(m *mergeResult, roots []string, confined bool) error {
	t := trier{config: w.config, path: m.path, text: m.after, env: w.env, secret: m.findSecret, roots: roots, confined: confined, limit: cmp.Or(w.limit, tryAllTime), again: w.again, brief: w.brief, say: w.say, try: w.try, confirm: w.confirmFunc()}
	var names []string
	for i := range m.imports {
		im := &m.imports[i]
		if im.Server.Disabled || im.Err != "" || slices.Contains(names, im.Name) || confined && im.Same != "" {
			continue
		}
		names = append(names, im.Name)
		if im.DisabledInHub {
			var err error
			if t.text, err = clients.DisableInHub(m.path, t.text, im.Name, false); err != nil {
				return err
			}
		}
	}
	var err error
	if m.tried, err = t.tryServers(w.ctx, names); err != nil {
		return err
	}
	for i := range m.imports { // the ledger has them all
		if im := &m.imports[i]; im.Same == "" && m.tried[im.Name] == nil {
			m.tried[im.Name] = &tryReport{State: tryUntried, Why: cmp.Or(im.Err, "it is off in its client"), Opens: opensUnknown}
			m.tried[im.Name].showTrial(w.say, im.Name, w.brief)
		}
	}
	return nil
}

// findSecret returns one that was plain text in an entry and has yet to be kept.
func (m *mergeResult) findSecret(name string) (string, bool) {
	for i := range m.imports {
		if value, ok := m.imports[i].Secret(name); ok {
			return value, true
		}
	}
	value, ok := m.answers[name]
	return value, ok
}

// stayReason returns why a server stays on in its client; "": the hub serves it.
func (m *mergeResult) stayReason(im *clients.Import) string {
	switch r := m.tried[im.Name]; {
	case im.Err != "":
		return im.Err
	case r == nil:
		return "it was not tried"
	case r.State != tryWorks && len(r.Said) > 0:
		return r.Why + "; it wrote: " + r.Said[len(r.Said)-1]
	case r.State != tryWorks:
		return r.Why
	}
	return ""
}

// setDisabled serves in the new hub.json what works and is switched off in its client, and
// nothing that stays on there: it would run twice.
func (m *mergeResult) setDisabled(off func(*clients.Import) bool) (err error) {
	for i := range m.imports {
		im := &m.imports[i]
		if im.Server.Disabled || im.Same != "" && !im.DisabledInHub {
			continue
		}
		works := m.stayReason(im) == ""
		if im.DisabledInHub = !works; im.Same != "" && !(works && off(im)) {
			continue
		}
		if m.after, err = clients.DisableInHub(m.path, m.after, im.Name, !works); err != nil {
			return err
		}
	}
	return nil
}

// warningText returns why a server does not work, in one line.
func (r *tryReport) warningText() string {
	text := "it does not work: " + r.Why
	if len(r.Said) > 0 {
		text += "; it wrote: " + strings.Join(r.Said, " | ")
	}
	for _, line := range r.Closed {
		text += "; closed: it " + line
	}
	return text + layout.WithPrefix("; ", r.Cure) + layout.WithPrefix("; run: ", strings.Join(r.Commands, "; "))
}

// errUnfinished is for servers that stay on in their clients, after all has been said.
func errUnfinished(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s not served by the hub yet: %s; mend what is said of them, and run mcphub init again", pluralOf(len(names), "server"), strings.Join(names, ", "))
}
