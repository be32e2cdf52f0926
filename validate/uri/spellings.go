package uri

import (
	"slices"
	"strings"

	"mcphub/validate/chars"
)

// Spellings returns a URI as sent, as URL parsers write it, and decoded again. A server is handed the URI of a resource
// as it was sent, but few servers match that: an SDK parses it first (the URL of WHATWG, AnyUrl of pydantic) and matches
// what that writes.
func Spellings(uri string) (list []string) {
	for _, s := range []string{uri, chars.DecodePercent(uri)} {
		clean := cleanURI(s)
		head, _ := chars.CutQuery(clean)
		for _, spelling := range []string{s, clean, resolveDots(clean), head, resolveDots(head)} {
			if !slices.Contains(list, spelling) {
				list = append(list, spelling)
			}
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
	s = chars.Breaks.Replace(s)
	name, rest, ok := cutAnyScheme(s)
	if !ok {
		return s
	}
	port, special := specialPorts[name]
	if !special {
		return name + ":" + rest
	}
	head, tail := chars.CutQuery(rest)
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
	name, rest, ok := cutAnyScheme(s)
	if !ok {
		return s
	}
	rest, tail := chars.CutQuery(rest)
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

// AfterScheme returns what follows the scheme of a URI that may hold a path all the same. file: is read elsewhere, and the
// schemes of the web hold none unless a template of the child, or one that begins with a variable, reports that it serves
// them.
func AfterScheme(uri string, templates []string) (rest string, ok bool) {
	cut := cutScheme
	if Serves(templates, uri) {
		cut = cutAnyScheme
	}
	name, rest, ok := cut(uri)
	if !ok || name == "file" {
		return "", false
	}
	return rest, !plainSchemes[name] || slices.ContainsFunc(templates, func(t string) bool {
		own, _, ok := strings.Cut(t, ":")
		return ok && strings.EqualFold(own, name) || strings.HasPrefix(t, "{")
	})
}
