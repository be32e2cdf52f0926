package setup

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/hub"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
	"mcphub/validate/policy"
)

// This file is about whom hub.json admits, and rules that are for some of them.

// Principal finds whom hub.json admits under a name: a token's, NAME@ISSUER, or local; false if it admits no one so called. Which
// groups an issuer's token will name, hub.json does not say.
func Principal(f *config.File, name string) (principal.Principal, bool) {
	for _, t := range f.HTTP.Tokens {
		if t.Name == name {
			return principal.Principal{Name: name, Groups: groupsOf(t)}, true
		}
	}
	var issuers []string
	for _, i := range f.HTTP.Issuers {
		issuers = append(issuers, i.Issuer)
	}
	p := principal.Parse(name, issuers)
	return p, p.Local || slices.Contains(issuers, p.Issuer)
}

// ViewAs returns as whom a command is served that shows what another client would get: whom hub.json admits under this name, in these groups;
// without any, in the ones that its token has there. nil is the user of this machine, whose name is "".
//
// A ceiling or toolsets that come from another claim than the groups cannot be told: the call is then judged without them.
func ViewAs(f *config.File, name string, groups []string) (*hub.Impersonation, error) {
	if name == "" {
		if len(groups) > 0 {
			return nil, exit.UsageErrorf("--as-group needs --as, the name of who is in the group")
		}
		return nil, nil
	}
	as := &hub.Impersonation{}
	if name != principal.Nobody {
		var known bool
		if as.Principal, known = Principal(f, name); !known {
			return nil, exit.UsageErrorf("--as: hub.json admits nobody who is called %q; it is the name of a token of http.tokens, NAME@ISSUER of one of http.issuers (without https://), local or nobody", name)
		}
	}
	if len(groups) > 0 {
		as.Principal.Groups = slices.Compact(slices.Sorted(slices.Values(groups)))
	}
	for i, t := range f.HTTP.Tokens {
		if as.Principal.Issuer == "" && t.Name == as.Principal.Name && t.Name != "" {
			as.Ceiling = ceilingRoots(f, t.Roots, zerolog.Nop(), "http", "tokens", strconv.Itoa(i), "roots")
			as.Toolsets = t.Toolsets
		}
	}
	for _, one := range f.HTTP.Issuers {
		if one.Issuer != as.Principal.Issuer || one.Toolsets == nil || one.Toolsets.Claim != one.Groups {
			continue
		}
		as.Toolsets = []string{}
		for _, g := range as.Principal.Groups {
			as.Toolsets = append(as.Toolsets, one.Toolsets.Values[g]...)
		}
	}
	for i, one := range f.HTTP.Issuers {
		if one.Issuer != as.Principal.Issuer || one.Roots == nil || one.Roots.Claim != one.Groups {
			continue
		}
		as.Ceiling = []rootsmgr.RootEntry{}
		for _, g := range as.Principal.Groups {
			as.Ceiling = append(as.Ceiling, ceilingRoots(f, one.Roots.Values[g], zerolog.Nop(), "http", "issuers", strconv.Itoa(i), "roots", "values", g)...)
		}
	}
	return as, nil
}

// groupsOf returns the groups of a token, in order, each once.
func groupsOf(t config.Token) []string {
	return slices.Compact(slices.Sorted(slices.Values(t.Groups)))
}

// lintPeople warns of rules for principals and groups that no one can be or be in.
func (l *linter) lintPeople() {
	http := &l.file.HTTP
	for i := range l.file.Policy.Rules {
		r := &l.file.Policy.Rules[i]
		at := func(key string, k int) []string {
			return []string{"policy", "rules", strconv.Itoa(i), "if", key, strconv.Itoa(k)}
		}
		for k, pattern := range r.If.Principals {
			if text, hint := l.whyNobody(pattern); text != "" {
				l.reportProblem(config.SeverityWarning, text, hint, at("principals", k)...)
			}
		}
		for k, pattern := range r.If.Groups {
			claimed := slices.ContainsFunc(http.Issuers, func(i config.Issuer) bool { return i.Groups != "" })
			if claimed || slices.ContainsFunc(http.Tokens, func(t config.Token) bool {
				return slices.ContainsFunc(t.Groups, func(g string) bool { return fitsPattern(pattern, g) })
			}) {
				continue
			}
			l.reportProblem(config.SeverityWarning, "nobody can be in the group "+strconv.Quote(pattern)+": no token of http.tokens names it, and no issuer a claim of groups", `add "groups" to a token or to an issuer`, at("groups", k)...)
		}
	}
}

// whyNobody returns why no one can be called like a pattern, and what to do; "" where someone can.
func (l *linter) whyNobody(pattern string) (text, hint string) {
	http := &l.file.HTTP
	if pattern == principal.Nobody {
		return "no rule is for whoever comes without a token: it may be anybody", `leave "principals" out, or take "none" out of "http.auth"`
	}
	if fitsPattern(pattern, principal.Local) || slices.ContainsFunc(http.Tokens, func(t config.Token) bool { return fitsPattern(pattern, t.Name) }) {
		return "", ""
	}
	for _, i := range http.Issuers {
		name, issuer := "", pattern
		if at := strings.LastIndexByte(pattern, '@'); at >= 0 {
			name, issuer = pattern[:at], pattern[at:]
		}
		if end := principal.IssuerSuffix(i.Issuer); fitsPattern(issuer, end) && name != "" || name == "" && strings.HasPrefix(issuer, "*") || strings.HasSuffix(pattern, end) && pattern != end {
			return "", ""
		}
	}
	text = "nobody can be called " + strconv.Quote(pattern)
	var known []string
	for _, t := range http.Tokens {
		known = append(known, t.Name)
	}
	switch hint := config.DidYouMean(pattern, known); {
	case hint != "":
		return text, hint
	case len(known) == 0 && len(http.Issuers) == 0:
		return text + ": the file names neither http.tokens nor http.issuers, so the hub serves the user of this machine alone", `add "http.tokens" or "http.issuers", or write "local"`
	}
	return text + ": no token of http.tokens is, and no issuer of http.issuers vouches for such a name", "write the name of a token, or NAME@ISSUER without https://"
}

func fitsPattern(pattern, name string) bool {
	ok, err := policy.MatchName(pattern, name)
	return ok && err == nil
}
