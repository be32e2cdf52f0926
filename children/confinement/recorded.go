package confinement

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/entry"
	"mcphub/children/sandbox"
)

// This file opens what a trial has recorded of a server and a person has confirmed. It opens
// no more than names of the entry may: nothing in keys, in the hub's own folders, or in what is
// run or obeyed, and nothing elsewhere if something has replaced a path.

// openRecorded decides on each path that was confirmed.
func (n *naming) openRecorded(paths []sandbox.RecordedPath) {
	for _, p := range paths {
		w := n.h.wayOf(p.Path)
		d := n.decideRemembered("recorded "+w.path, &w, n.decideRecorded(p, &w))
		if d.file != nil && p.Temporary != "" && !strings.ContainsAny(p.Temporary, `*[\/`) {
			f := *d.file // what was remembered stays
			f.Patterns = append(slices.Clip(f.Patterns), p.Temporary)
			d.file = &f
		}
		n.takeDecision(d)
		n.recorded = append(n.recorded, sandbox.Named{Key: string(p.Use), Path: p.Path, Why: d.why})
	}
}

// decideRecorded returns what a confirmed path opens.
func (n *naming) decideRecorded(p sandbox.RecordedPath, w *way) decision {
	if slices.ContainsFunc(w.hops, n.h.boundary.Writable) {
		return decision{} // it is open
	}
	if w.real != p.Path {
		return decideClosed("%s leads to %s by a link now", p.Path, w.real)
	}
	why := n.neverReason(p.Path, w)
	if secret := sandbox.WhySecret(p.Path); why == "" && secret != "" && p.Use != sandbox.Keeps {
		why = secret // a name of the entry may be a single key; what was recorded never is one
	}
	if why != "" || n.h.boundary.Withholds(p.Path) {
		return decision{why: cmp.Or(why, "the policy withholds it")}
	}
	if p.Use == sandbox.Reads {
		if w.end == nil {
			return decideClosed("nothing is there")
		}
		return decideOpened(p.Path, runs)
	}
	name := entry.Name{Path: p.Path, Use: entry.Data, Folder: p.Use == sandbox.Keeps}
	why = n.readOnly(name, p.Path, w)
	switch {
	case p.Use != sandbox.Writes && p.Use != sandbox.Keeps:
		return decideClosed("%q is no use of a path", p.Use)
	case w.end == nil && why != "":
		return decideClosed("nothing is there, and nothing is made: %s", why)
	case w.end == nil && p.Use == sandbox.Keeps:
		return n.decideMissing(name, w)
	case why != "":
		return decision{rules: decideOpened(p.Path, runs).rules, why: why + ", so it is only read"}
	case w.end == nil || p.Beside && !w.end.IsDir():
		if d, ok := n.openFile(w); ok {
			return d
		}
	}
	if w.end == nil {
		return decideClosed("nothing is there, and %s: give it a folder of its own", n.sharedReason(filepath.Dir(p.Path)))
	}
	return decideOpened(p.Path, all)
}

// identifyProfile makes the digest by which a profile belongs to an entry, its program and the version of
// its package.
func (c *confining) identifyProfile(parts []part) string {
	prog := bareProgram(c.child.Program)
	version := ""
	if in := c.child.Installed; in != nil { // each copy has another path
		prog.Command, version = c.child.Package, in.Version
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q", []string{prog.Digest(), version})
	for _, p := range parts {
		real := c.host.Real(p.file)
		if fi, err := os.Stat(real); err == nil && p.main && fi.Mode().IsRegular() && !c.child.Installed.Holds(real) {
			fmt.Fprintf(sum, "%q %d %d", real, fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// compareRecorded asks a person about a profile that was confirmed for what the entry, its program or its
// package was before. It holds meanwhile.
func (c *confining) compareRecorded() {
	r, of, m := c.settings.Recorded, c.result.Report.Of, c.host.memory
	if len(r.Paths) == 0 || r.Of == of || c.settings.Owner == "" || m == nil || m.dry {
		return
	}
	if waits, err := m.consent.AskRecorded(c.settings.Owner, r, of); err != nil {
		c.closed = append(c.closed, fmt.Sprintf("what you confirmed for it cannot be read: %v", err))
	} else if waits {
		c.closed = append(c.closed, "its entry, its program or its package has changed since your user confirmed what it opens; what was confirmed holds meanwhile (`mcphub status` shows what to do)")
	}
}
