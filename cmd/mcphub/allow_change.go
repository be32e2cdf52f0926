package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rs/zerolog"

	"mcphub/children/preflight"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/replay"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// What is done for a path beside an edit of sandbox.read and sandbox.write.
const (
	doneRule   = "policy.rules"
	doneFolder = "folder"
)

// allowWork is what allow and revoke have in common. Each step edits text, and reads it again.
type allowWork struct {
	entryWork
	write, calls, callsSaid, dryRun bool

	home    string
	path    string // of hub.json
	text    []byte
	current currentEntry
	revoked []string // paths that are taken out of what was recorded
}

// A currentEntry is hub.json as it reads now, and one of its servers.
type currentEntry struct {
	file    *config.File
	server  *config.Server
	spec    *spec.Spec
	checker *validate.Checker
	audit   string         // folder of the record; "" for none
	host    preflight.Host // by which it would be started
}

// A target is a path that a person has named.
type target struct {
	allowedPath
	given   string // absolute, with its links
	dir     bool   // a folder, or one that is to be made
	missing bool
	absent  bool     // revoke: it was not there
	taken   []string // keys that it was taken out of
}

// openConfig reads hub.json.
func (w *allowWork) openConfig(name string) error {
	path, text, file, err := hubConfig(w.config)
	if err != nil {
		return err
	}
	w.path, w.text = path, text
	if err := checkServerName(path, name, fileServerNames(file)); err != nil {
		return err
	}
	w.home, _ = os.UserHomeDir() // without one, no path is written from there
	w.current, err = w.parseEntry(name)
	return err
}

// parseEntry parses the text and builds the server of that name, also one that is disabled.
func (w *allowWork) parseEntry(name string) (currentEntry, error) {
	trail, err := hubfile.Follow(w.path)
	if err != nil {
		return currentEntry{}, err
	}
	file, _, err := config.LoadText(w.path, w.text, trail, os.LookupEnv, config.Environment(os.Environ())...)
	if err != nil {
		return currentEntry{}, exit.ConfigErrorf("%w; nothing was changed", err)
	}
	s := currentEntry{file: file, server: file.Named(name)}
	s.server.Disabled = false
	if s.server.Err != nil {
		return s, exit.ConfigErrorf("the entry of %s cannot be used: %s. Put that right first; nothing was changed", name, s.server.Err.String())
	}
	src := setup.Source{Version: buildVersion()}
	made, err := src.Build(file, io.Discard, zerolog.Nop())
	if s.checker, s.audit = made.Hub.Checker, made.Audit; s.checker == nil {
		return s, exit.ConfigErrorf("%w; nothing was changed", err)
	}
	for i := range made.Hub.Children {
		if made.Hub.Children[i].Spec.Name == s.server.Name {
			s.spec = &made.Hub.Children[i].Spec
		}
	}
	s.host = made.Hub.Host()
	return s, nil
}

// neverReason returns why the kernel would not open the path although the entry names it. It is empty if
// the path may be opened or the server is not confined. It plans a start to find out.
func (s *currentEntry) neverReason(path string) string {
	if s.spec == nil {
		return ""
	}
	if held := s.host.Confinement(*s.spec, nil); held != nil {
		return held.Never(path)
	}
	return ""
}

// takeEdit takes the text that a change has made.
func (w *allowWork) takeEdit(text []byte, err error) error {
	if err != nil {
		return exit.ConfigErrorf("%w; nothing was changed", err)
	}
	w.text = text
	w.current, err = w.parseEntry(w.current.server.Key)
	return err
}

// changedLines returns the lines by which two texts differ.
func changedLines(before, after []byte) []string {
	lines := []string{}
	for line := range strings.Lines(string(diff.Diff("", before, "", after))) {
		sign, text := line[:1], strings.TrimRight(line[1:], "\r\n")
		if strings.Contains("+-", sign) && line != "--- \n" && line != "+++ \n" {
			lines = append(lines, sign+" "+redact.Text(text))
		}
	}
	return lines
}

