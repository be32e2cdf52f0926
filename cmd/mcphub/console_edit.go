package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/clients/edit"
	webconsole "mcphub/cmd/mcphub/internal/console"
	"mcphub/cmd/mcphub/internal/doctor"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
)

// This file lets a person change hub.json on the page: what the commands would write is shown first, and written if
// it is still the same.

// maxDiff bounds what a page shows of a change, in bytes. It is shown whole or not at all.
const maxDiff = 64 << 10

// errNotShown is the error of a change that a page cannot show as it is.
var errNotShown = errors.New("the page cannot show this change as it would be written: run the command in a terminal")

// isShowable reports whether a page shows each character of an edit as it is.
func isShowable(e webconsole.Edit) bool {
	lines := strings.NewReplacer("\r\n", "", "\n", "", "\t", "").Replace(e.Text + e.Set)
	return !strings.ContainsFunc(e.Server+e.Path+e.Tool+lines, func(r rune) bool { return r == '\ufffd' || printable.Hidden(r) })
}

// mayEdit returns why hub.json may not be changed on this page: who has begun the console may be no person at a terminal.
func (c *consoleSource) mayEdit() error {
	if runtime.GOOS != "linux" {
		return errors.New("who has begun this console can be told on Linux alone; run the command in a terminal")
	}
	return checkPerson(consentStore())
}

// planned is a change of hub.json that is not written yet.
type planned struct {
	path          string
	before, after []byte   // of hub.json; before is nil if there is none
	done          []string // what is done beside
	texts         []string // that must be shown as they are
	entry, notes  []string
	names         []string // of the servers that are served from then on
	folder        string   // see webconsole.Change

	put   func() (said []string, err error)
	try   *tryOrder // nil: nothing can be started
	tried string    // what is said of the others
}

func (p *planned) hasChanged() bool { return hasChanges(p.before, p.after) }

// planDigest is of all that would be written. It is made by a key of this console: what no page of it has shown has no digest, and none
// tells anything of a secret in the file.
func (c *consoleSource) planDigest(e webconsole.Edit, p *planned) (string, error) {
	if !p.hasChanged() {
		return "", nil
	}
	raw, err := json.Marshal(struct {
		Edit          webconsole.Edit
		Path          string
		Before, After []byte
		Done, Entry   []string
	}{e, p.path, p.before, p.after, p.done, p.entry})
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, c.key)
	_, _ = mac.Write(raw) // never fails
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// planEdit plans an edit, by hub.json and the registry as they are now. It starts nothing and writes nothing.
func (c *consoleSource) planEdit(ctx context.Context, e webconsole.Edit) (p *planned, digest string, err error) {
	if !isShowable(e) {
		return nil, "", errNotShown
	}
	switch {
	case e.Do == webconsole.DoAllow:
		p, err = c.planAllow(ctx, e)
	case e.Do == webconsole.DoEnable || e.Do == webconsole.DoDisable:
		p, err = c.planSwitch(e)
	case e.Do == webconsole.DoAdd && e.From == webconsole.FromCommand:
		p, err = c.planCommand(ctx, e)
	case e.Do == webconsole.DoAdd:
		p, err = c.planImport(ctx, e)
	default:
		err = errors.New("the page asks for a change that there is not")
	}
	if err != nil {
		return nil, "", err
	}
	digest, err = c.planDigest(e, p)
	return p, digest, err
}

// planSwitch plans what `mcphub enable` and `mcphub disable` do.
func (c *consoleSource) planSwitch(e webconsole.Edit) (*planned, error) {
	w, off := entryWork{config: c.src.Config}, e.Do == webconsole.DoDisable
	p, err := w.planChange(e.Do+"d", setsDisabled(off), e.Server, e.Tool)
	if err != nil {
		return nil, err
	}
	out := ofEntry(p)
	if !off && e.Tool == "" {
		out.names = []string{e.Server}
	}
	return out, nil
}

func ofEntry(p *entryPlan) *planned {
	return &planned{path: p.path, before: p.before, after: p.after, notes: p.report.Warnings, put: func() ([]string, error) {
		err := p.putFile()
		return append([]string{p.report.changedSubject() + " " + p.report.State}, p.report.Warnings...), err
	}}
}

