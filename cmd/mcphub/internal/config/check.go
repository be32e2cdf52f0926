package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/reference"
	"mcphub/internal/spelling"
)

// maxProblems bounds what one file can make us say.
const maxProblems = 500

// checker walks the file along the table. It collects every problem and
// returns the values that are sound.
type checker struct {
	src      *jsonc.Source
	env      func(string) (string, bool)
	problems []Problem
	failed   map[string]*Problem  // server -> its first error
	boxes    map[*jsonc.Node]bool // the objects whose members are servers
	fatal    bool                 // an error outside of mcpServers
	unread   bool                 // something that was to hold servers is not read, which was reported
	idle     bool                 // inside a disabled entry: variables may be missing
	soft     bool                 // inside a list that skips what cannot be expanded
}

// reportProblem records a problem and draws its consequence.
func (c *checker) reportProblem(sev Severity, keyPath []string, off int, text, hint string) {
	p := problemAt(c.src, off, text, hint)
	p.Severity, p.Key = sev, jsonc.FormatKey(keyPath)
	if sev == SeverityError {
		if len(keyPath) >= 2 && keyPath[0] == "mcpServers" {
			if c.failed[keyPath[1]] == nil {
				c.failed[keyPath[1]] = p
			}
		} else {
			c.fatal = true
		}
	}
	switch {
	case len(c.problems) < maxProblems:
		c.problems = append(c.problems, *p)
	case len(c.problems) == maxProblems:
		c.problems = append(c.problems, Problem{File: p.File, Line: p.Line, Col: p.Col, Severity: SeverityWarning,
			Text: fmt.Sprintf("more than %d problems; the rest is not shown", maxProblems)})
	}
}

func (c *checker) reportError(keyPath []string, off int, text, hint string) {
	c.reportProblem(SeverityError, keyPath, off, text, hint)
}

// appendStep appends steps without touching the path of a neighbour.
func appendStep(keyPath []string, steps ...string) []string {
	return append(keyPath[:len(keyPath):len(keyPath)], steps...)
}

// checkValue checks one value. false: it is not sound, and that was reported.
func (c *checker) checkValue(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	switch s.Kind {
	case keys.KindObject:
		return c.checkObject(at, n, s)
	case keys.KindMap:
		return c.checkMapping(at, n, s)
	case keys.KindList:
		if s.Single && n.Kind != '[' {
			v, ok := c.checkValue(at, n, s.Elem)
			return []any{v}, ok
		}
		return c.checkList(at, n, s)
	case keys.KindString, keys.KindScalar:
		return c.checkText(at, n, s)
	case keys.KindJSON:
		return string(n.Canonical()), true
	case keys.KindBool:
		if n.Kind == 't' || n.Kind == 'f' {
			return n.Kind == 't', true
		}
	case keys.KindChoice, keys.KindAllow:
		if n.Kind == '"' {
			return c.checkChoice(at, n, s)
		}
	case keys.KindPorts:
		return c.checkPorts(at, n, s)
	default:
		if n.Kind == '"' && slices.Contains(s.Choices, n.Text) {
			return int64(0), true
		}
		if n.Kind == '0' || n.Kind == '"' && s.Kind != keys.KindInt {
			return c.checkQuantity(at, n, s)
		}
	}
	return c.reportWrongType(at, n, s)
}

// reportWrongType reports a value of the wrong type.
func (c *checker) reportWrongType(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	hint := ""
	switch {
	case n.Kind == '"' && s.Kind == keys.KindBool && (n.Text == "true" || n.Text == "false"):
		hint = "write " + n.Text + " without quotes"
	case n.Kind == '"' && s.Kind == keys.KindInt && isWhole(n.Text):
		hint = "write " + n.Text + " without quotes"
	case (n.Kind == '0' || n.Kind == 't' || n.Kind == 'f') && s.Kind == keys.KindString:
		hint = fmt.Sprintf("write it in quotes: %q", n.Text)
	case n.Kind != '[' && n.Kind != '{' && n.Kind != 'n' && s.Kind == keys.KindList:
		hint = `put it in brackets, each word for itself: ["one", "two"]`
	}
	c.reportError(at, n.Off, fmt.Sprintf("found %s, want %s", n.What(), s.Want()), hint)
	return nil, false
}