// readTarget reads a path that was typed. If it is to be allowed, it must be one that can be.
func (w *allowWork) readTarget(typed string, allow bool) (*target, error) {
	bad := func(format string, args ...any) (*target, error) {
		return nil, exit.Errorf(exit.Failure, "%s: %w; nothing was changed", printable.Escape(typed, 500), fmt.Errorf(format, args...))
	}
	path := typed
	switch below, home := strings.CutPrefix(path, "~/"); {
	case path == "":
		return nil, exit.UsageErrorf("a path is empty")
	case !utf8.ValidString(path):
		return bad("its name is no UTF-8, and hub.json can hold no other")
	case home || path == "~":
		if w.home == "" {
			return bad("the home folder is not known")
		}
		path = filepath.Join(w.home, strings.TrimPrefix(below, "~"))
	}
	given, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	t := &target{given: given, allowedPath: allowedPath{Path: given, Access: clients.MayRead}}
	if w.write {
		t.Access = clients.MayWrite
	}
	real, err := filepath.EvalSymlinks(given)
	folder, noFolder := filepath.EvalSymlinks(filepath.Dir(given))
	switch {
	case err == nil:
		t.Path = real
		fi, err := os.Lstat(real)
		if err != nil {
			return bad("%w", err)
		}
		t.dir = fi.IsDir()
	case !allow:
		if noFolder == nil {
			t.Path = filepath.Join(folder, filepath.Base(given))
		}
		return t, nil
	case !errors.Is(err, fs.ErrNotExist):
		return bad("%w", err)
	case noFolder != nil:
		return bad("its folder is missing too; make it first: %s", printable.CommandLine([]string{"mkdir", "-p", "--", given}))
	default:
		t.missing, t.dir, t.Path = true, true, filepath.Join(folder, filepath.Base(given))
		if fi, err := os.Lstat(given); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return bad("it is a link that leads to nothing")
		}
		if name := filepath.Base(given); !os.IsPathSeparator(typed[len(typed)-1]) && strings.LastIndexByte(name, '.') > 0 {
			if w.write && sandbox.CurrentKernel().Asks() && w.current.unheldReason() == "" { // the hub makes it for the server
				t.missing, t.dir = false, false
				break
			}
			advice := "give the server a folder of its own, and tell it to keep the file there"
			if w.reservedPlaces().Why(folder) == "" {
				advice = "give the server its folder: " + w.retryCommand(true, filepath.Dir(given))
			}
			return bad("there is no such file, and only what is there can be opened; %s. If %s is to be a folder, write a / behind it", advice, printable.Escape(name, 200))
		}
	}
	if !allow {
		return t, nil
	}
	if t.Path != given && w.writtenPath(t.Path) != w.writtenPath(given) {
		t.addNote("%s leads there; what is opened is where it leads now", given)
	}
	switch why := w.reservedPlaces().Why(t.Path); {
	case why == "" && w.write && sandbox.Loaded(t.Path):
		t.addNote("shells, git or editors load it, outside of the sandbox too: who writes it decides what they run")
	case why == "":
		if why := w.current.neverReason(t.Path); why != "" {
			t.addNote("%s; it is opened because you name it", why)
		}
	case !w.write && !t.dir && why == sandbox.WhySecret(t.Path) && sandbox.ClientFile(t.Path) == "":
		t.addNote("%s, and %s will read it", why, w.current.server.Name) // a person has named this one file
	case sandbox.KeyFolder(t.Path) != "":
		at := w.current.file.At("mcpServers", w.current.server.Name)
		quoted, _ := json.Marshal(w.writtenPath(t.Path)) // a text always can be
		return bad(`%s, so it is allowed to no server by a command. If %s needs it all the same, write "sandbox": {"read": [%s]} into its entry by hand (%s:%d)`,
			why, w.current.server.Name, quoted, at.File, at.Line)
	default:
		return bad("%s, so it is allowed to no server%s", why, w.current.denyingRule(t.Path))
	}
	if t.missing {
		if err := w.ownFolder(given); err != nil {
			return bad("%w", err)
		}
	}
	return t, nil
}

// reservedPlaces returns what no server is given.
func (w *allowWork) reservedPlaces() sandbox.Reserved {
	return sandbox.Reserved{Home: w.home, Withheld: w.current.checker.ClosedPaths(w.current.server.Name)}
}

// denyingRule names the rule that withholds a path; "" if none does.
func (s *currentEntry) denyingRule(path string) string {
	info, _ := s.checker.Policy()
	for i := range info.Rules {
		r := &info.Rules[i]
		if r.Then == policy.Deny && r.Dir != "" && (sandbox.Contains(r.Dir, path) || sandbox.Contains(path, r.Dir)) {
			return fmt.Sprintf(" (the rule %s denies it, %s)", r.Name, r.At)
		}
	}
	return ""
}