// planCommand plans what `mcphub add NAME -- COMMAND` does, and `mcphub add NAME --url URL`.
func (c *consoleSource) planCommand(ctx context.Context, e webconsole.Edit) (*planned, error) {
	words, err := commandWords(e.Text)
	if err != nil {
		return nil, err
	}
	g := addFlags{env: linesOf(e.Set)}
	if len(words) == 1 && (strings.HasPrefix(words[0], "https://") || strings.HasPrefix(words[0], "http://")) {
		g, words = addFlags{url: words[0], headers: linesOf(e.Set)}, nil
	}
	entry, err := g.makeEntry(e.Server, words)
	if err != nil {
		return nil, err
	}
	w := entryWork{config: c.src.Config, ctx: ctx, out: io.Discard, say: io.Discard}
	p, err := w.planAdd(e.Server, entry)
	if err != nil {
		return nil, err
	}
	out := ofEntry(p)
	out.names = []string{e.Server}
	out.try = &tryOrder{Config: w.config, Path: p.path, Text: p.after, Names: out.names}
	for _, row := range rowsOf(entry, entry) {
		out.entry = append(out.entry, row[0]+"  "+row[1])
	}
	return out, nil
}

// planImport plans what `mcphub add` does with the name of a server in a registry, and `mcphub import` with a file.
func (c *consoleSource) planImport(ctx context.Context, e webconsole.Edit) (*planned, error) {
	var said bytes.Buffer
	w := clientWork{config: c.src.Config, ctx: ctx, out: io.Discard, say: &said}
	var err error
	if w.env, err = clientEnv(); err != nil {
		return nil, err
	}
	var found clients.Inventory
	if e.From == webconsole.FromRegistry {
		r := registryFlags{name: e.Server, set: linesOf(e.Set)}
		found, err = r.lookUp(&w, e.Text)
	} else {
		found, err = readPasted(e, w.env)
	}
	if err != nil {
		return nil, err
	}
	m, err := w.mergeFound([]clients.Inventory{found})
	if err != nil {
		return nil, err
	}
	m.showImports(&w)
	out := &planned{path: m.path, before: m.before, after: m.after, entry: strings.Split(strings.TrimRight(said.String(), "\n"), "\n")}
	if m.countAdded() == 0 {
		return nil, fmt.Errorf("%s has it already; %s", m.path, strings.Join(out.entry, "; "))
	}
	for i := range m.imports {
		if im := &m.imports[i]; im.Same == "" && !im.Server.Disabled {
			out.names = append(out.names, im.Name)
		}
	}
	said.Reset()
	out.try = m.tryOrderOf(w.config, &said)
	out.tried = said.String()
	out.put = func() ([]string, error) {
		return []string{"added: " + joinFirst(out.names)}, w.writeMerge(m)
	}
	return out, nil
}

// readPasted reads an entry as manuals have it: a whole file, servers by name, or one entry without a name.
func readPasted(e webconsole.Edit, env clients.Env) (clients.Inventory, error) {
	text := []byte(strings.TrimSuffix(e.Text, ","))
	if bytes.HasPrefix(text, []byte(`"`)) {
		text = slices.Concat([]byte("{"), text, []byte("}"))
	}
	whole, err := edit.Decode(edit.JSON, text)
	if err != nil {
		return clients.Inventory{}, exit.ConfigErrorf("the entry cannot be read: %w", err)
	}
	if whole.Has("command") || whole.Has("url") {
		if e.Server == "" {
			return clients.Inventory{}, exit.UsageErrorf("the entry has no name: fill in its name in hub.json")
		}
		name, err := json.Marshal(e.Server)
		if err != nil {
			return clients.Inventory{}, err
		}
		text = slices.Concat([]byte("{"), name, []byte(":"), text, []byte("}"))
	}
	path, err := filepath.Abs("entry.json") // what is relative in it counts from the working directory
	if err != nil {
		return clients.Inventory{}, err
	}
	found, err := clients.ReadText(path, text, env)
	if e.Server != "" && len(found.Servers) == 1 {
		found.Servers[0].Name = e.Server
	}
	return found, err
}

// showChange returns what a person is shown before hub.json is written. It writes nothing.
func (c *consoleSource) showChange(ctx context.Context, e webconsole.Edit) (webconsole.Change, error) {
	p, digest, err := c.planEdit(ctx, e)
	if err != nil {
		return webconsole.Change{}, err
	}
	return c.describeChange(e, p, digest)
}

func (c *consoleSource) describeChange(e webconsole.Edit, p *planned, digest string) (webconsole.Change, error) {
	out := webconsole.Change{Edit: e, File: p.path, Digest: digest, Entry: p.entry, Notes: p.notes, Folder: p.folder}
	if e.Do == webconsole.DoEnable || e.Do == webconsole.DoDisable {
		out.Does = commandOn(p.path, slices.DeleteFunc([]string{e.Do, e.Server, e.Tool}, func(word string) bool { return word == "" })...)
	}
	if digest == "" {
		return out, nil
	}
	before, after := "", ""
	var err error
	if p.before != nil {
		if before, err = withoutSecrets(p.path, p.before); err != nil {
			return webconsole.Change{}, err
		}
	}
	if after, err = withoutSecrets(p.path, p.after); err != nil {
		return webconsole.Change{}, err
	}
	text := diff.Diff("as it is", []byte(before), "as it would be", []byte(after))
	if len(text)+len(strings.Join(p.entry, "")) > maxDiff || !showsTexts(p.path, after, p.texts) {
		return webconsole.Change{}, errNotShown
	}
	_, text, _ = bytes.Cut(text, []byte("\n")) // "diff", for a program
	for line := range strings.Lines(string(text)) {
		out.Lines = append(out.Lines, strings.TrimRight(line, " \r\n"))
	}
	out.Opens = c.listOpened(p)
	return out, nil
}

