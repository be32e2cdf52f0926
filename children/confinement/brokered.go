package confinement

import (
	"path/filepath"
	"slices"
	"sync"

	"mcphub/children/sandbox"
)

// This file opens files in folders that stay closed. The hub opens them for the server, and what
// it makes beside them.

// brokeredFile returns the file that a way leads to, or would, if the hub can open it for the server. It is
// nil if no notices of the kernel can be had, if the folder is not there, or if the file is a key, a
// program or loaded by programs of the user: nothing is made beside these.
func (h Host) brokeredFile(w *way) *sandbox.File {
	dir, name := filepath.Dir(w.real), filepath.Base(w.real)
	at := h.wayOf(dir)
	switch {
	case !h.kernel().Asks() || at.end == nil || !at.end.IsDir() || at.real != dir:
		return nil
	case w.end == nil && !sandbox.MayUse(dir, sandbox.Write):
		return nil
	case w.end != nil && (!w.end.Mode().IsRegular() || w.end.Mode()&0o111 != 0 || !isOwn(w.end)):
		return nil
	case sandbox.WhySecret(w.real) != "", sandbox.Loaded(w.real), underAny(dir, systemFolders), h.boundary.Withholds(w.real):
		return nil
	}
	f := &sandbox.File{Folder: dir, Name: name, Made: h.made.madeBy(h.maker, h.memory)}
	for _, hop := range w.hops[:len(w.hops)-1] {
		if link := filepath.Base(hop); link != name && !slices.Contains(f.Links, link) {
			f.Links = append(f.Links, link)
		}
	}
	for _, path := range h.boundary.Withheld {
		if filepath.Dir(path) == dir {
			f.Never = append(f.Never, filepath.Base(path))
		}
	}
	return f
}

// closedFiles returns the files whose folder is closed to a child with these rules, each once with all its patterns.
func closedFiles(files []sandbox.File, p *sandbox.Profile) (list []sandbox.File) {
	for _, f := range files {
		at := slices.IndexFunc(list, func(o sandbox.File) bool { return o.Path() == f.Path() })
		switch {
		case p.AccessAt(f.Folder)&sandbox.Write != 0:
		case at < 0:
			list = append(list, f)
		default:
			list[at].Patterns = slices.Concat(list[at].Patterns, f.Patterns)
		}
	}
	return list
}

// mades are what the entries of a hub have made beside their files. Any goroutine may use it.
type mades struct {
	mu sync.Mutex
	by map[string]*sandbox.Made // by owner
}

// madeBy returns what an entry has made. The consent.Store keeps it for the next hub.
func (tally *mades) madeBy(owner string, keeper *memory) *sandbox.Made {
	tally.mu.Lock()
	defer tally.mu.Unlock()
	if tally.by[owner] == nil {
		if tally.by == nil {
			tally.by = map[string]*sandbox.Made{}
		}
		tally.by[owner] = &sandbox.Made{}
		if keeper != nil && keeper.consent.Keeps() {
			tally.by[owner].File = func() (string, error) { return keeper.consent.MadeFile(owner) }
		}
	}
	return tally.by[owner]
}