func (t *target) addNote(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

func (w *allowWork) writtenPath(path string) string { return encodeHubPath(w.home, path) }

// ownFolder returns an error unless the missing path may be created: its folder must belong to the
// user, no one else may write there, and no link may lead there.
func (w *allowWork) ownFolder(path string) error {
	folder := filepath.Dir(path)
	why := w.current.checker.CheckOwnFolder(folder)
	real, err := filepath.EvalSymlinks(folder)
	switch below := tildePath(w.home, folder); {
	case why != nil:
	case err != nil || tildePath(w.home, real) != below:
		why = errors.New("a link leads there")
	case below == folder && folder != w.home && w.reservedPlaces().Why(folder) != "":
		why = errors.New(w.reservedPlaces().Why(folder))
	}
	if why != nil {
		return fmt.Errorf("it is missing, and is not made in %s: %w. Make it first: %s", folder, why, printable.CommandLine([]string{"mkdir", "-m", "700", "--", path}))
	}
	return nil
}

// makeFolder makes it in the very folder that was looked at.
func (w *allowWork) makeFolder(path string) error {
	folder := filepath.Dir(path)
	in, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer in.Close()
	opened, err := in.Stat(".")
	if err != nil {
		return err
	}
	if now, err := os.Lstat(folder); err != nil || !os.SameFile(opened, now) {
		return fmt.Errorf("%s has changed meanwhile; nothing was changed", folder)
	}
	if err := w.ownFolder(path); err != nil {
		return exit.Errorf(exit.Failure, "%w; nothing was changed", err)
	}
	return in.Mkdir(filepath.Base(path), 0o700)
}

// allowTarget makes the change for one path.
func (w *allowWork) allowTarget(t *target) error {
	if err := w.allowKernel(t); err != nil {
		return err
	}
	if err := w.allowCalls(t); err != nil {
		return err
	}
	if t.missing && len(t.Done) > 0 {
		t.Done = append([]string{doneFolder}, t.Done...)
	}
	return nil
}

// unheldReason returns why the kernel holds no process of the server; "" if it does.
func (s *currentEntry) unheldReason() string {
	switch {
	case s.server.URL != "":
		return "it runs elsewhere"
	case s.server.Builtin != "" && s.server.Sandbox.Default:
		return "it opens nothing but what calls may name"
	case s.server.Sandbox.Mode == keys.SandboxOff:
		return `its sandbox is "off"`
	}
	return s.spec.Program().Unheld(sandbox.CurrentKernel())
}

// findOpened returns the index of the first path in sandbox.read or sandbox.write that matches, and its
// text in hub.json. The index is -1 if no path matches.
func (s *currentEntry) findOpened(key string, is func(open string) bool) (number int, written string) {
	list, all := s.spec.Sandbox.Read, s.server.Sandbox.Read
	if key == clients.MayWrite {
		list, all = s.spec.Sandbox.Write, s.server.Sandbox.Write
	}
	for i, path := range list {
		if real, err := filepath.EvalSymlinks(path); is(path) || err == nil && is(real) {
			return i, all[i]
		}
	}
	return -1, ""
}

// coveringSandboxLine describes the entry of the sandbox that opens the path or a folder above it. It is
// empty if there is none.
func (s *currentEntry) coveringSandboxLine(t *target, keys ...string) (words string) {
	for _, key := range keys {
		if i, path := s.findOpened(key, func(open string) bool { return sandbox.Contains(open, t.Path) }); i >= 0 {
			return fmt.Sprintf("%s it: sandbox.%s has %s", key, key, path)
		}
	}
	return ""
}

func (t *target) isOpen(open string) bool { return open == t.Path || open == t.given }

// allowKernel adds the path to the sandbox of the server, if the kernel holds that.
func (w *allowWork) allowKernel(t *target) error {
	name := w.current.server.Name
	if why := w.current.unheldReason(); why != "" {
		t.addNote("the kernel does not hold %s: %s. So its sandbox is left as it is", name, why)
		return nil
	}
	keys := []string{clients.MayWrite, clients.MayRead}
	if w.write {
		keys = keys[:1]
	}
	if words := w.current.coveringSandboxLine(t, keys...); words != "" {
		t.addNote("%s may already %s", name, words)
		return nil
	}
	if w.write { // what may be written may be read
		if err := w.takeOut(t, clients.MayRead); err != nil {
			return err
		}
	}
	if err := w.takeEdit(clients.AllowInHub(w.path, w.text, name, t.Access, w.writtenPath(t.Path))); err != nil {
		return err
	}
	if i, _ := w.current.findOpened(t.Access, t.isOpen); i < 0 {
		return exit.ConfigErrorf("%s: the sandbox of %s is written in a way in which it cannot be changed alone; change it by hand; nothing was changed", w.path, name)
	}
	t.Done = append(t.Done, "sandbox."+t.Access)
	return nil
}

// takeOut takes the path out of sandbox.read or sandbox.write.
func (w *allowWork) takeOut(t *target, key string) error {
	for {
		i, _ := w.current.findOpened(key, t.isOpen)
		if i < 0 {
			return nil
		}
		if err := w.takeEdit(clients.RevokeInHub(w.path, w.text, w.current.server.Name, key, i)); err != nil {
			return err
		}
		t.taken = append(t.taken, "sandbox."+key)
	}
}

// recent is how far back refused calls count.
const recent = 7 * 24 * time.Hour

// allowCalls adds a rule by which calls of the server may name the path, if that was
// asked for, or was refused to one.
func (w *allowWork) allowCalls(t *target) error {
	if w.callsSaid && !w.calls {
		return nil
	}
	name := w.current.server.Name
	last := w.lastRefusal(t)
	switch {
	case w.calls:
	case last == nil:
		t.addNote("calls that name it are judged as before: by the roots, and by the rules. --calls lets them through")
		return nil
	case !t.dir:
		t.addNote("%s, and is still refused: a rule opens a folder, not a file. If calls of %s may name all that lies in %s: %s", last.describeRefusal(), name, filepath.Dir(t.Path),
			w.retryCommand(w.write, t.given, "--calls"))
		return nil
	case last.role != access.Read && !w.write:
		t.addNote("%s, and is still refused: it wants to %s there. To let it: %s", last.describeRefusal(), last.role, w.retryCommand(true, t.given))
		return nil
	}
	return w.addRule(t, last)
}

// retryCommand returns this command line for another path.
func (w *allowWork) retryCommand(write bool, path string, more ...string) string {
	var flags []string
	if w.config != "" {
		flags = append(flags, "--config", w.path)
	}
	if write {
		flags = append(flags, "--write")
	}
	return printable.CommandLine(printable.BuildCommand("mcphub allow", append(flags, more...), w.current.server.Name, path))
}

func (w *allowWork) addRule(t *target, last *refusal) error {
	name, dir := w.current.server.Name, t.ruleDir()
	if why := w.reservedPlaces().Why(dir); why != "" {
		t.addNote("no rule is added: it would let calls name all that lies in %s, and %s", dir, why)
		return nil
	}
	roles := []any{"read"}
	if w.write {
		roles = append(roles, "write", "delete")
	}
	info, _ := w.current.checker.Policy()
	at, rules := len(w.current.file.Policy.Rules), w.current.file.Policy.Rules
	allowed := true
	for _, role := range roles {
		v := replay.Judge(&info, &trail.Decision{Event: trail.Event{Record: audit.Record{Principal: principal.Local, DecisionFields: audit.DecisionFields{Child: name, Decision: "deny", Findings: []audit.Finding{{At: "/path", Role: role.(string), Path: filepath.Join(dir, "x")}}}}}})
		by := slices.IndexFunc(rules, func(r config.Rule) bool { return r.Name == v.By })
		switch {
		case v.Decision == policy.Allow:
			continue
		case by >= 0 && v.Decision == policy.Deny:
			t.addNote("no rule is added: the rule %s (%s) denies that, and is asked first", v.By, info.Rules[by].At)
			return nil
		case by >= 0: // it asks a person, who has answered now
			at = min(at, by)
		}
		allowed = false
	}
	if allowed {
		t.addNote("calls may name what lies in %s already", dir)
		return nil
	}
	rule := edit.Table{{Name: "name", Value: w.ruleName(t)}, {Name: "then", Value: keys.ThenAllow}, {Name: "if", Value: edit.Table{
		{Name: "servers", Value: []any{name}}, {Name: "paths", Value: edit.Table{{Name: "roles", Value: roles}, {Name: "within", Value: w.writtenPath(dir)}}},
	}}}
	if made := w.madeRule(t); made >= 0 { // it has fewer roles
		rule[0].Value = rules[made].Name
		if err := w.takeEdit(clients.RemoveRuleFromHub(w.path, w.text, made)); err != nil {
			return err
		}
		at = min(at, made)
	}
	if err := w.takeEdit(clients.AddRuleToHub(w.path, w.text, at, rule)); err != nil {
		return err
	}
	t.Done, t.Rule = append(t.Done, doneRule), rule[0].Value.(string)
	why := "because of --calls"
	if last != nil {
		why = "because " + last.describeRefusal()
	}
	what := "read"
	if w.write {
		what = "read, write and delete"
	}
	t.addNote("the rule %s lets calls of %s %s all that lies in %s, %s", t.Rule, name, what, dir, why)
	return nil
}

// ruleDir returns the folder that a rule about the path is about.
func (t *target) ruleDir() string {
	if t.dir {
		return t.Path
	}
	return filepath.Dir(t.Path)
}

var noName = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// ruleStem returns how the name of a rule begins that allow makes for the path.
func (w *allowWork) ruleStem(t *target) string {
	return "allow-" + w.current.server.Name + "-" + strings.Trim(noName.ReplaceAllString(filepath.Base(t.Path), "-"), "-")
}

func (w *allowWork) ruleName(t *target) string {
	name := w.ruleStem(t)
	for n := 2; slices.ContainsFunc(w.current.file.Policy.Rules, func(r config.Rule) bool { return r.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", w.ruleStem(t), n)
	}
	return name
}

// madeRule returns the number of the rule that allow has made for the path; -1 if there is none.
func (w *allowWork) madeRule(t *target) int {
	info, _ := w.current.checker.Policy()
	named := regexp.MustCompile("^" + regexp.QuoteMeta(w.ruleStem(t)) + "(-[0-9]+)?$")
	return slices.IndexFunc(info.Rules, func(r policy.RuleInfo) bool {
		return named.MatchString(r.Name) && r.Then == policy.Allow && slices.Equal(r.Servers, []string{w.current.server.Name}) && r.Tools == nil &&
			r.Paths != nil && !r.Paths.Outside && (r.Dir == t.Path || r.Dir == filepath.Dir(t.Path) && !t.dir)
	})
}

// A refusal is a call of the server that mcphub's own check has refused for a path.
type refusal struct {
	trail.Event
	path string
	role access.Role
}

func (r *refusal) describeRefusal() string {
	return fmt.Sprintf("a call of %s that names %s was refused on %s", r.Tool, r.path, r.Time.Local().Format("2006-01-02 15:04"))
}

// lastRefusal returns the last call of the server that was refused for the path or one in it, by the
// boundary and by no rule. Of several one that only reads counts first, if that is allowed.
func (w *allowWork) lastRefusal(t *target) (last *refusal) {
	if w.current.audit == "" {
		return nil
	}
	all, err := trail.Decisions(w.current.audit, trail.Filter{Child: w.current.server.Name, Denied: true, Since: time.Now().Add(-recent)})
	if err != nil {
		return nil // there is no record yet, or none that can be read; --calls says it
	}
	for i := range all {
		e := &all[i].Event
		if e.Kind != audit.KindDecision || e.Rule != validate.RuleBoundary && e.Rule != validate.RuleNoBoundary {
			continue
		}
		for _, f := range e.Findings {
			role, err := access.Parse(f.Role)
			if err != nil || f.Inside || !sandbox.Contains(t.Path, f.Path) {
				continue
			}
			if last == nil || w.write || role == access.Read || last.role != access.Read {
				last = &refusal{*e, f.Path, role}
			}
		}
	}
	return last
}

// revokeTarget takes back what was allowed for one path.
func (w *allowWork) revokeTarget(t *target) error {
	for _, key := range []string{clients.MayWrite, clients.MayRead} {
		if err := w.takeOut(t, key); err != nil {
			return err
		}
	}
	t.Done = append(slices.Compact(t.taken), w.revokeRecorded(t)...)
	for made := w.madeRule(t); made >= 0; made = w.madeRule(t) {
		t.Rule = w.current.file.Policy.Rules[made].Name
		if err := w.takeEdit(clients.RemoveRuleFromHub(w.path, w.text, made)); err != nil {
			return err
		}
		if !slices.Contains(t.Done, doneRule) {
			t.Done = append(t.Done, doneRule)
		}
	}
	t.Access = clients.MayRead
	if slices.Contains(t.Done, "sandbox."+clients.MayWrite) {
		t.Access = clients.MayWrite
	}
	if t.absent = t.Done == nil; t.absent {
		t.addNote("it was not allowed to %s", w.current.server.Name)
	}
	if words := w.current.coveringSandboxLine(t, clients.MayWrite, clients.MayRead); words != "" {
		t.addNote("%s may still %s", w.current.server.Name, words)
	}
	return nil
}
