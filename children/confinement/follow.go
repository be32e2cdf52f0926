package confinement

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
)

// This file follows what names lead to: paths of the base, of profiles and of entries, and
// programs. Servers of other sessions, and of other hubs, may write where links lie, and
// what a program is told by. So a name opens what it opened when it was first used; see
// memory. Nothing leads to keys.

// fixed are places of the system, where no server writes.
var fixed = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store", "/gnu/store", "/run/current-system", "/run/systemd", "/snap", "/dev", "/proc", "/sys"}

// installers are more folders in which programs are installed, and nothing else is.
var installers = []string{".npm-global/bin", ".npm-global/lib", ".cargo/bin", "go/bin", ".local/share/pnpm", ".local/state/nix", ".nix-profile", "miniconda3", "anaconda3", "miniforge3", "mambaforge", ".linuxbrew"}

// installs are the places in which programs are installed and nothing else is: the
// system's, version managers and the user's own. What leads there is a program, whichever
// version it is.
func installs(home string) (list []string) {
	list = []string{"/home/linuxbrew/.linuxbrew"}
	for _, need := range sandbox.Base() {
		if need.Access&sandbox.Execute == 0 {
			continue
		}
		list = append(list, need.In(home)...)
	}
	if home != "" {
		for _, folder := range slices.Concat(managers, installers) {
			list = append(list, filepath.Join(home, folder))
		}
	}
	return list
}

// inAny reports whether a clean path is one of some others or lies in it.
func inAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return strings.HasPrefix(path, dir) && (len(path) == len(dir) || os.IsPathSeparator(path[len(dir)]))
	})
}

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

// A part is a file that the child is made of, and what names it.
type part struct {
	file, name string
	main       bool // without it the child does not run

	interpreter []string // the words of its first line, if it is a script
}

// none remembers a name that leads to no part of its own, so that it never does without a
// question.
func (h Host) none(p part) {
	if h.memory != nil {
		h.memory.first(p.name)
	}
}

// installation is what must be open for a file of a program to run: the file and the tops of
// its installation, on the way to where its links lead. why is set where it is not what its
// name opened when it was first used.
func (h Host) installation(p part) (paths []way, why string) {
	hops := h.looks.Hops(p.file)
	if allFixed(hops) {
		h.none(p)
		return nil, "" // it is open to everybody
	}
	spelled := hops[:1:1]
	switch {
	case !h.IsDir(p.file):
		for _, hop := range hops {
			for _, path := range []string{hop, h.topOf(hop)} {
				if path != "" && !slices.Contains(spelled, path) {
					spelled = append(spelled, path)
				}
			}
		}
	case !h.narrow(p.file) || !h.narrow(hops[len(hops)-1]):
		return nil, ""
	}
	var places []string
	for i, path := range spelled {
		w := h.wayOf(path)
		switch said := h.barred(&w, false); {
		case said != "" && i == 0:
			return nil, said
		case said != "", w.end != nil && w.end.IsDir() && (sandbox.KeyFolder(w.real) != "" || sandbox.HoldsSecret(w.real, h.home) != ""):
			continue
		}
		if place := w.place(false); w.end != nil && !inAny(w.real, h.installs) && !slices.Contains(places, place) {
			places = append(places, place)
		}
		if h.bounded(&w) {
			paths = append(paths, w)
		}
	}
	if why = h.asked(p.name, places); why != "" {
		return nil, why
	}
	return paths, ""
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
