package console

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

const (
	pageSize = 50
	// briefTime bounds the look for one page, patientTime that which a person has asked for.
	briefTime   = 120 * time.Millisecond
	patientTime = 5 * time.Second
)

// A pick is what a person looks for in the record.
type pick struct {
	Server, Tool, Path, Decision, Session, Principal, Any string

	Until string // before this moment, of a page that goes on
}

func pickOf(r *http.Request) pick {
	f := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	return pick{f("server"), f("tool"), f("path"), f("decision"), f("in"), f("principal"), f("any"), f("until")}
}

// trailFilter returns what trail can pick by; the rest is for matches.
func (p *pick) trailFilter() trail.Filter {
	f := trail.Filter{Session: p.Session, Principal: p.Principal, Child: p.Server, Tool: p.Tool, Denied: p.Decision == "refused"}
	if at, err := time.Parse(time.RFC3339Nano, p.Until); err == nil {
		f.Until = at
	}
	return f
}

func (p *pick) matchesDecision(d *trail.Decision) bool {
	if p.Decision != "" && p.Decision != "refused" && d.Decision != p.Decision {
		return false
	}
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(p.Any)) }
	if p.Any != "" && !slices.ContainsFunc([]string{d.Child, d.Tool, d.Session, d.Principal, d.Rule, d.Code, d.Decision, d.RequestMethod()}, has) &&
		!slices.ContainsFunc(d.Findings, func(f audit.Finding) bool { return has(f.Path) }) {
		return false
	}
	return p.Path == "" || slices.ContainsFunc(d.Findings, func(f audit.Finding) bool { return strings.Contains(f.Path, p.Path) })
}

// decisionsData is what the view of decisions shows.
type decisionsData struct {
	Pick    pick
	All     []decision
	Wrong   string
	Next    string    // the moment from which older ones go on; "": there are none
	Reached time.Time // where the look ended before the page was full
	Record  string
}

// A decision is one of the record, with what mends it.
type decision struct {
	trail.Decision
	Words   string // what was decided
	Refused bool
	Mend
}

func (s *Server) decisionsPage(r *http.Request) page {
	d := decisionsData{Pick: pickOf(r), Record: s.cfg.Record}
	within := briefTime
	if r.PostForm.Get("patient") != "" {
		within = patientTime
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	if s.cfg.Record != "" {
		d.readPage(ctx, s.cfg.Record)
		mend, mayAllow := sync.OnceValue(s.cfg.Mends), sync.OnceValue(func() error { return s.mayEdit(r) })
		for i := range d.All {
			one := &d.All[i]
			if one.explainWith(mend); one.Allows != nil && mayAllow() != nil {
				one.Allows = nil
			}
		}
	}
	return page{View: "/decisions", Live: d.Pick.Until == "", Data: d}
}

// readPage reads a page of the record. A page ends only between two times, because the next one goes on from there.
func (d *decisionsData) readPage(ctx context.Context, dir string) {
	full := false
	reached, err := trail.Newest(ctx, dir, d.Pick.trailFilter(), func(one trail.Decision) bool {
		if n := len(d.All); n >= pageSize && !one.Time.Equal(d.All[n-1].Time) {
			full = true
			return false
		}
		if d.Pick.matchesDecision(&one) {
			d.All = append(d.All, decision{Decision: one})
		}
		return true
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Wrong = "nothing has been recorded yet"
	case err != nil:
		d.Wrong = err.Error()
	case full:
		d.Next = d.All[len(d.All)-1].Time.Format(time.RFC3339Nano)
	case !reached.IsZero():
		d.Reached = reached
		d.Next = reached.Format(time.RFC3339Nano)
	}
}

// Class returns how a decision is coloured: a question that was only put is neither good nor bad.
func (d *decision) Class() string {
	switch {
	case d.Refused, d.Kind == audit.KindQuestion && d.Decision.Decision == "declined":
		return "bad"
	case d.Kind == audit.KindQuestion && d.Decision.Decision == "asked":
		return "quiet"
	}
	return "good"
}

// explainWith explains a decision: what it was, and what changes it.
func (d *decision) explainWith(mend func() func(audit.Refusal) Mend) {
	d.Words = d.Decision.Decision
	switch d.Kind {
	case audit.KindQuestion:
		d.Words = "asked: " + d.Words
	case audit.KindDefinition:
		d.Words = "defined otherwise"
	case audit.KindRefusal:
		d.Words = "refused by the kernel"
		if d.Code == audit.CodeUnexplained {
			d.Words = "a program failed without a reason"
		}
	}
	if refused, ok := d.Event.Refusal(); ok {
		d.Refused = true
		d.Mend = mend()(refused)
	}
	if d.Decision.Decision == "refuse" {
		d.Refused, d.Mend.Text = true, "it could not be judged, or not be made: docs/findings.md says what "+cmp.Or(d.Code, "this")+" means"
	}
}

// recordData is what the view of the record shows.
type recordData struct {
	Dir     string
	Checked *trail.Report // nil before a person asks
	Wrong   string
	Exports []Export
}

func (s *Server) recordData() recordData {
	return recordData{Dir: s.cfg.Record, Exports: s.cfg.Exports}
}

func (s *Server) recordPage(*http.Request) page {
	return page{View: "/record", Data: s.recordData()}
}

func (s *Server) verifyPage(*http.Request) page {
	d := s.recordData()
	if d.Dir == "" {
		return page{View: "/record", Data: d}
	}
	checked, err := trail.Verify(d.Dir)
	if d.Checked = checked; err != nil {
		d.Wrong = err.Error()
	}
	return page{View: "/record", Data: d}
}

func (s *Server) serveExport(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(s.cfg.Exports, func(e Export) bool { return e.Name == r.PostForm.Get("format") })
	if i < 0 || s.cfg.Record == "" {
		http.Error(w, "there is no such export", http.StatusNotFound)
		return
	}
	as := &s.cfg.Exports[i]
	chosen := pickOf(r)
	w.Header().Set("Content-Type", as.Media)
	w.Header().Set("Content-Disposition", `attachment; filename="decisions.`+as.Name+`"`)
	if err := as.Write(w, chosen.trailFilter()); err != nil {
		// Half a file that looks whole would be worse than a connection that breaks.
		panic(http.ErrAbortHandler)
	}
}
