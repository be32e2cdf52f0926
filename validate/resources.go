package validate

import (
	"errors"
	"fmt"

	"mcphub/rootsmgr"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
	"mcphub/validate/resource"
)

// This file bounds what calls may name beyond files: URIs of schemes for which prefixes are given. The operator gives them, or
// the client if the operator allows that. Package resource reports whether a URI lies below a prefix.

// bindPrefixes reads the prefixes of hub.json.
func (checker *Checker) bindPrefixes(cfg Config) error {
	if len(cfg.Resources) == 0 && !cfg.ClientResources {
		return nil
	}
	var errs []error
	set, bad := resource.New(cfg.Resources)
	for i, err := range bad {
		if err != nil {
			errs = append(errs, fmt.Errorf("roots.resources: %s is no prefix: %w", chars.Quote(cfg.Resources[i]), err))
		}
	}
	checker.search.Resources, checker.search.ClientResources = set, cfg.ClientResources
	return errors.Join(errs...)
}

// boundsOf returns the prefixes that hold under a view: the prefixes of hub.json and, if it says so, the client's.
func (checker *Checker) boundsOf(v rootsmgr.RootsView) *resource.Set {
	if !checker.search.ClientResources || v.Snapshot == nil {
		return checker.search.Resources
	}
	var theirs []string
	for _, e := range v.Snapshot.OtherSchemes() {
		theirs = append(theirs, e.URI)
	}
	return checker.search.Resources.With(theirs)
}

// Resources returns the prefixes that bound what calls may name beyond files, in their canonical spelling; nil for none.
func (checker *Checker) Resources(v rootsmgr.RootsView) []string {
	if checker == nil || checker.search.Resources == nil {
		return nil
	}
	return checker.boundsOf(v).List("")
}

// judgeResources judges the URIs of a call. A URI whose scheme has no prefix is no finding.
func (checker *Checker) judgeResources(findings []detect.Finding, v rootsmgr.RootsView) (list []FindingVerdict) {
	if len(findings) == 0 {
		return nil
	}
	set := checker.boundsOf(v)
	for _, f := range findings {
		r := set.Check(f.Value)
		if !r.Bound {
			continue
		}
		out := FindingVerdict{Finding: f, Decision: policy.Allow, Code: CodeInsideResource, Target: r.URI, byClient: checker.search.ClientResources}
		if !r.Inside() {
			out.Decision, out.Code, out.Outside, out.Hint = policy.Deny, CodeOutsideResource, true, resourceHint(r.SuggestedPrefix)
			out.bounds = set.List(r.Scheme)
		}
		out.Readings = []Reading{{Text: chars.Clip(f.Value, detect.MaxRaw), Path: r.URI, Target: r.URI, Root: r.Prefix, Code: out.Code, Err: r.Why, kind: -1}}
		list = append(list, out)
	}
	return list
}

// resourceHint returns the line of hub.json that would let a URI be named.
func resourceHint(prefix string) string {
	if prefix == "" {
		return ""
	}
	return `"roots": { "resources": [` + string(quoteJSON(prefix)) + `] }`
}

const whyResource = "Of this scheme only what lies at or below these prefixes may be named (roots.resources in hub.json)."
