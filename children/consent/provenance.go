package consent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"mcphub/children/sandbox"
	"mcphub/internal/ownership"
	"mcphub/rootsmgr/guard"
)

// WhyClosed returns why a root or the directory of a rule does not count; "" if it does. A link
// counts if no server of any hub could have put it there, if it stays in the directory that such
// a server may write, or if a person has accepted its target. Else it asks a person. A name that
// leads to keys by a link never counts, and one of a folder of keys only if hub.json has it:
// operator. It implements guard.Provenance.
func (s *Store) WhyClosed(w guard.RootCandidate, operator bool) string {
	if why := s.leadsToKeys(&w, operator); why != "" {
		return why
	}
	return s.WhyLinksClosed(w.Links, false)
}

// WhyLinksClosed works like WhyNotLed of each link on the way to something. dry: no person is asked, and nothing is kept.
func (s *Store) WhyLinksClosed(links []guard.SymbolicLink, dry bool) string {
	records := sync.OnceValues(s.reachRecords) // after the links were followed, so that they know what was given before
	for i, link := range links {               // each by itself: one answer counts for all that lies behind it
		by := []string{link.At}
		if link.Climbs {
			for _, later := range links[i+1:] {
				by = append(by, later.At)
			}
		}
		if why, _ := s.led(Lead{Name: link.At, By: by, To: []string{link.To}, Dry: dry}, records); why != "" {
			return why
		}
	}
	return ""
}

// way begins the ID of a [Lead].
const way = "way "

// A Lead is a name of which links, or files, report what it opens to servers.
type Lead struct {
	Name string   // as a person reads it; the same for every hub
	By   []string // the links and files
	Seen []string // By, and the paths that its links led to when they were followed
	To   []string // what they lead to: absolute, without links
	Dry  bool     // no person is asked, and nothing is kept
}

// WhyNotLed returns why a name does not open what it leads to; "" if it does. It does if no server
// of any hub could have written a link or file of it, if all lies in the directory that such a
// server may write (inside), or if a person has accepted this. Else it asks a person.
func (s *Store) WhyNotLed(l Lead) (why string, inside bool) { return s.led(l, s.reachRecords) }

// led works like WhyNotLed by these records, which it reads only if no acceptance settles the Lead.
func (s *Store) led(l Lead, records func() ([]reachRecord, error)) (why string, inside bool) {
	if !s.Keeps() {
		return "", false
	}
	id, to, name := way+l.Name, Shown(l.To...), Shown(l.Name)
	was, known, err := s.Accepted(id)
	if err != nil {
		return fmt.Sprintf("it leads to %s, and it cannot be told whether somebody has accepted that: %v", to, err), false
	}
	value := []byte(strings.Join(l.To, "\x00"))
	if known && bytes.Equal(was, value) {
		return "", false
	}
	all, err := records()
	if err == nil {
		err = damaged(all)
	}
	if err != nil {
		return fmt.Sprintf("it leads to %s, and it cannot be told where servers could have written: %v", to, err), false
	}
	by, dir, planted := l.planted(all)
	item := Item{ID: id, Value: value, Paths: l.By}
	if !planted {
		if l.Dry || dir != "" || !slices.ContainsFunc(l.By, func(path string) bool { return ownership.MayMake(filepath.Dir(path)) }) {
			return "", dir != "" // it leads nowhere else, or no server ever could
		}
		if err := s.Take(item); err != nil {
			return fmt.Sprintf("it leads to %s, and that cannot be kept: %v", to, err), false
		}
		return "", false
	}
	item.Title = fmt.Sprintf("%s leads to %s by what a server could have written", name, to)
	item.Lines = []string{
		"It is written in: " + Shown(by),
		"Servers could write in: " + Shown(dir),
		"If you accept it, servers are given " + to + " by that name.",
	}
	how := "by " + Shown(by)
	if by == l.Name {
		how = "by a link"
	}
	why = fmt.Sprintf("%s leads to %s %s, and a server could have written that: servers were given %s; so it is not followed before your user has accepted it (`mcphub status` shows what to do)", name, to, how, Shown(dir))
	if !l.Dry {
		if err := s.askOfFew(item); err != nil {
			why += fmt.Sprintf(" (it cannot be asked: %v)", err)
		}
	}
	return why, false
}

