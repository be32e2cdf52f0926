package platform

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// URIError reports why a URI names no local path.
type URIError struct{ Raw, Reason string }

func (e *URIError) Error() string {
	return fmt.Sprintf("file URI %s: %s", Quote(e.Raw), e.Reason)
}

const (
	notFile      = "is not a file: URI"
	notLocal     = "names another host; only an empty authority or localhost is local"
	notAbsolute  = "has no absolute path"
	encodedSlash = "hides a path separator in a percent-encoded octet"
	encodedNUL   = "holds NUL"
	badEscape    = "holds a % that begins no escape"
	badUTF8      = "is not UTF-8 once decoded"
	ambiguous    = "is read differently by different programs; percent-encode its special characters"
	control      = "holds a control character"
	noDrive      = "has neither a drive nor a share"
)

// ForeignHost reports that the URI names another host.
func (e *URIError) ForeignHost() bool { return e.Reason == notLocal }

// IsFileURI reports whether raw begins with the file scheme, in any case.
func IsFileURI(raw string) bool {
	return len(raw) >= 5 && strings.EqualFold(raw[:5], "file:")
}

// HasOtherScheme reports whether raw is a URI of another scheme than file. One
// letter is a drive.
func HasOtherScheme(raw string) bool {
	scheme, _, ok := strings.Cut(raw, ":")
	if !ok || len(scheme) < 2 || IsFileURI(raw) {
		return false
	}
	for i, c := range []byte(scheme) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return true
}

// ParseRootURI returns the path of a root as clients really send it (RFC
// 8089): any letter case of the scheme, file:/x and file:///x, an empty or
// localhost authority, percent-decoded exactly once. Some clients put file://
// before a raw path, so raw blanks, "#" and "?" belong to the path, and so does
// a "%" that begins no escape; nothing is ever cut off, since what is left
// would be another directory. An encoded separator, NUL, what is not UTF-8 once
// decoded, and control characters are refused. The path is not cleaned.
func (p Platform) ParseRootURI(raw string) (string, error) {
	name, reason := p.parseURI(raw, true)
	if reason == "" && HasControl(name) {
		reason = control
	}
	if reason != "" {
		return "", &URIError{Raw: raw, Reason: reason}
	}
	return name, nil
}

// ParseURI returns the path of a URI that has exactly one reading, and an error
// where programs differ. Use [Platform.ReadURI] to judge all readings instead.
func (p Platform) ParseURI(raw string) (string, error) {
	all, err := p.ReadURI(raw)
	if err != nil {
		return "", err
	}
	if len(all) != 1 {
		return "", &URIError{Raw: raw, Reason: ambiguous}
	}
	return all[0], nil
}

