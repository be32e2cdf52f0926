package validate

import (
	"slices"
	"strings"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

// A server is handed the URI of a resource as it was sent, but few servers match that: an SDK parses it first (the URL
// of WHATWG, AnyUrl of pydantic) and matches what that writes, and a server without templates slices it by hand. So a
// URI is judged in every spelling, and what follows its scheme as what a slicing server would open.

// uriSpellings are the URI as sent, as URL parsers write it, and decoded once more.
func uriSpellings(uri string) []string {
	list := []string{uri}
	add := func(s string) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, s := range []string{uri, chars.DecodePercent(uri)} {
		add(s)
		clean := cleanURI(s)
		add(clean)
		add(resolveDots(clean))
		if i := strings.IndexAny(clean, "?#"); i >= 0 {
			add(clean[:i])
			add(resolveDots(clean[:i]))
		}
	}
	return list
}

// specialPorts are the special schemes of WHATWG: their hosts have no case, their default port is left out, and a
// backslash is a slash.
var specialPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": ""}

// cleanURI writes the front of a URI as WHATWG's parser does: controls and blanks at the edges, tabs and line ends
// dropped, the scheme in lower case; with a special scheme the host too, without user and default port.
func cleanURI(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(s)
	name, rest, ok := cutScheme(s)
	if !ok {
		return s
	}
	port, special := specialPorts[name]
	if !special {
		return name + ":" + rest
	}
	head, tail := rest, ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		head, tail = rest[:i], rest[i:]
	}
	head = strings.ReplaceAll(head, `\`, "/")
	host := strings.TrimLeft(head, "/")
	if name == "file" {
		after, ok := strings.CutPrefix(head, "//")
		if !ok {
			return name + ":" + head + tail
		}
		host = after
	}
	host, p, slash := strings.Cut(host, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	host = strings.ToLower(chars.DecodePercent(host))
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		if n := strings.TrimLeft(host[i+1:], "0"); n == "" || n == port {
			host = host[:i]
		}
	}
	if slash {
		host += "/"
	}
	return name + "://" + host + p + tail
}

// resolveDots removes the dot segments of a URI's path, %2e included.
func resolveDots(s string) string {
	name, rest, ok := cutScheme(s)
	if !ok {
		return s
	}
	tail := ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest, tail = rest[:i], rest[i:]
	}
	host := ""
	if after, has := strings.CutPrefix(rest, "//"); has {
		i := strings.IndexByte(after, '/')
		if i < 0 {
			return s
		}
		host, rest = "//"+after[:i], after[i:]
	}
	if !strings.HasPrefix(rest, "/") {
		return s
	}
	var out []string
	segments := strings.Split(rest[1:], "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case "..":
			out = out[:max(0, len(out)-1)]
		case ".":
		default:
			out = append(out, segment)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return name + ":" + host + "/" + strings.Join(out, "/") + tail
}

const maxEnds = 4 // components that a server may cut off the path of a URI

// sliced judges what follows the scheme of a URI, from each of its slashes on. That a URI holds no path is the rule, so
// every slice counts only where something is there. The schemes of the web count only where the child itself says by a
// template that it serves them.
func (d *detector) sliced(id int32, spellings, templates []string) {
	p := place{key: -1}
	if len(spellings[0]) > maxURI && len(templates) > 0 {
		d.add(Finding{Value: spellings[0], How: HowURI, node: id}, p) // longer than what templates are held against
		return
	}
	for _, s := range spellings {
		name, rest, ok := cutScheme(s)
		if !ok || name == "file" || plainSchemes[name] && !servesScheme(templates, name) {
			continue
		}
		rest = strings.TrimPrefix(rest, "//")
		begin := 0
		for n := 0; d.work.Spend(budget.FindSteps); n++ {
			if n < 2 && rest[begin:] != "" && rest[begin] != '/' { // the path of a URL, or one whose first slash is left out
				if _, err := d.m.FS.Lstat("/" + rest[begin:]); err == nil {
					d.slice(id, "/"+rest[begin:], p)
				}
			}
			// What climbs within the path is part of the slices before it; behind the host it is not.
			if n < 2 || !strings.HasPrefix(chars.DecodePercent(rest[begin:]), "..") {
				d.slice(id, rest[begin:], p)
			}
			next := strings.IndexByte(rest[begin:], '/')
			if next < 0 || begin+next+1 >= len(rest) {
				break
			}
			begin += next + 1
		}
	}
}

// slice judges one path that a URI may hold, and what stands before its last components.
func (d *detector) slice(id int32, s string, p place) {
	for range maxEnds {
		if s == "" {
			return
		}
		for range 2 {
			if _, ok := d.broadly(s); ok {
				d.add(Finding{Value: s, How: HowURI, form: formWord, node: id}, p)
			} else if s[0] != '/' {
				d.name(id, s, p, false)
			}
			decoded := chars.DecodePercent(s)
			if decoded == s {
				break
			}
			s = decoded
		}
		i := strings.LastIndexByte(s, '/')
		if i <= 0 {
			return
		}
		s = s[:i]
	}
}

// servesScheme reports whether a child has a template of a scheme, or one that begins with a variable.
func servesScheme(templates []string, name string) bool {
	return slices.ContainsFunc(templates, func(t string) bool {
		own, _, ok := strings.Cut(t, ":")
		return ok && strings.EqualFold(own, name) || strings.HasPrefix(t, "{")
	})
}
