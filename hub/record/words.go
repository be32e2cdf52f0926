package record

import (
	"bytes"
	"path/filepath"
	"slices"

	"mcphub/hub/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// refused is the decision about a request that could not be judged, or not be made.
const refused = "refuse"

// Codes of refusals, beside the ones of package validate.
const (
	CodeArguments   = "arguments"   // they have two readings, or none
	CodeSchema      = "schema"      // they do not fit the tool's own schema
	CodeDefinition  = "definition"  // the tool is defined otherwise by now, or gone
	CodeUnavailable = "unavailable" // the server is not there
	CodeCancelled   = "cancelled"   // before it could be judged
	CodeRoots       = "roots"       // the session ended while its roots were waited for
	CodeLimit       = "limit"       // hub.json lets its server have no more requests
	CodeUnjudged    = "not judged"  // another failure before the verdict
	codeRequest     = "request"     // it names nothing that there is, or is malformed
	codeNotServed   = "not served"  // by the server that it names
	codeApproval    = "approval"    // it does not hold for this call
)

// byGrant reports that an earlier approval lets a call through: a question
// line further up tells who gave it.
const byGrant = "grant"

// rootsBasisOf returns what a verdict was reached by. A call without a path
// needs no roots.
func rootsBasisOf(v *validate.Verdict, rootsView *rootsmgr.RootsView) audit.RootsBasis {
	if rootsView.Snapshot == nil {
		return audit.RootsBasis{}
	}
	return audit.RootsBasis{Roots: rootsView.Snapshot.Origin().String(), Generation: v.Generation, Stale: v.Stale}
}

// findingsOf lists what was judged, the one that decided among them.
func findingsOf(v *validate.Verdict, at string) (list []audit.Finding, unnamed int) {
	if len(v.Findings) == 0 {
		return nil, 0
	}
	add := func(f *validate.FindingVerdict) {
		path := f.Target
		if path == "" && len(f.Readings) > 0 {
			path = f.Readings[0].Path // its target is not known
		}
		list = append(list, audit.Finding{At: at + f.Pointer, Role: f.Role.String(), Path: path, Inside: !f.Outside && path != "", Ways: waysOf(f, path)})
	}
	if v.Deciding != nil {
		add(v.Deciding)
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		switch {
		case v.Deciding != nil && f.Pointer == v.Deciding.Pointer && f.Value == v.Deciding.Value:
		case len(list) == audit.MaxFindings:
			unnamed++
		default:
			add(f)
		}
	}
	return list, unnamed
}

// waysOf counts the places that a path may stand for, if it is not plain that
// there is but one: rules look at each, and the record names one.
func waysOf(f *validate.FindingVerdict, path string) int {
	plain, linked := true, false
	for i := range f.Readings {
		r := &f.Readings[i]
		plain = plain && r.Path == path && (r.Target == path || r.Target == "")
		linked = linked || r.Linked
	}
	if plain && !linked {
		return 0
	}
	places := []string{path}
	for i := range f.Readings {
		for _, p := range []string{filepath.Clean(f.Readings[i].Path), f.Readings[i].Target} {
			if p != "" && p != "." && !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
	}
	if linked {
		return max(len(places), 2) // of the reading that decided, the one that led out is named alone
	}
	return len(places)
}

// maxSearched is the longest result that is searched for isError.
const maxSearched = 64 << 10

var isError = []byte(`"isError"`)

// ResultWord returns the record's word for an answer.
func ResultWord(result, fault []byte) string {
	switch {
	case fault != nil || result == nil:
		return audit.ResultError
	case len(result) > maxSearched:
		return audit.ResultAnswered
	case bytes.Contains(result, isError) && string(jsonrpc.Get(result, "isError")) == "true":
		return audit.ResultToolError
	}
	return audit.ResultOK
}
