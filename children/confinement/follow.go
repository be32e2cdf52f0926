package confinement

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
)

// This file follows what names lead to: paths of the base, of profiles and of entries, and
// programs. Servers of other sessions, and of other hubs, may write where links lie, and
// what a program is told by. So a name opens what it opened when it was first used; see
// memory. Nothing leads to keys.

// A way is a path and where its links lead.
type way struct {
	path string
	hops []string // see sandbox.Looks.Hops
	real string   // the last of them
	end  fs.FileInfo
}

// wayOf looks up where a path leads.
func (h Host) wayOf(path string) way { return wayIn(h.looks, path) }

func wayIn(looks *sandbox.Looks, path string) way {
	w := way{path: filepath.Clean(path), hops: looks.Hops(path)}
	w.real = w.hops[len(w.hops)-1]
	if fi, err := looks.Lstat(w.real); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
		w.end = fi
	}
	return w
}

// place is where a way ends, as the memory has it. What is not there yet may become either,
// but for what is a file by its nature.
func (w *way) place(file bool) string {
	real := mounted.ReplaceAllString(w.real, "/..data$1")
	if !file && (w.end == nil || w.end.IsDir()) {
		return real + "/"
	}
	return real
}

// mounted is the folder that Kubernetes makes anew, beside the former, when a secret is
// changed that it has mounted. A name leads there by a link in the folder of the mount.
var mounted = lazyregexp.New(`/\.\.\d{4}_\d\d_\d\d_[^/]+(/|$)`)

// owns are the hub's own folders.
func (h Host) owns() []string {
	return slices.DeleteFunc([]string{h.stateFolder(), h.memory.closed(), h.CacheFolder()}, func(dir string) bool { return dir == "" })
}

// never says why a link does not lead where it does, whoever made it: into keys, clients'
// configuration and the hub's own folders, or to what holds them. A link to the whole of such
// a folder leaves it what it is. A name that is no link is what somebody has written.
func (h Host) never(w *way) string {
	if w.real == w.path {
		return ""
	}
	if why := sandbox.Secret(w.real); why != "" && !sandbox.SameSecret(w.path, w.real) {
		return why
	}
	for _, own := range h.owns() {
		if sandbox.Holds(own, w.real) && !sandbox.Holds(own, w.path) {
			return "it is the hub's own"
		}
	}
	if w.end == nil || !w.end.IsDir() || inAny(w.real, h.installs) {
		return ""
	}
	homes := []string{h.home}
	if h.home != "" {
		homes = append(homes, h.Real(h.home))
	}
	for _, home := range homes {
		switch {
		case !h.narrow(w.real), home != "" && sandbox.Holds(w.real, home):
			return "it holds more than one program's files"
		case home == "":
		case sandbox.HoldsSecret(w.real, home) != "":
			return "it holds " + sandbox.HoldsSecret(w.real, home)
		}
	}
	return ""
}

// barred says why a link leads nowhere, whatever it led to before; "" where it may.
func (h Host) barred(w *way, file bool) string {
	if why := h.never(w); why != "" {
		return fmt.Sprintf("%s is not opened: it leads to %s by a link, and %s", w.path, w.real, why)
	}
	if file && w.end != nil && w.end.IsDir() {
		return fmt.Sprintf("%s is not opened: it is a file by its nature, and leads to the folder %s", w.path, w.real)
	}
	return ""
}

// bounded reports whether the boundary lets a way be opened. It has messages of its own.
func (h Host) bounded(w *way) bool {
	return !h.boundary.Keeps(w.path) && (w.real == w.path || !h.boundary.Keeps(w.real) && h.boundary.Leads(w.hops))
}

// asked says why a name does not open these places, because it opened others when it was
// first used; "" where it may, or where they are in the boundary anyway.
func (h Host) asked(name string, places []string) string {
	if h.memory == nil {
		return ""
	}
	adds := slices.ContainsFunc(places, func(place string) bool {
		return !slices.ContainsFunc(h.boundary.Areas, func(r sandbox.Rule) bool { return sandbox.Holds(r.Path, bare(place)) })
	})
	was, ok, err := h.memory.settled(name, places, adds)
	switch {
	case err != nil:
		return fmt.Sprintf("%s is not opened: what it led to cannot be remembered: %v", name, err)
	case !ok && adds:
		return Change{name, was, places}.String() + ", so it is not opened before your user has accepted that (`mcphub status` shows what to do)"
	}
	return ""
}

// allFixed reports whether no server could have had a hand in where a path leads.
func allFixed(hops []string) bool {
	return !slices.ContainsFunc(hops, func(hop string) bool { return !inAny(hop, fixed) })
}

// What a path is for that is followed.
type purpose uint8

const (
	toOpen purpose = iota // as what is there
	asFile                // it is a file by its nature
	toMake                // it is made where it is missing
)

// follow is where a path leads. ok is false where nothing is opened; then why says why, where
// a person is to know. What is not there is remembered as well: what comes to be there is at
// its own place.
func (h Host) follow(path string, p purpose) (w way, why string, ok bool) {
	w = h.wayOf(path)
	why, ok = h.followed(w, p)
	return w, why, ok
}

func (h Host) followed(w way, p purpose) (why string, ok bool) {
	bounded := h.bounded(&w)
	if allFixed(w.hops) {
		return "", bounded
	}
	if why = h.barred(&w, p == asFile); why != "" {
		return why, false
	}
	if w.end != nil || p == toMake || h.memory != nil && !h.memory.knows(w.path) {
		var places []string
		if !inAny(w.real, h.installs) {
			places = []string{w.place(p == asFile)}
		}
		if !bounded { // nobody is asked about what no answer would open
			h.boundary.Areas = append(slices.Clip(h.boundary.Areas), sandbox.Rule{Path: w.real})
		}
		if why = h.asked(w.path, places); why != "" && bounded {
			return why, false
		}
	}
	return "", bounded
}

// Read says why a file that the entry names, and that leads to real, is not read for the
// child; nil where it is.
func (h Host) Read(path, real string) error {
	w := h.wayOf(path)
	if w.real != real { // it leads elsewhere by now, or is spelled otherwise
		w = way{w.path, append(w.hops, real), real, nil}
	}
	switch why, ok := h.followed(w, asFile); {
	case slices.ContainsFunc(h.owns(), func(own string) bool { return sandbox.Holds(own, real) }):
		return errors.New("it is the hub's own, which no server is given")
	case why != "":
		return errors.New(why)
	case !ok:
		return errors.New("it leads out of the roots by a link where servers write, so it is not read; write the path that it leads to")
	}
	return nil
}

// Settle remembers what the files lead to that an entry names, before any server runs. It
// reports whether that has not been done before.
func (h Host) Settle(prog program.Program) bool {
	if !h.memory.first("entry " + prog.Digest()) {
		return false
	}
	texts := slices.Concat(prog.Args, slices.Collect(maps.Values(prog.Env)))
	for _, text := range texts {
		for _, ref := range reference.All(text) {
			if ref.Kind == reference.File {
				h.follow(ref.Name, asFile)
			}
		}
	}
	if filepath.IsAbs(prog.EnvFile) {
		h.follow(prog.EnvFile, asFile)
	}
	return true
}