// listOpened lists what the servers of a plan start and may open, without starting any.
func (c *consoleSource) listOpened(p *planned) []string {
	if len(p.names) == 0 {
		return nil
	}
	var said bytes.Buffer
	src := setup.Source{Version: buildVersion(), Config: p.path, Bytes: p.after}
	found, err := src.Check(io.Discard)
	if err != nil {
		return []string{err.Error()}
	}
	defer found.WaitForLogins()
	named := func(name string) bool { return slices.Contains(p.names, name) }
	o := doctor.Options{Source: &setup.Source{Config: c.src.Config}, Log: zerolog.Nop()}
	for _, name := range p.names {
		for _, f := range doctor.Lacks(o, found, name) {
			layout.Printf(&said, "%s cannot be served yet: %s%s%s\n", name, f.Text, layout.WithPrefix("; ", f.Cure), layout.WithPrefix(": ", f.Command))
		}
	}
	for i := range found.Hub.Children {
		s := &found.Hub.Children[i].Spec
		if !named(s.Name) {
			continue
		}
		if s.Command != "" {
			layout.Printf(&said, "%s starts %s\n", s.Name, printable.CommandLine(append([]string{s.Command}, redact.Args(s.Args, nil)...)))
		}
		ahead := status.AheadOf(s)
		layout.Printf(&said, "%s: %s%s\n", s.Name, layout.When(ahead.Holds, "the kernel holds it: ")+layout.When(!ahead.Holds && s.URL == "", "NOTHING HOLDS IT, it can open everything that you can: "), ahead.Text)
	}
	was := setup.Source{Version: buildVersion(), Config: p.path, Bytes: []byte(cmp.Or(string(p.before), "{}"))}
	if now, err := was.Read(io.Discard, zerolog.Nop()); err == nil && found.Whole {
		if h, err := hub.New(now.Hub); err == nil {
			if all, err := h.PlanReload(found.Hub); err == nil {
				showPlan(&said, admin.Plan{Servers: slices.DeleteFunc(all, func(s hub.PlannedServer) bool { return !named(s.Server) })})
			}
		}
	}
	return strings.Split(strings.TrimRight(said.String(), "\n"), "\n")
}

// planAgain plans an edit again, and refuses it if that is not what was shown.
func (c *consoleSource) planAgain(ctx context.Context, e webconsole.Edit, digest string) (*planned, error) {
	p, now, err := c.planEdit(ctx, e)
	switch {
	case err != nil:
		return nil, err
	case now == "" || !hmac.Equal([]byte(now), []byte(digest)):
		return nil, errors.New("that is not what was shown: hub.json, the path, the entry of the registry or what is filled in has changed meanwhile; nothing was written or started")
	}
	return p, nil
}

// tryChange starts once what was shown, if the kernel holds it, and shows what came of it.
func (c *consoleSource) tryChange(ctx context.Context, e webconsole.Edit, digest string) (webconsole.Change, error) {
	p, err := c.planAgain(ctx, e, digest)
	if err != nil {
		return webconsole.Change{}, err
	}
	if p.try == nil {
		return webconsole.Change{}, errors.New("nothing of that is started")
	}
	said, err := p.try.runOrder(ctx)
	if err != nil {
		return webconsole.Change{}, err
	}
	out, err := c.describeChange(e, p, digest)
	out.Tried = strings.Split(strings.TrimRight(p.tried+said, "\n"), "\n")
	return out, err
}

// writeChange writes what was shown.
func (c *consoleSource) writeChange(ctx context.Context, e webconsole.Edit, digest string) (string, error) {
	p, err := c.planAgain(ctx, e, digest)
	if err != nil {
		return "", err
	}
	said, err := p.put()
	return fmt.Sprintf("%s: %s", p.path, strings.Join(said, "; ")), err
}

// linesOf returns the lines of a text that are not empty.
func linesOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}

// commandWords takes a command line apart as a shell does, but for what only a shell can do: that is refused.
func commandWords(line string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case strings.ContainsRune(" \t\r\n", r):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case strings.ContainsRune("|&;<>()`", r):
			return nil, exit.UsageErrorf("the command line has %q, which no shell reads here: put it in quotes, or write sh -c '...'", r)
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, exit.UsageErrorf("a quote of the command line does not end")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
