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
	hops []string // see sandbox.LstatCache.Hops
	real string   // the last of them
	end  fs.FileInfo
}

// wayOf looks up the target of a path.
func (h Host) wayOf(path string) way { return wayIn(h.looks, path) }

func wayIn(looks *sandbox.LstatCache, path string) way {
	w := way{path: filepath.Clean(path), hops: looks.Hops(path)}
	w.real = w.hops[len(w.hops)-1]
	if fi, err := looks.Lstat(w.real); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
		w.end = fi
	}
	return w
}

// endPlace returns the end of a way, as the memory has it. What is not there yet may become
// either, but for what is a file by its nature.
func (w *way) endPlace(file bool) string {
	real := mounted.ReplaceAllString(w.real, "/..data$1")
	if !file && (w.end == nil || w.end.IsDir()) {
		return real + "/"
	}
	return real
}

// mounted is the folder that Kubernetes makes again, beside the former, when a secret
// is changed that it has mounted. A name leads there by a link in the folder of the
// mount.
var mounted = lazyregexp.New(`/\.\.\d{4}_\d\d_\d\d_[^/]+(/|$)`)

// hubFolders returns the hub's own folders, as they are written and where links above them lead.
func (h Host) hubFolders() (all []string) {
	for _, dir := range []string{h.stateFolder(), h.closedFolder(), h.CacheFolder()} {
		if dir != "" {
			all = append(all, dir, h.Real(dir))
		}
	}
	return all
}

// neverReason returns why a link is not followed, no matter who made it: it leads into keys,
// clients' configuration or the hub's own folders, or to a folder that holds them. A link to the
// whole of such a folder is no such link. A path without links is what someone has written, and
// passes.
func (h Host) neverReason(w *way) string {
	if w.real == w.path {
		return ""
	}
	if why := sandbox.WhySecret(w.real); why != "" && !sandbox.SameSecret(w.path, w.real) {
		return why
	}
	for _, own := range h.hubFolders() {
		switch {
		case sandbox.Contains(own, w.real) && !sandbox.Contains(own, w.path):
			return "it is the hub's own"
		case sandbox.Contains(w.real, own):
			return "it holds the hub's own " + own
		}
	}
	if w.end == nil || !w.end.IsDir() || underAny(w.real, h.installs) {
		return ""
	}
	if !h.isNarrow(w.real) {
		return "it holds more than one program's files"
	}
	if h.home == "" {
		return ""
	}
	for _, home := range []string{h.home, h.Real(h.home)} {
		if secret := sandbox.SecretIn(w.real, home); secret != "" {
			return "it holds " + secret
		}
	}
	return ""
}

// refusedLink returns why nothing is opened by a link, whatever it led to before; "" if it may
// be followed.
func (h Host) refusedLink(w *way, file bool) string {
	if why := h.neverReason(w); why != "" {
		return fmt.Sprintf("%s is not opened: it leads to %s by a link, and %s", w.path, w.real, why)
	}
	if file && w.end != nil && w.end.IsDir() {
		return fmt.Sprintf("%s is not opened: it is a file by its nature, and leads to the folder %s", w.path, w.real)
	}
	return ""
}

// inBoundary reports whether the boundary allows that a path is opened at its target. What it does not
// allow has messages of its own.
func (h Host) inBoundary(w *way) bool {
	return !h.boundary.Withholds(w.path) && (w.real == w.path || !h.boundary.Withholds(w.real) && h.boundary.MayFollow(w.hops))
}

