package resource

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"mcphub/validate/chars"
)

// longest is how long a URI may be: no server takes a longer one.
const longest = 1 << 16

// A candidate is one text that a program may take for a URI.
type candidate struct {
	text   string
	scheme string
	rest   string // behind the colon
}

// listCandidates returns the URIs that a text may stand for: itself, what is
// inside a scheme that wraps another one, the parts of a list, and what takes its
// scheme from a page, read as each web scheme. Blanks and quotes at the edges may
// be dropped.
func (s *Set) listCandidates(text string) (list []candidate) {
	whole := strings.TrimFunc(text, isEdge)
	if len(whole) > 2 && chars.IsSlash(whole[0]) && chars.IsSlash(whole[1]) {
		for _, scheme := range webSchemes {
			list = append(list, candidate{whole, scheme, whole})
		}
	}
	begin, parts := 0, 0
	for at := 0; at < len(whole); {
		next := strings.IndexAny(whole[at:], " \t\r\n,;|")
		if next < 0 {
			break
		}
		if at += next + 1; s.beginsURI(whole[at:]) {
			list = appendWrapped(list, strings.TrimFunc(whole[begin:at-1], isEdge))
			begin = at
			parts++
		}
	}
	list = appendWrapped(list, strings.TrimFunc(whole[begin:], isEdge))
	if parts > 0 { // all the same it may be one
		list = appendWrapped(list, chars.Breaks.Replace(whole))
	}
	return list
}

// beginsURI reports a part of a list that begins like a URI of a bound scheme.
func (s *Set) beginsURI(part string) bool {
	part = part[:min(len(part), 128)]
	scheme, _, ok := cutScheme(strings.TrimLeftFunc(part, isEdge))
	return ok && s.bindsScheme(scheme)
}

// appendWrapped adds a text, and what its scheme wraps: view-source:https://x.
func appendWrapped(list []candidate, text string) []candidate {
	for range 8 {
		scheme, rest, ok := cutScheme(text)
		if !ok {
			break
		}
		list = append(list, candidate{text, scheme, rest})
		text = rest
	}
	return list
}

// cutScheme takes the scheme off a URI, in lower case. Tabs and line ends in it
// are passed over, as browsers do.
func cutScheme(s string) (scheme, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() <= 64; i++ {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		switch {
		case c == ':':
			return b.String(), s[i+1:], b.Len() > 1 // one letter is a drive
		case c == '\t' || c == '\n' || c == '\r':
		case letter:
			b.WriteByte(c | 0x20)
		case b.Len() > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
			b.WriteByte(c)
		default:
			return "", "", false
		}
	}
	return "", "", false
}

// An address is a URI, taken apart.
type address struct {
	scheme, host string
	port         string // "" for the default one
	path         string // as it is written, "/" for none
	tail         string // query and fragment
}

func (a address) String() string {
	host := a.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if a.port != "" {
		host += ":" + a.port
	}
	return a.scheme + "://" + host + a.path + a.tail
}

// webSchemes are the web schemes that browsers read by rules of their own.
var webSchemes = []string{"https", "http", "wss", "ws", "ftp"}

func isWeb(scheme string) bool { return slices.Contains(webSchemes, scheme) }

// defaultPorts of schemes, for which a port need not be written.
var defaultPorts = map[string]string{
	"https": "443", "http": "80", "wss": "443", "ws": "80", "ftp": "21", "ftps": "990", "sftp": "22", "ssh": "22", "scp": "22", "git": "9418",
	"git+https": "443", "git+http": "80", "git+ssh": "22", "ssh+git": "22", "svn": "3690", "svn+ssh": "22", "ldap": "389", "ldaps": "636",
	"redis": "6379", "rediss": "6379", "postgres": "5432", "postgresql": "5432", "mysql": "3306", "mongodb": "27017", "amqp": "5672", "amqps": "5671",
}

// parseAddress takes a URI apart behind its scheme. why is the reason that it has no
// reading on which programs agree.
func parseAddress(scheme, rest string) (a address, why string) {
	if len(rest) > longest {
		return a, "it is longer than any URI that is read"
	}
	if !utf8.ValidString(rest) || strings.ContainsFunc(rest, isControl) {
		return a, "it holds a character that no URI has"
	}
	after, ok := strings.CutPrefix(rest, "//")
	if !ok || after != "" && chars.IsSlash(after[0]) && (isWeb(scheme) || after[0] == '\\') {
		return a, "programs disagree on what its host is: two slashes and the host have to follow the scheme"
	}
	authority, path := after, ""
	if i := strings.IndexAny(after, `/?#\`); i >= 0 {
		authority, path = after[:i], after[i:]
	}
	untilSlash, _, _ := strings.Cut(after, "/")
	switch {
	case strings.Contains(untilSlash, "@"):
		return a, "it names a user"
	case strings.ContainsAny(untilSlash, `\`):
		return a, "programs disagree on where its host ends: there is a backslash"
	}
	a.scheme = scheme
	if a.host, a.port, why = readHost(scheme, authority); why != "" {
		return a, why
	}
	if a.path, a.tail = chars.CutQuery(path); a.path == "" {
		a.path = "/"
	}
	return a, ""
}

// readHost reads the host and the port.
func readHost(scheme, authority string) (host, port, why string) {
	if inner, ok := strings.CutPrefix(authority, "["); ok {
		literal, after, closed := strings.Cut(inner, "]")
		addr, err := netip.ParseAddr(literal)
		if !closed || err != nil || !addr.Is6() || addr.Zone() != "" || after != "" && after[0] != ':' {
			return "", "", "its host is no address"
		}
		host, port = addr.String(), strings.TrimPrefix(after, ":")
	} else {
		host, port, _ = strings.Cut(authority, ":")
		if host, why = readName(scheme, host); why != "" {
			return "", "", why
		}
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", "", "its port is no number"
		}
		if port = strconv.FormatUint(n, 10); port == defaultPorts[scheme] {
			port = ""
		}
	}
	return host, port, ""
}

// The two mappings of names with letters beyond ASCII.
var (
	transitional    = idna.New(idna.MapForLookup(), idna.Transitional(true), idna.BidiRule())
	nonTransitional = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule())
)

// readName reads a host that is a name. One beyond ASCII counts where both
// mappings of IDNA, and none, make the same of it.
func readName(scheme, name string) (host, why string) {
	if name == "" && isWeb(scheme) {
		return "", "it names no host"
	}
	for _, r := range name {
		switch {
		case r >= utf8.RuneSelf, r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-._", r):
		case !isWeb(scheme) && strings.ContainsRune("!$&'()*+,;=~", r):
		default:
			return "", "its host holds a character that programs read differently"
		}
	}
	if isASCII(name) {
		return strings.ToLower(name), ""
	}
	plain, err := idna.Punycode.ToASCII(lowerASCII(name))
	one, errOne := transitional.ToASCII(name)
	other, errOther := nonTransitional.ToASCII(name)
	if err != nil || errOne != nil || errOther != nil || one != other || one != plain {
		return "", "programs read its host differently"
	}
	return plain, ""
}

// lowerASCII changes letters of ASCII alone: others may become ASCII by it.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r | 0x20
		}
		return r
	}, s)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// isEdge reports what a program may drop around a value.
func isEdge(r rune) bool {
	return r <= 0x20 || r >= 0x7f && r <= 0xa0 || strings.ContainsRune("\"'`<>\u2018\u2019\u201c\u201d\u200b\u200c\u200d\u2060\ufeff\u2028\u2029", r)
}
