package consent

import (
	"fmt"
	"path/filepath"
	"slices"

	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
)

// WhyClosed says why a root or the directory of a rule does not count; "" if it does. A link
// counts if no server of any hub could have put it there, if it stays in the directory that
// such a server may write, or if a person has accepted where it leads. Else it asks a person.
// A name that leads to keys by a link never counts, and one of a folder of keys only if hub.json
// has it: operator. It implements guard.Provenance.
func (s *Store) WhyClosed(w guard.RootCandidate, operator bool) string {
	if why := s.leadsToKeys(&w, operator); why != "" {
		return why
	}
	if len(w.Links) == 0 || !s.Keeps() {
		return ""
	}
	id := "way " + w.Given
	was, known, err := s.Accepted(id)
	if err != nil {
		return fmt.Sprintf("it leads to %s by a link, and it cannot be told whether somebody has accepted that: %v", w.Path, err)
	}
	if known && string(was) == w.Path {
		return ""
	}
	link, dir, planted, err := s.planted(&w)
	if err != nil {
		return fmt.Sprintf("it leads to %s by a link, and it cannot be told where servers could have written: %v", w.Path, err)
	}
	item := Item{ID: id, Value: []byte(w.Path), Paths: w.Links}
	if !planted {
		if !slices.ContainsFunc(w.Links, func(link string) bool { return mayWrite(filepath.Dir(link)) }) {
			return "" // no server ever could
		}
		if err := s.Take(item); err != nil {
			return fmt.Sprintf("it leads to %s by a link, and that cannot be kept: %v", w.Path, err)
		}
		return ""
	}
	item.Title = fmt.Sprintf("%s leads to %s by a link that a server could have made", w.Given, w.Path)
	item.Lines = []string{
		"The link: " + link,
		"Servers could write in: " + dir,
		"If you accept it, servers are given " + w.Path + " when " + w.Given + " is a root, or the directory of a rule.",
	}
	why := fmt.Sprintf("it leads to %s by the link %s, which a server could have made: servers were given %s, so it is not followed before your user has accepted that (`mcphub status` shows what to do)", w.Path, link, dir)
	if err := s.Ask(item); err != nil {
		why += fmt.Sprintf(" (it cannot be asked: %v)", err)
	}
	return why
}

// leadsToKeys says why a name opens keys or what a client starts; "" if it does not.
func (s *Store) leadsToKeys(w *guard.RootCandidate, operator bool) string {
	if folder := sandbox.KeyFolder(w.Path); folder != "" && !operator {
		return fmt.Sprintf("keys and credentials are kept in %s; to open it all the same, name it in hub.json: in \"within\" of a rule that allows, or in roots.fallback", folder)
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
	if sandbox.Contains(w.Given, s.home) || sandbox.Contains(w.Given, realHome) { // somebody wrote what holds the home folder
		return ""
	}
	if held := sandbox.SecretIn(w.Path, realHome); held != "" {
		return fmt.Sprintf("it leads to %s by a link, and %s lies there", w.Path, held)
	}
	return ""
}

// planted returns a link on the way that a server of any hub could have put there and that leads out
// of the directory that the server may write. Of several such directories it is the innermost.
func (s *Store) planted(w *guard.RootCandidate) (link, dir string, found bool, err error) {
	all, err := s.reachRecords()
	if err != nil {
		return "", "", false, err
	}
	for _, link := range w.Links {
		in := ""
		for _, l := range all {
			if l.damaged != nil {
				return "", "", false, l.damaged
			}
			for _, dir := range l.dirs {
				if holds(dir, filepath.Dir(link)) && len(dir) > len(in) {
					in = dir
				}
			}
		}
		if in != "" && !holds(in, w.Path) {
			return link, in, true, nil
		}
	}
	return "", "", false, nil
}