func isWhole(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func (c *checker) checkObject(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	if n.Kind != '{' {
		short := s.Find(s.Short)
		if short == nil || !couldTake(short.Spec, n) {
			return c.reportWrongType(at, n, s)
		}
		v, ok := c.checkValue(at, n, short.Spec)
		if !ok {
			return nil, false
		}
		return map[string]any{s.Short: v}, true
	}
	out, seen, whole := map[string]any{}, map[string]bool{}, true
	for _, m := range n.Members {
		if seen[m.Name] { // reported as a duplicate
			continue
		}
		seen[m.Name] = true
		k := s.Find(m.Name)
		if k == nil {
			c.reportUnknown(at, m, s)
			continue
		}
		if v, ok := c.checkValue(appendStep(at, m.Name), m.Value, k.Spec); ok {
			out[m.Name] = v
		} else if k.Required {
			whole = false
		}
	}
	for _, k := range s.Keys {
		if k.Required && !seen[k.Name] {
			c.reportError(at, n.Off, fmt.Sprintf("%q is missing", k.Name), "want "+k.Spec.Want())
			whole = false
		}
	}
	return out, whole || c.fatal // what is unusable anyway is looked over whole
}

// couldTake reports whether a value could be meant for s, going by its kind alone.
func couldTake(s *keys.Spec, n *jsonc.Node) bool {
	switch s.Kind {
	case keys.KindList:
		return n.Kind == '['
	case keys.KindDuration, keys.KindSize:
		return n.Kind == '"' || n.Kind == '0'
	}
	return n.Kind == '"'
}

// reportUnknown reports a key that the table does not have, with what it may have
// been meant to be. It is an error where dropping it could open something.
func (c *checker) reportUnknown(at []string, m jsonc.Member, s *keys.Spec) {
	if strings.HasPrefix(m.Name, "//") || s == keys.Table && (m.Name == "$schema" || slices.Contains(clientSettings, m.Name)) {
		return
	}
	sev, hint := SeverityWarning, "it has no effect"
	if s.Closed {
		sev, hint = SeverityError, "want "+keys.OneOf(s.Names())
	}
	if best, k := guessMeant(s, m); best != "" {
		hint = fmt.Sprintf("did you mean %q?", best)
		if k.Guard {
			sev = SeverityError
		}
		c.unread = c.unread || k.Spec.Elem == keys.Entry
	} else if home, k := s.Elsewhere(m.Name); home != "" {
		hint = fmt.Sprintf("it belongs under %q", home)
		if k.Guard {
			sev = SeverityError
		}
	} else if s == keys.Table && looksLikeEntry(m.Value) {
		hint = `a server belongs under "mcpServers"`
	}
	c.reportProblem(sev, appendStep(at, m.Name), m.Off, "unknown key "+jsonc.Quote(m.Name), hint)
}

// guessMeant finds the key that an unknown one is likely a misspelling of. In an
// entry the names that other clients use count too, and what holds servers is
// mcpServers, whatever it is called.
func guessMeant(s *keys.Spec, m jsonc.Member) (string, *keys.Key) {
	if s == keys.Table && looksLikeContainer(m.Value) {
		return "mcpServers", s.Find("mcpServers")
	}
	names := s.Names()
	switch s {
	case keys.Entry:
		for _, a := range aliases {
			names = append(names, a.from)
		}
	case keys.Table:
		names = append(names, containers[1:]...)
	}
	best := spelling.Suggest(m.Name, names)
	if best == "" {
		return "", nil
	}
	if k := s.Find(best); k != nil {
		return best, k
	}
	if a := aliasOf(best); s == keys.Entry && a != nil {
		to, _, _ := strings.Cut(a.to, ".")
		return best, s.Find(to)
	}
	return best, s.Find("mcpServers")
}

func (c *checker) checkMapping(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	if n.Kind != '{' {
		return c.reportWrongType(at, n, s)
	}
	out, seen := map[string]any{}, map[string]bool{}
	for _, m := range n.Members {
		if seen[m.Name] || strings.HasPrefix(m.Name, "//") && s.Elem != keys.Entry {
			continue
		}
		seen[m.Name] = true
		here := appendStep(at, m.Name)
		if s.Named != nil {
			if bad := s.Named(m.Name); bad != "" {
				c.reportError(here, m.Off, jsonc.Quote(m.Name)+" "+bad, "")
				continue
			}
		}
		if s.Elem.Kind == keys.KindScalar && m.Value.Kind == 'n' {
			continue
		}
		if v, ok := c.checkValue(here, m.Value, s.Elem); ok {
			out[m.Name] = v
		}
	}
	return out, true
}

func (c *checker) checkList(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	if n.Kind != '[' {
		return c.reportWrongType(at, n, s)
	}
	if int64(len(n.Elems)) < s.Min {
		c.reportError(at, n.Off, "the list is empty", "leave the key out where everything is meant")
		return nil, false
	}
	was := c.soft
	c.soft = c.soft || s.Skip
	defer func() { c.soft = was }()
	out := make([]any, 0, len(n.Elems))
	for i, e := range n.Elems {
		if v, ok := c.checkValue(appendStep(at, jsonc.Index(i)), e, s.Elem); ok || c.fatal { // so that the others keep their numbers
			out = append(out, v)
		}
	}
	return out, true
}

func (c *checker) checkChoice(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	values := s.Values()
	if !slices.Contains(values, n.Text) {
		c.reportError(at, n.Off, fmt.Sprintf("found %s, want %s", jsonc.Quote(n.Text), keys.OneOf(values)), DidYouMean(n.Text, values))
		return nil, false
	}
	if s.Kind == keys.KindAllow {
		return n.Text == "allow", true
	}
	return n.Text, true
}

// checkPorts checks a word or a list of ports.
func (c *checker) checkPorts(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	switch n.Kind {
	case '"':
		v, ok := c.checkChoice(at, n, s)
		return map[string]any{"word": v}, ok
	case '[':
		v, ok := c.checkList(at, n, s)
		if ports, _ := v.([]any); ok && len(ports) != len(n.Elems) { // the others were reported
			return nil, false
		}
		return map[string]any{"word": "", "ports": v}, ok
	}
	return c.reportWrongType(at, n, s)
}

func (c *checker) checkQuantity(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	var v int64
	var bad, hint string
	show := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch s.Kind {
	case keys.KindInt:
		var err error
		if v, err = strconv.ParseInt(n.Text, 10, 64); err != nil {
			bad = fmt.Sprintf("found %s, want %s", jsonc.Quote(n.Text), s.Want())
		}
	case keys.KindDuration:
		var d time.Duration
		d, bad, hint = parseDuration(n, s.Millis)
		v, show = int64(d), func(n int64) string { return time.Duration(n).String() }
	case keys.KindSize:
		v, bad = parseSize(n)
		show = formatSize
		if len(s.Choices) > 0 {
			hint = "or write " + keys.OneOf(s.Choices)
		}
	}
	switch {
	case bad != "":
		c.reportError(at, n.Off, bad, hint)
		return nil, false
	case v < s.Min || s.Max > 0 && v > s.Max:
		c.reportError(at, n.Off, fmt.Sprintf("%s is out of range", jsonc.Quote(n.Text)), fmt.Sprintf("want %s to %s", show(s.Min), show(s.Max)))
		return nil, false
	}
	switch s.Kind {
	case keys.KindInt:
		return int(v), true
	case keys.KindDuration:
		return time.Duration(v), true
	}
	return v, true
}

// foreign matches what other clients replace and we do not. The text is never
// quoted in the message: it may be a password.
var foreign = lazyregexp.New(`^\$(env:)?[A-Za-z_][A-Za-z0-9_]*(/|$)|(^|[^$])\{env:[A-Za-z_][A-Za-z0-9_]*\}`)

// checkText checks a string and replaces the placeholders in it.
func (c *checker) checkText(at []string, n *jsonc.Node, s *keys.Spec) (any, bool) {
	scalar := n.Kind == '0' || n.Kind == 't' || n.Kind == 'f'
	if n.Kind != '"' && !(scalar && s.Kind == keys.KindScalar) {
		return c.reportWrongType(at, n, s)
	}
	v := n.Text
	if strings.ContainsRune(v, 0) { // and so it cannot hold the mark of a reference
		c.reportError(at, n.Off, "holds a NUL character, which no program, path or name can", `take \u0000 out of it`)
		return nil, false
	}
	if s.Expand == keys.ExpandNone && reference.Written(v) {
		c.reportError(at, n.Off, wherePlaced.text, wherePlaced.hint)
		return nil, false
	}
	if s.Expand != keys.ExpandNone {
		if foreign.MatchString(v) {
			c.reportProblem(SeverityNote, at, n.Off, `a variable is named as in other clients; the text is passed on as it stands`, "write ${NAME} if the variable's value is meant")
		}
		var ok bool
		if v, ok = c.expandText(at, n, s); !ok {
			return nil, false
		}
	}
	if s.Valid != nil {
		if bad := s.Valid(v); bad != "" {
			if s.Expand == keys.ExpandNone && v != "" {
				bad = jsonc.Quote(v) + " " + bad
			}
			if c.soft && v != n.Text {
				c.reportProblem(SeverityWarning, at, n.Off, bad+" once its variables are replaced; the entry names no directory", "")
				return n.Text, true // as written, which nothing is called: dropped, it would be as if it had never been there
			}
			c.reportError(at, n.Off, bad, "")
			return nil, false
		}
	}
	return v, true
}

func (c *checker) expandText(at []string, n *jsonc.Node, s *keys.Spec) (string, bool) {
	e := expander{env: c.env, later: s.Expand == keys.ExpandLater, secrets: s.Secrets}
	v, bad := e.expandText(n.Text, 0)
	if bad == nil && e.roots && !e.later {
		bad = &expandError{"${root} and ${roots} have no meaning here", "they are known to a child's args, env and cwd"}
	}
	if bad == nil {
		if bad = e.unsetError(); bad != nil && c.idle {
			return n.Text, true
		} else if bad != nil && c.soft {
			c.reportProblem(SeverityWarning, at, n.Off, bad.text+"; the entry names no directory", bad.hint)
			return n.Text, true
		}
	}
	if bad != nil {
		c.reportError(at, n.Off, bad.text, bad.hint)
		return "", false
	}
	return v, true
}