// ReadURI returns every path that a program may take a file URI in an argument
// for. Programs differ on "?" and "#" (cut off by URL parsers, kept by the
// ones that only strip the scheme), on backslashes (URL parsers take them for
// slashes) and on blanks at the end. Stricter than ParseRootURI: a bad escape
// or a raw control character, which URL parsers drop, is an error. So is the
// whole URI where any one reading fails. The paths are decoded once and not
// cleaned.
func (p Platform) ReadURI(raw string) ([]string, error) {
	if HasControl(raw) {
		return nil, &URIError{Raw: raw, Reason: control}
	}
	spellings := []string{raw}
	for _, alter := range []func(string) string{
		func(s string) string { return strings.TrimRightFunc(s, isTrimmed) },
		func(s string) string { return strings.ReplaceAll(s, `\`, "/") },
		cutTail,
		// What precedes a cut tail may end in blanks in turn.
		func(s string) string { return strings.TrimRightFunc(s, isTrimmed) },
	} {
		for _, s := range spellings {
			if other := alter(s); !slices.Contains(spellings, other) {
				spellings = append(spellings, other)
			}
		}
	}
	var paths []string
	for _, s := range spellings {
		name, reason := p.parseURI(s, false)
		if reason != "" {
			return nil, &URIError{Raw: raw, Reason: reason}
		}
		if !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	return paths, nil
}

// isTrimmed reports what some runtime drops from the end of a string: Unicode
// blanks, the byte order mark and the zero-width space.
func isTrimmed(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' }

func cutTail(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i]
	}
	return s
}

// parseURI returns the decoded path of raw, or the reason why there is none.
func (p Platform) parseURI(raw string, tolerant bool) (name, reason string) {
	if !IsFileURI(raw) {
		return "", notFile
	}
	rest := raw[5:]
	if p == Windows {
		rest = strings.ReplaceAll(rest, `\`, "/")
	}
	host := ""
	switch {
	case strings.HasPrefix(rest, "//") && p == Windows && IsDrive(rest[2:]):
		rest = rest[2:] // file://C:\x: a raw path after the scheme
	case strings.HasPrefix(rest, "//"):
		host = rest[2:]
		rest = ""
		if i := strings.IndexAny(host, "/?#"); i >= 0 {
			host, rest = host[:i], host[i:]
		}
		if strings.EqualFold(host, "localhost") {
			host = ""
		}
	}
	if host != "" && (p != Windows || !isUNCHost(host)) {
		return "", notLocal
	}
	// file:C:/x is RFC 8089 appendix E.2.
	if !strings.HasPrefix(rest, "/") && !(p == Windows && host == "" && IsDrive(rest)) {
		return "", notAbsolute
	}
	name, reason = p.decodePercent(rest, tolerant)
	if reason != "" || p != Windows {
		return name, reason
	}
	return windowsPath(host, name)
}

// isUNCHost reports whether host may be the server of a UNC path: a plain name
// or address that is not this machine under another name.
func isUNCHost(host string) bool {
	for i := 0; i < len(host); i++ {
		c := host[i]
		if !isLetter(c) && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return host[0] != '.' && !strings.HasPrefix(host, "127.") && !strings.EqualFold(strings.TrimRight(host, "."), "localhost")
}

// windowsPath turns the decoded path of a URI into a drive or UNC path.
func windowsPath(host, name string) (string, string) {
	if host != "" {
		unc := `\\` + host + strings.ReplaceAll(name, "/", `\`)
		if Windows.RootLen(unc) == 0 {
			return "", noDrive
		}
		return unc, ""
	}
	if strings.HasPrefix(name, "//") { // file:////server/share, appendix E.3.2
		host, rest, ok := strings.Cut(strings.TrimLeft(name, "/"), "/")
		if !ok || host == "" || !isUNCHost(host) {
			return "", noDrive
		}
		return windowsPath(host, "/"+rest)
	}
	name = Windows.FromMSYS(name)
	name = strings.TrimPrefix(name, "/")
	if !IsDrive(name) {
		return "", noDrive
	}
	drive, rest := strings.ToUpper(name[:1])+":", strings.ReplaceAll(name[2:], "/", `\`)
	if rest == "" {
		rest = `\`
	}
	if rest[0] != '\\' {
		return "", notAbsolute // C:x is relative to the drive's own directory
	}
	return drive + rest, ""
}

// decodePercent resolves percent-escapes, once. Tolerant keeps a "%" that begins none.
func (p Platform) decodePercent(s string, tolerant bool) (string, string) {
	if strings.IndexByte(s, 0) >= 0 {
		return "", encodedNUL
	}
	if strings.IndexByte(s, '%') >= 0 {
		out := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			if s[i] != '%' {
				out = append(out, s[i])
				continue
			}
			if i+2 >= len(s) || hexValue(s[i+1]) < 0 || hexValue(s[i+2]) < 0 {
				if !tolerant {
					return "", badEscape
				}
				out = append(out, '%')
				continue
			}
			c := byte(hexValue(s[i+1])<<4 | hexValue(s[i+2]))
			switch {
			case c == 0:
				return "", encodedNUL
			case c == '/', c == '\\' && p == Windows:
				return "", encodedSlash
			}
			out = append(out, c)
			i += 2
		}
		s = string(out)
	}
	if !utf8.ValidString(s) {
		return "", badUTF8
	}
	return s, ""
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// FormatURI returns the canonical URI of an absolute path: lower-case scheme,
// empty authority (a server's name on Windows), every octet that is not an
// RFC 3986 pchar or "/" percent-encoded in upper case. A path that is not
// absolute gives "".
func (p Platform) FormatURI(path string) string {
	if !p.IsAbs(path) {
		return ""
	}
	lead := "file://"
	if p == Windows {
		path = strings.ReplaceAll(path, `\`, "/")
		if strings.HasPrefix(path, "//") {
			path = path[2:] // the server becomes the authority
		} else {
			lead = "file:///"
		}
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(lead) + len(path) + 8)
	b.WriteString(lead)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if isPchar(c) || c == '/' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// isPchar reports an octet that RFC 3986 lets stand for itself in a path.
func isPchar(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@", c) >= 0
}

// HasControl reports a C0 control character or DEL.
func HasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7F })
}

// Quote makes hostile text fit for a log line or a message: escaped, clipped.
func Quote(s string) string {
	const most = 200
	if short := Clip(s, most); len(short) < len(s) {
		return fmt.Sprintf("%q... (%d bytes)", short, len(s))
	}
	return fmt.Sprintf("%q", s)
}

// Clip cuts s to at most that many bytes, between two characters.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