// Shown returns paths as a person reads them: a server chooses names, and none is to look like another line or text.
func Shown(paths ...string) string {
	out := slices.Clone(paths)
	for i, path := range out {
		if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return !strconv.IsPrint(r) }) {
			out[i] = strconv.Quote(path)
		}
	}
	return strings.Join(out, " and ")
}

// maxWaiting bounds how many questions of this kind wait: a server can make any number of links.
const maxWaiting = 64

// askOfFew works like Ask unless too many questions wait.
func (s *Store) askOfFew(i Item) error {
	waiting, err := s.read(asked, i.ID)
	if err == nil && waiting == nil {
		var all []*storedItem
		all, err = s.all(asked)
		if len(all) >= maxWaiting {
			all = slices.DeleteFunc(all, s.isGone)
		}
		if len(all) >= maxWaiting {
			return fmt.Errorf("%d questions wait", len(all))
		}
	}
	return errors.Join(err, s.Ask(i))
}

// isGone takes a question back of which no link or file is there any more, and reports whether it has.
func (s *Store) isGone(k *storedItem) bool {
	there := func(path string) bool { _, err := os.Lstat(path); return !missing(err) }
	return strings.HasPrefix(k.ID, way) && !slices.ContainsFunc(k.Paths, there) && s.Withdraw(k.ID) == nil
}

// leadsToKeys returns why a name opens keys or what a client starts; "" if it does not.
func (s *Store) leadsToKeys(w *guard.RootCandidate, operator bool) string {
	if folder := sandbox.KeyFolder(w.Path); folder != "" && !operator {
		return fmt.Sprintf("keys and credentials are kept in %s; to open it all the same, write in hub.json a rule that allows paths within it, or name it in roots.fallback", folder)
	}
	if len(w.Links) == 0 {
		return ""
	}
	if why := sandbox.WhySecret(w.Path); why != "" && !sandbox.SameSecret(w.Given, w.Path) {
		return fmt.Sprintf("it leads to %s by a link, and %s", w.Path, why)
	}
	if s.home == "" {
		return ""
	}
	realHome := sandbox.RealPath(s.home)
	if sandbox.Contains(w.Given, s.home) || sandbox.Contains(w.Given, realHome) { // a person wrote a path that holds the home folder
		return ""
	}
	if held := sandbox.SecretIn(w.Path, realHome); held != "" {
		return fmt.Sprintf("it leads to %s by a link, and %s lies there", w.Path, held)
	}
	return ""
}

// planted returns a link or file that a server of any hub could have written and by which a name leads out
// of the directory that the server may write. Of several such directories it is the innermost. If found is
// false, dir is one in which a server could have made a link or file that leads nowhere else; "" for none.
func (lead *Lead) planted(all []reachRecord) (by, dir string, found bool) {
	leadsOut := func(place string) (dir string, leaves bool) {
		in := innermost(all, place)
		leaves = in != "" && slices.ContainsFunc(lead.To, func(to string) bool { return !filepath.IsAbs(in) || !holds(in, to) })
		return in, leaves
	}
	for _, by := range lead.By {
		folders, files := written(by)
		for _, folder := range folders {
			dir = cmp.Or(dir, innermost(all, folder))
		}
		for _, place := range slices.Concat(folders, files) {
			if in, leaves := leadsOut(place); leaves {
				return by, in, true
			}
		}
	}
	for _, at := range lead.Seen { // what was seen there may be gone by now, and counts all the same
		for _, place := range []string{filepath.Dir(at), at} {
			if in, leaves := leadsOut(place); leaves {
				return at, in, true
			}
		}
	}
	return "", dir, false
}

// damaged returns why one of the records cannot be read, nil if all can.
func damaged(all []reachRecord) error {
	for _, r := range all {
		if r.damaged != nil {
			return r.damaged
		}
	}
	return nil
}

// written returns the places by which a server may change a link or file: the folder in which it lies, by
// each spelling, and the file that it leads to with its folder.
func written(by string) (folders, files []string) {
	folders = []string{filepath.Dir(by)}
	if real, err := filepath.EvalSymlinks(folders[0]); err == nil {
		folders = append(folders, real)
	}
	if real, err := filepath.EvalSymlinks(by); err == nil {
		files = []string{real, filepath.Dir(real)}
	}
	return folders, files
}

// innermost returns the innermost directory on record that holds a path; "" for none.
func innermost(all []reachRecord, path string) (in string) {
	for _, r := range all {
		for _, dir := range r.dirs {
			if holds(dir, path) && len(dir) > len(in) {
				in = dir
			}
		}
	}
	return in
}
