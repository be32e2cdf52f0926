package trail

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"mcphub/hub/audit"
)

// A Filter picks decisions. The zero value picks all.
type Filter struct {
	Session      string // its beginning
	Principal    string // whose session it is: a name, or a pattern of names
	Child, Tool  string
	Path         string // of a finding: a place, with all below it, or a pattern of paths
	Rule         string // a name, or a pattern of names
	Decision     string // allow, deny, escalate, refuse
	Client       string // as it calls itself, with or without its version, or a pattern
	Address      string // that the session came from
	Denied       bool   // only what was not let through
	Since, Until time.Time
}

// decides reports whether a line of a kind is about a decision.
func decides(kind string) bool {
	switch kind {
	case audit.KindDecision, audit.KindQuestion, audit.KindDefinition, audit.KindRefusal, audit.KindRejection, audit.KindEnded:
		return true
	}
	return false
}

// Matches reports whether a decision is one of those.
func (filter *Filter) Matches(e *Event) bool {
	switch {
	case !decides(e.Kind),
		filter.Session != "" && !strings.HasPrefix(e.Session, filter.Session),
		!MatchesName(filter.Principal, e.Principal),
		filter.Child != "" && e.Child != filter.Child,
		filter.Tool != "" && e.Tool != filter.Tool,
		!MatchesName(filter.Rule, e.Rule),
		filter.Decision != "" && e.Decision != filter.Decision,
		filter.Path != "" && !slices.ContainsFunc(e.Findings, func(one audit.Finding) bool { return matchesPath(filter.Path, one.Path) }),
		!matchesClient(filter.Client, e.Name),
		filter.Address != "" && e.Address != filter.Address,
		filter.Denied && (e.Decision == "allow" || e.Kind == audit.KindDefinition || e.Kind == audit.KindEnded),
		!filter.Since.IsZero() && e.Time.Before(filter.Since),
		!filter.Until.IsZero() && !e.Time.Before(filter.Until):
		return false
	}
	return true
}

// asksSession reports whether the filter picks by what stands in the line of a session alone.
func (filter *Filter) asksSession() bool { return filter.Client != "" || filter.Address != "" }

func isPattern(s string) bool { return strings.ContainsAny(s, "*?[{") }

// MatchesName reports whether a name is the one that is asked for. A slash is a character as others are.
func MatchesName(asked, name string) bool {
	if asked == "" || asked == name {
		return true
	}
	if !isPattern(asked) {
		return false
	}
	ok, _ := doublestar.Match(strings.ReplaceAll(asked, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00")) // one that cannot be read matches nothing
	return ok
}

// matchesClient works like MatchesName for a client, which may be asked for without its version.
func matchesClient(asked, client string) bool {
	if MatchesName(asked, client) {
		return true
	}
	name, _, versioned := strings.Cut(client, " ")
	return versioned && MatchesName(asked, name)
}

// matchesPath reports whether a path is the one that is asked for or lies below it, or matches it.
func matchesPath(asked, path string) bool {
	if path == "" {
		return false
	}
	asked, path = filepath.ToSlash(asked), filepath.ToSlash(path)
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(asked, "/")); ok && (rest == "" || rest[0] == '/') {
		return true
	}
	if !isPattern(asked) {
		return false
	}
	ok, _ := doublestar.Match(asked, path)
	return ok
}

// A sieve passes over lines that a Filter cannot pick, by their bytes, so that most lines of a large
// record are never parsed. What it lets through is matched.
type sieve struct {
	f       *Filter
	needles [][]byte
}

func newSieve(f *Filter) *sieve {
	s := &sieve{f: f}
	add := func(member, value, end string) {
		// A text that is written otherwise than it reads is left to Matches.
		if value != "" && strings.IndexFunc(value, func(c rune) bool { return c < 0x20 || c >= 0x7f || c == '"' || c == '\\' }) < 0 {
			s.needles = append(s.needles, []byte(`"`+member+`":"`+value+end))
		}
	}
	add("session", f.Session, "")
	if !isPattern(f.Principal) {
		add("principal", f.Principal, `"`)
	}
	if !isPattern(f.Rule) {
		add("rule", f.Rule, `"`)
	}
	add("child", f.Child, `"`)
	add("tool", f.Tool, `"`)
	add("decision", f.Decision, `"`)
	return s
}

var decisionMember = []byte(`"decision":"`)

// letsPass reports whether a line of a kind may be one that the filter picks.
func (s *sieve) letsPass(kind string, line []byte) bool {
	if !decides(kind) {
		return false
	}
	for _, n := range s.needles {
		if !bytes.Contains(line, n) {
			return false
		}
	}
	return !s.f.Denied || kind != audit.KindDecision || refusesAny(line)
}

// refusesAny reports whether a line has a decision that is not to allow.
func refusesAny(line []byte) bool {
	for {
		_, rest, ok := bytes.Cut(line, decisionMember)
		if !ok {
			return false
		}
		if !bytes.HasPrefix(rest, []byte(`allow"`)) {
			return true
		}
		line = rest
	}
}

// A head is what a line begins with, as far as readers look at before they parse it.
type head struct {
	number uint64
	at     []byte // its time, in audit.TimeFormat
	kind   string // "" for one that no reader of decisions asks about
}

// headOf reads the head of a line by the places of its members. ok is false for what is no line.
func headOf(line []byte) (h head, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"v":1,"n":`))
	if !ok {
		return h, false
	}
	i := 0
	for ; i < len(rest) && i < 16 && '0' <= rest[i] && rest[i] <= '9'; i++ {
		h.number = h.number*10 + uint64(rest[i]-'0')
	}
	// Between the number and the kind all has one length.
	const before = len(`,"prev":"`) + len(audit.NoHash) + len(`","time":"`)
	if rest = rest[i:]; len(rest) < before+len(audit.TimeFormat) {
		return h, false
	}
	h.at = rest[before : before+len(audit.TimeFormat)]
	if rest, ok = bytes.CutPrefix(rest[before+len(audit.TimeFormat):], []byte(`","kind":"`)); !ok {
		return h, false
	}
	for _, k := range readKinds {
		if len(rest) > len(k) && rest[len(k)] == '"' && string(rest[:len(k)]) == k {
			h.kind = k
		}
	}
	return h, true
}

// readKinds are the kinds of lines that readers of decisions ask about.
var readKinds = []string{
	audit.KindDecision, audit.KindOutcome, audit.KindSession, audit.KindQuestion, audit.KindDefinition, audit.KindRefusal, audit.KindRejection, audit.KindEnded,
}
