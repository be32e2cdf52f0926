package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	webconsole "mcphub/internal/console"
	"mcphub/internal/printable"
)

// This file lets a person allow a path on the page: what `mcphub allow` would write is shown first, and written
// where it is still the same.

// maxDiff bounds what a page shows of a change, in bytes. It is shown whole or not at all.
const maxDiff = 64 << 10

// errNotShown is told of what a page cannot show as it is.
var errNotShown = errors.New("the page cannot show this change as it would be written: run the command in a terminal")

// allowanceOf is what a command of mcphub opens; nil: it is another command than allow, or one that a page
// cannot show as it is.
func allowanceOf(run []string) *webconsole.Allowance {
	if len(run) == 0 || run[0] != "allow" {
		return nil
	}
	words := slices.DeleteFunc(slices.Clone(run[1:]), func(word string) bool { return word == "--write" || word == "--" })
	if len(words) != 2 {
		return nil
	}
	a := webconsole.Allowance{Server: words[0], Path: words[1], Write: slices.Contains(run, "--write")}
	if !showable(a) {
		return nil
	}
	return &a
}

// showable reports whether a page shows each character of what is allowed as it is.
func showable(a webconsole.Allowance) bool {
	return !strings.ContainsFunc(a.Server+a.Path, func(r rune) bool { return r == '\ufffd' || printable.Hidden(r) })
}

// mayAllow says why nobody may change hub.json on this page: who has begun the console may be no person at a terminal.
func (c *consoleSource) mayAllow() error {
	if runtime.GOOS != "linux" {
		return errors.New("who has begun this console can be told on Linux alone; run the command in a terminal")
	}
	return checkPerson(consentStore())
}

// planned is what `mcphub allow` would do, by hub.json as it reads now, and the digest of that.
func (c *consoleSource) planned(ctx context.Context, a webconsole.Allowance) (*allowWork, *allowPlan, string, error) {
	if !showable(a) {
		return nil, nil, "", errNotShown
	}
	w := &allowWork{entryWork: entryWork{config: c.src.Config, ctx: ctx, out: io.Discard, say: io.Discard}, write: a.Write, calls: a.Calls, callsSaid: a.Calls}
	p, err := w.plan("allowed", a.Server, []string{a.Path}, w.allow)
	if err != nil || !p.report.Changed {
		return w, p, "", err
	}
	all := struct {
		Path          string
		Before, After []byte
		Done          [][]string
	}{Path: w.path, Before: p.before, After: w.text}
	for _, t := range p.targets {
		all.Done = append(all.Done, append([]string{t.Path}, t.Done...))
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, nil, "", err
	}
	// By a key of this console: what no page of it has shown has no digest, and none tells anything of a secret in the file.
	mac := hmac.New(sha256.New, c.key)
	_, _ = mac.Write(raw) // never fails
	return w, p, hex.EncodeToString(mac.Sum(nil)), nil
}

// change is what a person is shown before hub.json is written. It writes nothing.
func (c *consoleSource) change(ctx context.Context, a webconsole.Allowance) (webconsole.Change, error) {
	w, p, digest, err := c.planned(ctx, a)
	if err != nil {
		return webconsole.Change{}, err
	}
	p.report.DryRun = true
	out := webconsole.Change{Allowance: a, File: w.path, Digest: digest, Notes: p.said(), Folder: c.wider(ctx, a, w, p)}
	if !p.report.Changed {
		return out, nil
	}
	before, after := "", ""
	if p.before != nil {
		if before, err = withoutSecrets(w.path, p.before); err != nil {
			return webconsole.Change{}, err
		}
	}
	if after, err = withoutSecrets(w.path, w.text); err != nil {
		return webconsole.Change{}, err
	}
	var added []string
	for _, t := range p.targets {
		if slices.Contains(t.Done, "sandbox."+t.Access) {
			added = append(added, w.written(t.Path))
		}
		if slices.Contains(t.Done, doneRule) {
			added = append(added, w.written(t.ruleDir()))
		}
	}
	text := diff.Diff("as it is", []byte(before), "as it would be", []byte(after))
	if len(text) > maxDiff || !showsTexts(w.path, after, added) {
		return webconsole.Change{}, errNotShown
	}
	_, text, _ = bytes.Cut(text, []byte("\n")) // "diff", for a program
	for line := range strings.Lines(string(text)) {
		out.Lines = append(out.Lines, strings.TrimRight(line, " \r\n"))
	}
	return out, nil
}

// wider is the folder that a rule would let calls name, where one was refused and goes on to be; "": there is none.
func (c *consoleSource) wider(ctx context.Context, a webconsole.Allowance, w *allowWork, p *allowPlan) string {
	if t := p.targets[0]; a.Calls || slices.Contains(t.Done, doneRule) || w.lastRefusal(t) == nil {
		return ""
	}
	a.Calls = true
	_, with, digest, err := c.planned(ctx, a)
	if err != nil || digest == "" || !slices.Contains(with.targets[0].Done, doneRule) {
		return ""
	}
	return with.targets[0].ruleDir()
}

// allow writes what was shown. It writes nothing where hub.json has changed since, or the change would be another one.
func (c *consoleSource) allow(ctx context.Context, a webconsole.Allowance, digest string) (string, error) {
	w, p, now, err := c.planned(ctx, a)
	switch {
	case err != nil:
		return "", err
	case now == "" || !hmac.Equal([]byte(now), []byte(digest)):
		return "", errors.New("that is not what was shown: hub.json or the path has changed meanwhile; nothing was written")
	}
	if err := w.put(p); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", w.path, strings.Join(p.said(), "; ")), nil
}

// said is what the command prints of each path and why, and what hub.json is warned of then.
func (p *allowPlan) said() (lines []string) {
	for i := range p.report.Paths {
		t := &p.report.Paths[i]
		lines = append(append(lines, t.Path+": "+t.words(&p.report)), t.Notes...)
	}
	return append(lines, p.report.Warnings...)
}
