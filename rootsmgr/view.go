package rootsmgr

import (
	"errors"
	"fmt"
	"time"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// Case reports why the roots are what they are. The zero value denies.
type Case uint8

const (
	CaseFailed      Case = iota // declared, but nothing usable came and there is nothing to fall back on
	CaseKnown                   // roots are known: the client's, or a fallback's
	CaseEmpty                   // the client answered that nothing is open
	CaseUnsupported             // the client cannot give roots and no fallback is configured
)

var cases = [...]string{"failed", "known", "empty", "unsupported"}

func (c Case) String() string {
	if int(c) >= len(cases) {
		return cases[CaseFailed]
	}
	return cases[c]
}

// NoRootsPolicy is the operator's choice for each case without a boundary: true lets a
// path outside pass (roots.when in hub.json). The zero value denies in all.
type NoRootsPolicy struct {
	Unsupported, Empty, Failed bool
	Project                    bool // a client over stdio that cannot give roots has the Guess of the Fallback
	// Denied denies in all, whatever the others say: the client shows a token, and
	// http.when.noRoots does not allow it. It means nothing if the token names
	// directories (Settings.Ceiling): these are the boundary then.
	Denied bool
}

func (policy NoRootsPolicy) allowsCase(c Case) bool {
	if policy.Denied {
		return false
	}
	switch c {
	case CaseUnsupported:
		return policy.Unsupported
	case CaseEmpty:
		return policy.Empty
	case CaseFailed:
		return policy.Failed
	}
	return false
}

// RootsView is what one call is judged by. The zero RootsView denies.
type RootsView struct {
	Snapshot *Snapshot // never nil in a RootsView that a function here returned
	Case     Case
	Open     bool  // no boundary is known, and the operator lets that pass
	Stale    bool  // the roots are kept ones: the last refresh failed
	Err      error // why the last question failed; nil after an answer
	Assumed  bool  // these are configured roots, until a later call brings the client's
	// Ceiling is what the session never leaves; Snapshot is within it. Whatever else
	// opens a directory must check it against Ceiling. nil is no ceiling.
	Ceiling    *guard.Guard
	ClientName string // what the client calls itself, for Why; set by the one who knows it
	Denied     bool   // no boundary is known, and When.Denied is why that does not pass; for Why

	mark     RootsMark
	waiting  bool // the client has not answered yet, or not said initialized
	unusable int  // entries of an answer of which none could be used
	// projectless has the client's working directory in no project, which would have been the boundary
	projectless bool
}

// A RootsMark is a place in the order in which a Manager makes its RootsViews known. Generations
// do not tell that: a stand-in is made after the roots that came with a call, and may be
// known before them. The zero RootsMark comes before all.
type RootsMark struct {
	number   uint64 // counts the Snapshots that were made known; 0 for none
	withCall uint64 // generation of the newest roots by then that came with a call
}

// Mark returns where the RootsView was made known.
func (v RootsView) Mark() RootsMark { return v.mark }

// Covers reports whether a RootsView was known at the RootsMark, or what replaced it. Roots that
// come with a call, as TakeCallRoots returns them, are known once Run has taken them in.
func (mark RootsMark) Covers(v RootsView) bool {
	if v.mark.number > 0 {
		return mark.number >= v.mark.number
	}
	return mark.withCall >= v.Snapshot.Generation()
}

// AnsweredView returns the RootsView of an answer, or of roots that came with the call,
// without a look at fallbacks.
func AnsweredView(s *Snapshot, w NoRootsPolicy) RootsView {
	v := RootsView{Snapshot: s}
	switch {
	case s.Len() > 0:
		v.Case = CaseKnown
	case s.answeredNothing():
		v.Case = CaseEmpty
	default:
		v.unusable = s.skippedCount()
	}
	v.judgePaths(w)
	return v
}

// fallbackView returns the RootsView by these terms if the client gives no roots, under their
// ceiling: c is CaseUnsupported or CaseFailed, err why the question failed. If the
// Fallback has a usable root the case is CaseKnown; where one is configured but
// nothing in it is usable, CaseFailed.
func (t *terms) fallbackView(fsys guard.FS, generation uint64, c Case, err error, skipped ...Skipped) RootsView {
	settings, f := t.settings, t.fallback
	top := settings.ceilingSnapshot(fsys, generation)
	bp := blueprint{skipped: skipped, top: top, places: settings.writableDirs()}
	v := RootsView{Case: c, Err: err}
	projectCounts := c == CaseUnsupported && settings.When.Project && settings.AtWorkDir && f.IsEmpty()
	guessed := projectCounts && f.Guess != Guess{}
	v.projectless = projectCounts && !guessed
	if guessed {
		v.Snapshot = f.Guess.snapshot(fsys, generation, bp)
	} else {
		v.Snapshot = f.snapshot(fsys, generation, bp)
	}
	switch {
	case v.Snapshot.Len() > 0:
		v.Case = CaseKnown
	case guessed || !f.IsEmpty():
		v.Case = CaseFailed
		v.unusable = v.Snapshot.skippedCount()
	}
	v.judgePaths(settings.When)
	return v.underCeiling(top)
}

// judgePaths reports whether paths pass if no boundary is known.
func (v *RootsView) judgePaths(w NoRootsPolicy) {
	v.Open, v.Denied = w.allowsCase(v.Case), w.Denied && v.Case != CaseKnown
}

// answeredNothing reports an answer that held no entry at all, good or bad.
func (s *Snapshot) answeredNothing() bool {
	return s != nil && s.entries == 0 && len(s.skipped) == 0
}

func (s *Snapshot) skippedCount() int {
	if s == nil {
		return 0
	}
	return max(len(s.skipped), s.entries)
}

// Why returns in a sentence or two, for a denial, which case holds and what to
// do about it.
func (v RootsView) Why() string {
	if v.Open {
		return `No boundary is enforced here (roots.when in hub.json says "allow"): this is refused whatever the roots are.`
	}
	return v.Meaning()
}

// WhyNot works like Why for a denial of paths. If a root that would have
// contained one was skipped it says so first.
func (v RootsView) WhyNot(paths ...string) string {
	sk, ok := v.Snapshot.SkippedAbove(paths...)
	if !ok {
		return v.Why()
	}
	later := "."
	if sk.Reason == guard.ErrMissing.Error() {
		later = "; it counts as soon as it does."
	}
	return fmt.Sprintf("The root %s was skipped: %s%s %s", platform.Quote(sk.Raw), sk.Reason, later, v.Why())
}

// WhyNone returns why there are no roots, to a server that is served none, and how to
// give some. Whether the hub enforces a boundary then is no matter of that server,
// which may open nothing without.
func (v RootsView) WhyNone() string {
	switch {
	case !v.Open:
		return v.Meaning()
	case v.Case == CaseEmpty:
		return v.clientName() + " answered that no folder is open (an empty list of roots): open a folder in the client."
	case v.Case == CaseUnsupported:
		return v.whyUnsupported() + ": " + cures + "."
	}
	return v.whyFailed() + ": " + v.remedyText() + cures + "."
}

// Meaning returns in a sentence or two which case holds and how to change that.
func (v RootsView) Meaning() string {
	setting := "roots.when." + v.Case.String()
	if v.Case != CaseUnsupported { // that one may be "project", too
		setting += ` is "allow"`
	}
	open := ", so no boundary is enforced (" + setting + "): "
	switch {
	case v.Case == CaseKnown:
		return v.whyKnown()
	case v.Denied:
		return v.whyDenied()
	case v.Case == CaseEmpty:
		s := v.clientName() + " answered that no folder is open (an empty list of roots)"
		if v.Stale {
			s += fmt.Sprintf(", and did not answer since (%v)", v.Err)
		}
		if v.Open {
			return s + open + "open a folder in the client to have one."
		}
		return s + `: open a folder in the client, or set roots.when.empty to "allow" in hub.json.`
	case v.Case == CaseUnsupported && v.Open:
		return v.whyUnsupported() + open + "to have one " + cures + "."
	case v.Case == CaseUnsupported:
		return v.whyUnsupported() + ": " + cures + `, or set roots.when.unsupported to "allow".`
	case v.Open:
		return v.whyFailed() + open + v.remedyText() + cures + "."
	}
	return v.whyFailed() + ": " + v.remedyText() + cures + `, or set roots.when.failed to "allow".`
}

// cures is what an operator can do for a client that gives no roots.
const cures = "start mcphub with --roots DIR, set " + EnvRoots + " or roots.fallback in hub.json"

// clientName names the client at the beginning of a sentence.
func (v RootsView) clientName() string {
	if v.ClientName == "" {
		return "The client"
	}
	return "The client " + platform.Quote(platform.Clip(v.ClientName, 100))
}

// whyUnsupported returns why a client that cannot give roots has none, without a full stop.
func (v RootsView) whyUnsupported() string {
	if v.projectless {
		return v.clientName() + " gives no roots, no fallback is configured, and its working directory lies in no project"
	}
	return v.clientName() + " gives no roots and no fallback is configured"
}

func (v RootsView) whyKnown() string {
	switch origin := v.Snapshot.Origin(); origin {
	case OriginAsked, OriginWithCall:
		if v.Stale {
			return fmt.Sprintf("The roots are those that the client gave at %s, since it did not answer after that (%v): "+
				"reconnect the client, or open the folder there.", v.Snapshot.At().Format(time.TimeOnly), v.Err)
		}
		if v.Ceiling != nil {
			return "The roots are those that the client gave, as far as its token reaches: open the folder there to add it, " +
				"and where it is none of the token's, " + moreCeiling
		}
		return "The roots are those that the client gave: open the folder there to add it."
	case OriginEntry:
		return "The server has directories of its own: add the directory to roots of its entry in hub.json."
	case OriginGuess:
		return v.clientName() + " gives no roots, so the project of its working directory holds (guessed): for other roots " + cures +
			`. For no boundary set roots.when.unsupported to "allow".`
	case OriginCeiling:
		return v.clientName() + " has named no folder of its own, so its token's directories hold: " + moreCeiling
	default:
		s := v.clientName() + " gives no roots"
		if v.Err != nil {
			s = fmt.Sprintf("%s gave no usable roots (%v)", v.clientName(), v.Err)
		}
		return s + ", so the configured ones hold: add the directory to " + origin.settingName() + "."
	}
}

// whyDenied returns why nothing is open to a client that shows a token, whatever roots.when says.
func (v RootsView) whyDenied() string {
	cause, first := v.clientName()+" gives no roots", ""
	switch v.Case {
	case CaseEmpty:
		cause, first = v.clientName()+" answered that no folder is open (an empty list of roots)", "open a folder in the client, or "
	case CaseFailed:
		cause, first = v.whyFailed(), v.remedyText()+"or "
	}
	return cause + " and its token names none, so no path is open to it (http.when.noRoots): " + first +
		"add its directories to http.tokens[].roots, or http.issuers[].roots, in hub.json."
}

// whyFailed returns what happened if no roots are known, without a full stop.
func (v RootsView) whyFailed() string {
	switch {
	case v.Snapshot == nil:
		return "No roots are known"
	case v.Snapshot.Origin() == OriginEntry:
		return "None of the server's own directories can be used (get-roots says why)"
	case v.Snapshot.Origin() == OriginGuess:
		return v.clientName() + " gives no roots, and the project of its working directory cannot be used (get-roots says why)"
	case v.unusable > 0 && v.Snapshot.Origin().fromClient():
		return fmt.Sprintf("%s gave %d roots, none of which can be used (get-roots says why)", v.clientName(), v.unusable)
	case v.unusable > 0:
		return fmt.Sprintf("%s gave no roots, and none of the %d in %s can be used (get-roots says why)",
			v.clientName(), v.unusable, v.Snapshot.Origin().settingName())
	case v.waiting:
		return v.clientName() + " has not said yet which folders are open"
	case errors.Is(v.Err, errWithCalls):
		return v.clientName() + " has given no roots with its calls"
	case v.Err != nil:
		return fmt.Sprintf("%s declared roots but did not give them (%v)", v.clientName(), v.Err)
	}
	return "No roots are known"
}

// remedyText returns what the person at the client can do if no roots are known.
func (v RootsView) remedyText() string {
	switch {
	case v.Snapshot == nil:
	case v.unusable > 0 && v.Snapshot.Origin().fromClient():
		return "open a local folder that exists, "
	case v.unusable > 0:
		return "name directories that exist, "
	case v.waiting:
		return "call again in a moment, "
	case v.Err != nil && !errors.Is(v.Err, errWithCalls):
		return "call again, reconnect the client, "
	}
	return ""
}

const moreCeiling = "add the directory to roots of the token in http.tokens of hub.json."

// settingName returns where an operator adds a directory of this origin.
func (o Origin) settingName() string {
	switch o {
	case OriginFlag:
		return "--roots"
	case OriginEnvironment:
		return EnvRoots
	case OriginCeiling:
		return "roots of the client's token in hub.json"
	case OriginEntry:
		return "roots of the server's entry in hub.json"
	case OriginGuess:
		return "--roots"
	case OriginProject:
		return EnvRoots + " or roots.fallback in hub.json, beside " + EnvProjectRoot
	}
	return "roots.fallback in hub.json"
}
