package policy_test

import (
	"errors"
	"os"
	"path"
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// A refWorld is the policy read off the table of P1, slowly and with nothing shared with the code: paths are
// followed by os.Readlink, directories compared as text with what they resolve to, and every rule is asked of every reading.
type refWorld struct {
	roots, ceiling, protected []string // as given; nil ceiling: none
	sandbox                   string
	open                      bool // no boundary is known, and that passes
	rules                     []policy.Rule
	grants                    []policy.Grant
	approved                  string // the rule that a person has lifted for this call, where it is about calls
	cwd                       string
	served                    []string
}

var errRefLoop = errors.New("loop")

// refFollow follows links component by component; what is missing stays as text.
func refFollow(p string) (string, error) {
	at, rest, links := "/", strings.Split(p, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		if target, err := os.Readlink(next); err == nil {
			if links++; links > 40 {
				return "", errRefLoop
			}
			if path.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		at = next
	}
	return at, nil
}

func refMust(p string) string {
	at, err := refFollow(p)
	if err != nil {
		panic(err)
	}
	return at
}

func refUnder(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// refCandidate is one absolute path with its three readings.
type refCandidate struct {
	readings [3]string // as written, followed, cleaned and then followed
	broken   bool
	dir      bool
}

func refRead(p string) refCandidate {
	u := refCandidate{}
	followed, err1 := refFollow(p)
	cleaned, err2 := refFollow(path.Clean(p))
	if err1 != nil || err2 != nil {
		u.broken = true
		return u
	}
	u.readings = [3]string{path.Clean(p), followed, cleaned}
	info, err := os.Lstat(followed)
	u.dir = err == nil && info.IsDir()
	return u
}

// within: the text of a path may be under any spelling of a directory, its target only under the real one.
func (u *refCandidate) within(reading int, dir string) bool {
	real := refMust(dir)
	return refUnder(real, u.readings[reading]) || reading == 0 && refUnder(path.Clean(dir), u.readings[reading])
}

func (u *refCandidate) all(dirs []string) bool {
	for i := range u.readings {
		if !u.some(i, dirs) {
			return false
		}
	}
	return true
}

func (u *refCandidate) some(reading int, dirs []string) bool {
	for _, d := range dirs {
		if u.within(reading, d) {
			return true
		}
	}
	return false
}

func (w *refWorld) boundary() []string {
	if w.sandbox == "" {
		return w.roots
	}
	return append(append([]string{}, w.roots...), w.sandbox)
}

// hard returns what is denied before any rule.
func (w *refWorld) hard(u *refCandidate, role access.Role) bool {
	if u.broken {
		return true
	}
	for _, p := range w.protected {
		for _, r := range u.readings {
			if refUnder(p, r) || role != access.Read && refUnder(r, p) {
				return true
			}
		}
	}
	return w.ceiling != nil && !u.all(w.ceiling)
}

func (w *refWorld) outside(u *refCandidate, reading int) bool {
	return !(w.open && len(w.roots) == 0) && !u.some(reading, w.boundary())
}

func (w *refWorld) alone(u *refCandidate) policy.Decision {
	if u.all(w.boundary()) || w.open && len(w.roots) == 0 {
		return policy.Allow
	}
	return policy.Deny
}

func refGlob(patterns []string, name string) bool {
	for _, p := range patterns {
		if p == name || p == "*" || strings.HasSuffix(p, "*") && strings.HasPrefix(name, strings.TrimSuffix(p, "*")) {
			return true
		}
	}
	return len(patterns) == 0
}

// matches asks one rule about one reading of a candidate.
func (w *refWorld) matches(r *policy.Rule, u *refCandidate, reading int) bool {
	p := r.Paths
	if p == nil {
		return true
	}
	in := p.Within == "" || u.within(reading, p.Within)
	for i := range w.rules { // a directory that rules name in several ways has all of these names
		if also := w.rules[i].Paths; reading == 0 && p.Within != "" && also != nil && also.Within != "" && refMust(also.Within) == refMust(p.Within) {
			in = in || u.within(0, also.Within)
		}
	}
	if r.Then != policy.Allow && p.Within != "" { // what must not be missed counts in any spelling
		in = in || refUnder(path.Clean(p.Within), u.readings[reading])
	}
	return in && (!p.Outside || w.outside(u, reading))
}

// asked reports whether a rule is about any, or all, of the candidates.
func (w *refWorld) asked(r *policy.Rule, candidates []refCandidate, child, tool string, role access.Role) bool {
	if !refGlob(r.Servers, child) || !refGlob(r.Tools, tool) {
		return false
	}
	roleFits := r.Paths == nil || len(r.Paths.Roles) == 0
	if r.Paths != nil {
		for _, have := range r.Paths.Roles {
			roleFits = roleFits || have == role
		}
	}
	if r.Then == policy.Allow {
		for i := range candidates {
			for k := range 3 {
				if !roleFits || !w.matches(r, &candidates[i], k) {
					return false
				}
			}
		}
		return true
	}
	for i := range candidates {
		u := &candidates[i]
		for k := range 3 {
			if roleFits && w.matches(r, u, k) {
				return true
			}
			// Removing or moving a directory takes along what is in it.
			if k > 0 && role == access.Delete && u.dir && r.Paths != nil && r.Paths.Within != "" && !r.Paths.Outside && refUnder(u.readings[k], refMust(r.Paths.Within)) {
				return true
			}
		}
	}
	return false
}

func (w *refWorld) first(candidates []refCandidate, child, tool string, role access.Role) *policy.Rule {
	for i := range w.rules {
		if w.asked(&w.rules[i], candidates, child, tool, role) {
			return &w.rules[i]
		}
	}
	return nil
}

func (w *refWorld) granted(u *refCandidate, role access.Role) bool {
	for _, g := range w.grants {
		ok := g.Roles.Has(role)
		for _, r := range u.readings[1:] {
			ok = ok && (r == g.Path || !g.File && refUnder(g.Path, r))
		}
		if ok {
			return true
		}
	}
	return false
}

// beside: a directory that only a rule or a grant serves.
func (w *refWorld) beside(dir string) bool {
	u := refRead(dir)
	if dir == w.cwd || u.some(1, w.boundary()) {
		return false
	}
	for i := range w.rules {
		if r := &w.rules[i]; r.Then != policy.Deny && r.Paths != nil && r.Paths.Within != "" && refMust(r.Paths.Within) == dir {
			return true
		}
	}
	for _, g := range w.grants {
		if !g.File && g.Path == dir {
			return true
		}
	}
	return false
}

// candidates returns the absolute paths that a value may stand for.
func (w *refWorld) candidates(value string, role access.Role) []refCandidate {
	if path.IsAbs(value) {
		return []refCandidate{refRead(value)}
	}
	var out []refCandidate
	seen := map[string]bool{}
	for _, base := range append([]string{w.cwd}, w.served...) {
		if seen[base] {
			continue
		}
		seen[base] = true
		u := refRead(base + "/" + value)
		if w.beside(base) && !u.broken {
			_, err := os.Lstat(u.readings[1])
			parent, perr := os.Lstat(path.Dir(u.readings[1]))
			toMake := perr == nil && parent.IsDir() && !refUnder(path.Dir(u.readings[1]), base)
			if err != nil && (role == access.Read || !toMake) && !w.hardProtected(&u, role) {
				continue
			}
		}
		out = append(out, u)
	}
	return out
}

func (w *refWorld) hardProtected(u *refCandidate, role access.Role) bool {
	only := *w
	only.ceiling = nil
	return only.hard(u, role)
}

// bare decides a call without any path.
func (w *refWorld) bare(child, tool string) policy.Decision {
	for i := range w.rules {
		r := &w.rules[i]
		if r.Paths != nil || !refGlob(r.Servers, child) || !refGlob(r.Tools, tool) {
			continue
		}
		if r.Then == policy.Escalate && r.Name == w.approved {
			return policy.Allow
		}
		return r.Then
	}
	return policy.Allow
}

// finding decides one path.
func (w *refWorld) finding(child, tool string, role access.Role, value string) policy.Decision {
	candidates := w.candidates(value, role)
	for i := range candidates {
		if w.hard(&candidates[i], role) {
			return policy.Deny
		}
	}
	return w.group(child, tool, role, candidates)
}

// group decides several ways to take one path: what the first rule about any of them escalates has to be granted, and the
// rest allowed without it.
func (w *refWorld) group(child, tool string, role access.Role, candidates []refCandidate) policy.Decision {
	r := w.first(candidates, child, tool, role)
	if r == nil {
		out := policy.Allow
		for i := range candidates { // none is denied or escalated: each may be inside, or what some rule allows
			alone := w.alone(&candidates[i])
			if w.first(candidates[i:i+1], child, tool, role) != nil {
				alone = policy.Allow
			}
			out = min(out, alone)
		}
		return out
	}
	if r.Then != policy.Escalate {
		return r.Then
	}
	out := policy.Allow
	var others []refCandidate
	for i := range candidates {
		if !w.asked(r, candidates[i:i+1], child, tool, role) {
			others = append(others, candidates[i])
		} else if r.Paths == nil && r.Name != w.approved || r.Paths != nil && !w.granted(&candidates[i], role) { // no grant is about calls
			out = policy.Escalate
		}
	}
	if len(others) > 0 {
		out = min(out, w.group(child, tool, role, others))
	}
	return out
}