// changeReason returns why a name does not open these places: it opened others when it was first used,
// and no one has accepted the change. It is "" if the name may, or if the boundary has the places
// anyway.
func (h Host) changeReason(name string, places []string, by found) string {
	if h.memory == nil {
		return ""
	}
	adds := slices.ContainsFunc(places, func(place string) bool {
		return !slices.ContainsFunc(h.boundary.Areas, func(r sandbox.Rule) bool { return sandbox.Contains(r.Path, trimMark(place)) })
	})
	was, ok, err := h.memory.settledPlaces(memoryLine{Path: name, Owner: h.owner, Leads: places, found: by}, adds)
	switch {
	case err != nil:
		return fmt.Sprintf("%s is not opened: what it led to cannot be remembered: %v", name, err)
	case !ok && adds:
		return Change{name, was, places}.String() + ", so it is not opened before your user has accepted that (`mcphub status` shows what to do)"
	}
	return ""
}

// onlySystem reports that a path leads through folders of the system alone, in which no server writes.
func onlySystem(hops []string) bool {
	return !slices.ContainsFunc(hops, func(hop string) bool { return !underAny(hop, systemFolders) })
}

// A purpose describes what a path that is followed is for.
type purpose uint8

const (
	toOpen purpose = iota // to open what is there, file or folder
	asFile                // to open a file: a folder in its place is not opened
	toMake                // to open a folder, which is made if it is missing
)

// followPath finds the target of a path. If ok is false, nothing is opened, and why reports why, unless
// that is nothing for people. A path that has nothing yet is remembered too: it may later open what
// comes to be there, and nothing elsewhere.
func (h Host) followPath(path string, p purpose) (w way, why string, ok bool) {
	w = h.wayOf(path)
	why, ok = h.followWay(w, p)
	return w, why, ok
}

// followWay works like followPath for a path that was looked up.
func (h Host) followWay(w way, p purpose) (why string, ok bool) {
	bounded := h.inBoundary(&w)
	if onlySystem(w.hops) {
		return "", bounded
	}
	if why = h.refusedLink(&w, p == asFile); why != "" {
		return why, false
	}
	if w.end != nil || p == toMake || h.memory != nil && !h.memory.knowsName(w.path) {
		var places []string
		if !underAny(w.real, h.installs) {
			places = []string{w.endPlace(p == asFile)}
		}
		if !bounded { // no one is asked about what no answer would open
			h.boundary.Areas = append(slices.Clip(h.boundary.Areas), sandbox.Rule{Path: w.real})
		}
		if len(places) > 0 && w.real != w.path {
			why = h.memory.whyLinked(w.path, w.real)
		}
		if why == "" {
			why = h.changeReason(w.path, places, found{})
		}
		if why != "" && bounded {
			return why, false
		}
	}
	return "", bounded
}

// CheckRead returns why the hub does not read a file for a child: the entry names it as path, and it
// was found at real. It returns nil if the file may be read.
func (h Host) CheckRead(path, real string) error {
	w := h.wayOf(path)
	if w.real != real { // it leads elsewhere by now, or is spelled otherwise
		w = way{w.path, append(w.hops, real), real, nil}
	}
	switch why, ok := h.followWay(w, asFile); {
	case slices.ContainsFunc(h.hubFolders(), func(own string) bool { return sandbox.Contains(own, real) }):
		return errors.New("it is the hub's own, which no server is given")
	case why != "":
		return errors.New(why)
	case !ok:
		return errors.New("it leads out of the roots by a link where servers write, so it is not read; write the path that it leads to")
	}
	return nil
}

// RememberFiles remembers where the files of an entry lead that the hub reads: before any server runs, so
// that none can change it first. It reports whether the entry is new.
func (h Host) RememberFiles(prog program.Program) bool {
	h.owner = ownerOf(prog)
	if !h.memory.noteAbsent(memoryLine{Path: "entry " + prog.Digest(), Owner: h.owner}) {
		return false
	}
	texts := slices.Concat(prog.Args, slices.Collect(maps.Values(prog.Env)))
	for _, text := range texts {
		for _, ref := range reference.All(text) {
			if ref.Kind == reference.File {
				h.followPath(ref.Name, asFile)
			}
		}
	}
	if filepath.IsAbs(prog.EnvFile) {
		h.followPath(prog.EnvFile, asFile)
	}
	return true
}
