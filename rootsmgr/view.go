package rootsmgr

import (
	"fmt"
	"time"
)

// Case is which case of R11 holds. The zero value denies.
type Case uint8

const (
	CaseFailed      Case = iota // declared, but nothing usable came and there is nothing to fall back on
	CaseKnown                   // roots are known: the client's, or a fallback's
	CaseEmpty                   // the client answered that nothing is open
	CaseUnsupported             // the client cannot give roots and no fallback is configured
)

func (c Case) String() string {
	switch c {
	case CaseKnown:
		return "known"
	case CaseEmpty:
		return "empty"
	case CaseUnsupported:
		return "unsupported"
	}
	return "failed"
}

// When is the operator's choice for each case without a boundary: true lets a
// path outside pass (roots.when in hub.json). The zero value denies in all.
type When struct{ Unsupported, Empty, Failed bool }

func (w When) allows(c Case) bool {
	switch c {
	case CaseUnsupported:
		return w.Unsupported
	case CaseEmpty:
		return w.Empty
	case CaseFailed:
		return w.Failed
	}
	return false
}

// View is what one call is judged by. The zero View denies.
type View struct {
	Snapshot *Snapshot // never nil in a View that a function here returned
	Case     Case
	Open     bool  // no boundary is known, and the operator lets that pass
	Stale    bool  // the roots are kept ones: the last refresh failed
	Err      error // why the last question failed; nil after an answer
	Assumed  bool  // what was configured stands in for roots that come with a later call
	// Ceiling is what the session never leaves, and Snapshot is within: whatever
	// else may open a directory has to ask it first. nil is no ceiling.
	Ceiling *Guard

	waiting  bool // the client has not answered yet, or not said initialized
	unusable int  // entries of an answer of which none could be used
}

// InlineView is the View of roots that came with the call (R8).
func InlineView(s *Snapshot, w When) View { return answeredView(s, w) }

// answeredView judges an answer without looking at fallbacks.
func answeredView(s *Snapshot, w When) View {
	v := View{Snapshot: s}
	switch {
	case s.Len() > 0:
		v.Case = CaseKnown
	case s.answeredNothing():
		v.Case = CaseEmpty
	default:
		v.unusable = s.skippedCount()
	}
	v.Open = w.allows(v.Case)
	return v
}

// FallbackView is the View where the client gives no roots: c is
// CaseUnsupported or CaseFailed, err why the question failed. Where the
// Fallback has a usable root the case is CaseKnown; where one is configured but
// nothing in it is usable, CaseFailed.
func FallbackView(fsys FS, generation uint64, f Fallback, c Case, w When, err error, skipped ...Skipped) View {
	return Settings{When: w}.fallbackView(fsys, generation, f, c, err, skipped...)
}

// fallbackView is FallbackView under the ceiling of the settings.
func (s Settings) fallbackView(fsys FS, generation uint64, f Fallback, c Case, err error, skipped ...Skipped) View {
	top := s.ceiling(fsys, generation)
	v := View{Snapshot: f.snapshot(fsys, generation, blueprint{skipped: skipped, top: top, places: s.places()}), Case: c, Err: err}
	switch {
	case v.Snapshot.Len() > 0:
		v.Case = CaseKnown
	case !f.None():
		v.Case = CaseFailed
		v.unusable = v.Snapshot.skippedCount()
	}
	v.Open = s.When.allows(v.Case)
	return v.under(top)
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

// Why says in one sentence or two, for a denial, which case holds and what to
// do about it.
func (v View) Why() string {
	if v.Open {
		return `No boundary is enforced here (roots.when in hub.json says "allow"): this is refused whatever the roots are.`
	}
	switch v.Case {
	case CaseKnown:
		return v.whyKnown()
	case CaseEmpty:
		s := "The client answered that no folder is open"
		if v.Stale {
			s += fmt.Sprintf(", and did not answer since (%v)", v.Err)
		}
		return s + `: open a folder in the client, or set roots.when.empty to "allow" in hub.json.`
	case CaseUnsupported:
		return "The client cannot give roots and no fallback is configured: start mcphub with --roots, set " +
			EnvRoots + " or roots.fallback in hub.json, " +
			`or set roots.when.unsupported to "allow".`
	}
	return v.whyFailed()
}

func (v View) whyKnown() string {
	switch origin := v.Snapshot.Origin(); origin {
	case OriginAsked, OriginInline:
		if v.Stale {
			return fmt.Sprintf("The roots are those that the client gave at %s, since it did not answer after that (%v): "+
				"reconnect the client, or open the folder there.", v.Snapshot.At().Format(time.TimeOnly), v.Err)
		}
		if v.Ceiling != nil {
			return "The roots are those that the client gave, as far as its token reaches: open the folder there to add it, " +
				"and where it is none of the token's, " + moreCeiling
		}
		return "The roots are those that the client gave: open the folder there to add it."
	case OriginCeiling:
		return "The client has named no folder of its own, so its token's directories hold: " + moreCeiling
	default:
		s := "The client cannot give roots"
		if v.Err != nil {
			s = fmt.Sprintf("The client gave no usable roots (%v)", v.Err)
		}
		return s + ", so the configured ones hold: add the directory to " + origin.setting() + "."
	}
}

func (v View) whyFailed() string {
	cure := "set " + EnvRoots + " or roots.fallback in hub.json for such clients, " +
		`or set roots.when.failed to "allow".`
	switch {
	case v.Snapshot == nil:
		return "No roots are known: " + cure
	case v.unusable > 0 && v.Snapshot.Origin().fromClient():
		return fmt.Sprintf("The client gave %d roots, none of which can be used (get-roots says why): "+
			"open a local folder that exists, %s", v.unusable, cure)
	case v.unusable > 0:
		return fmt.Sprintf("The client gave no roots, and none of the %d in %s can be used (get-roots says why): "+
			`name directories that exist, or set roots.when.failed to "allow".`, v.unusable, v.Snapshot.Origin().setting())
	case v.waiting:
		return "The client has not said yet which folders are open: call again in a moment, or " + cure
	case v.Err != nil:
		return fmt.Sprintf("The client declared roots but did not give them (%v): call again, reconnect the client, %s", v.Err, cure)
	}
	return "No roots are known: " + cure
}

const moreCeiling = "add the directory to roots of the token in http.tokens of hub.json."

// setting is where an operator adds a directory of this origin.
func (o Origin) setting() string {
	switch o {
	case OriginFlag:
		return "--roots"
	case OriginEnvironment:
		return EnvRoots
	case OriginCeiling:
		return "roots of the client's token in hub.json"
	case OriginProject:
		return EnvRoots + " or roots.fallback in hub.json, beside " + EnvProjectRoot
	}
	return "roots.fallback in hub.json"
}
