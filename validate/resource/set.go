package resource

import (
	"errors"
	"fmt"
	"slices"
)

// A Set is the prefixes that URIs of their schemes have to lie at or below. The
// zero value, and nil, bind no scheme.
type Set struct {
	prefixes []prefix
}

// prefix is one prefix, taken apart.
type prefix struct {
	address
	text string // canonical
}

// New makes a Set. The errors are the errors of the prefixes, by index; nil
// where all of them are good. A bad one is left out.
func New(prefixes []string) (s *Set, bad []error) {
	s = &Set{}
	for i, text := range prefixes {
		p, err := parsePrefix(text)
		if err != nil {
			if bad == nil {
				bad = make([]error, len(prefixes))
			}
			bad[i] = err
			continue
		}
		s.prefixes = append(s.prefixes, p)
	}
	return s, bad
}

// With returns the Set with more prefixes; what is no prefix is left out.
func (s *Set) With(more []string) *Set {
	if len(more) == 0 {
		return s
	}
	out := &Set{}
	if s != nil {
		out.prefixes = slices.Clone(s.prefixes)
	}
	for _, text := range more {
		if p, err := parsePrefix(text); err == nil {
			out.prefixes = append(out.prefixes, p)
		}
	}
	return out
}

// Valid returns what is wrong with a prefix. It wants a scheme, "://", a host
// (web addresses have to have one) and a path, and nothing that programs read
// differently.
func Valid(text string) error {
	_, err := parsePrefix(text)
	return err
}

func parsePrefix(text string) (p prefix, err error) {
	scheme, rest, ok := cutScheme(text)
	switch {
	case !ok:
		return p, errors.New("want a URI with a scheme, such as https://example.com/v1/")
	case scheme == "file":
		return p, errors.New("directories are roots, not resources")
	}
	a, why := parseAddress(scheme, rest)
	switch {
	case why != "":
		return p, errors.New(why)
	case a.tail != "":
		return p, errors.New("a prefix has no query and no fragment")
	case !a.isPlain():
		return p, errors.New("its path is not plain: programs read it differently")
	}
	return prefix{a, a.String()}, nil
}

// List returns the prefixes in their canonical spelling, of one scheme or, for
// "", of all.
func (s *Set) List(scheme string) []string {
	if s == nil {
		return nil
	}
	var list []string
	for _, p := range s.prefixes {
		if (scheme == "" || p.scheme == scheme) && !slices.Contains(list, p.text) {
			list = append(list, p.text)
		}
	}
	return list
}

func (s *Set) bindsScheme(scheme string) bool {
	return s != nil && slices.ContainsFunc(s.prefixes, func(p prefix) bool { return p.scheme == scheme })
}

// A Result is what a Set says about one text.
type Result struct {
	Bound           bool   // it is, in some reading, a URI of a bound scheme; else the rest is empty
	Scheme          string // the scheme
	URI             string // canonical, if the text can be read; else the text
	Prefix          string // that it lies at or below; "" if it is outside
	Why             string // it is outside
	SuggestedPrefix string // the prefix that would let it be inside; "" where none could
}

// Inside reports whether the text may be named.
func (result *Result) Inside() bool { return !result.Bound || result.Prefix != "" && result.Why == "" }

// Check reads a text that may be a URI, or several.
func (s *Set) Check(text string) (out Result) {
	if s == nil || len(s.prefixes) == 0 {
		return Result{}
	}
	for _, c := range s.listCandidates(text) {
		if !s.bindsScheme(c.scheme) {
			continue
		}
		if r := s.checkCandidate(c); !r.Inside() || !out.Bound {
			out = r
		}
		if !out.Inside() {
			return out
		}
	}
	return out
}

func (s *Set) checkCandidate(c candidate) Result {
	r := Result{Bound: true, Scheme: c.scheme, URI: c.text}
	a, why := parseAddress(c.scheme, c.rest)
	if why != "" {
		r.Why = why
		return r
	}
	r.URI = a.String()
	r.SuggestedPrefix = address{scheme: a.scheme, host: a.host, port: a.port, path: "/"}.String()
	for i := range s.prefixes {
		p := &s.prefixes[i]
		if p.scheme != a.scheme || p.host != a.host || p.port != a.port {
			continue
		}
		if isBelow(p.path, a.path) {
			r.Prefix = p.text
			return r
		}
		r.Why = fmt.Sprintf("some way to read its path leads out of %s", p.text)
	}
	if r.Why == "" {
		r.Why = "no prefix has this host and port"
	}
	return r
}
