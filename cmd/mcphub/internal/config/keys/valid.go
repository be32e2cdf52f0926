package keys

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"mcphub/hub/toolset"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/principal"
	"mcphub/internal/reference"
	"mcphub/validate/resource"
)

// The functions here report what is wrong with a text, or "". They never
// repeat the text: it may hold a secret.

var (
	serverName = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)
	variable   = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	shownName  = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)
	nodeName   = lazyregexp.New("^[A-Za-z0-9.:_-]{1,100}$")
	headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// IsServerName reports a name that a server may have, but for the separator.
func IsServerName(s string) bool { return serverName.MatchString(s) }

// IsPlainVariable reports the name of a variable as shells have them.
func IsPlainVariable(s string) bool { return variable.MatchString(s) }

func notEmpty(s string) string {
	if strings.TrimSpace(s) == "" {
		return "must not be empty"
	}
	return ""
}

// notLonger is for a text that clients read.
func notLonger(most int) func(string) string {
	return func(s string) string {
		if len(s) > most {
			return fmt.Sprintf("has %d bytes, and %d are the most", len(s), most)
		}
		return ""
	}
}

// checkGroup is for the name of a group of people.
func checkGroup(s string) string {
	if bad := notEmpty(s); bad != "" {
		return bad
	}
	return principal.CheckName(s)
}

// checkTokenName is for the name of a token.
func checkTokenName(s string) string {
	switch strings.TrimSpace(s) {
	case principal.Local:
		return "is what the record, status and rules call the user of this machine; give the token another name"
	case principal.Nobody:
		return "is what the record, status and rules call whoever comes without a token; give the token another name"
	}
	return checkGroup(s)
}

// CheckVariable leaves other systems their names, ProgramFiles(x86) among them.
func CheckVariable(s string) string {
	if s == "" || strings.ContainsAny(s, "=\x00") {
		return "is no name of a variable; write letters, digits and _"
	}
	return ""
}

// checkToolset keeps to what a URL names without being escaped.
func checkToolset(s string) string {
	if !toolset.IsName(s) {
		return "is no name of a toolset; write at most 64 letters, digits and _ - ."
	}
	return ""
}

func checkNode(s string) string {
	if !nodeName.MatchString(s) {
		return "is no name of a hub; write at most 100 letters, digits and . : _ -"
	}
	return ""
}

func checkHeader(s string) string {
	if !headerName.MatchString(s) {
		return "is no name of an HTTP header; write letters, digits and -"
	}
	return ""
}

func noBreak(s string) string {
	if strings.ContainsAny(s, "\r\n") {
		return "holds a line break, which no HTTP header can; take it out"
	}
	return ""
}

func checkResource(s string) string {
	if err := resource.Valid(s); err != nil {
		return "is no prefix of URIs: " + err.Error()
	}
	return ""
}

// checkPattern keeps to what path.Match refuses: an unclosed class, a lone backslash.
func checkPattern(s string) string {
	if s == "" {
		return "must not be empty"
	}
	if _, err := path.Match(s, ""); err != nil {
		return "is no pattern; close the [ or take the \\ at the end out"
	}
	return ""
}

func checkToolName(s string) string {
	if s == "" || strings.ContainsRune(s, 0) {
		return "is no name of a tool"
	}
	return ""
}

// rateUnits are what a rate may be for.
var rateUnits = map[string]time.Duration{"s": time.Second, "sec": time.Second, "min": time.Minute, "m": time.Minute, "h": time.Hour, "hour": time.Hour}

// maxRate is the most calls of a rate: the time of each is remembered.
const maxRate = 100_000

// ParseRate reads a number of calls for a period, such as "60/min". "" is none.
func ParseRate(s string) (n int, per time.Duration, ok bool) {
	if s == "" {
		return 0, 0, true
	}
	count, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	per = rateUnits[strings.TrimSpace(unit)]
	return n, per, err == nil && n > 0 && n <= maxRate && per > 0
}

func checkRate(s string) string {
	if _, _, ok := ParseRate(s); !ok {
		return `is no rate; write a number up to 100000 and a unit: "10/s", "60/min", "1000/h"`
	}
	return ""
}

// checkShownName is for what clients know as the name of a tool.
func checkShownName(s string) string {
	if !shownName.MatchString(s) {
		return "is no name of a tool for clients; write at most 64 letters, digits and _ . -"
	}
	return ""
}

// checkPointer checks a JSON pointer (RFC 6901) to something inside the arguments.
func checkPointer(s string) string {
	if !strings.HasPrefix(s, "/") {
		return `is no JSON pointer; write "/" before it`
	}
	for i := range len(s) {
		if s[i] == 0 {
			return "holds a NUL character"
		}
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return `is no JSON pointer: "~" is written "~0"`
		}
	}
	return ""
}

func checkSeparator(s string) string {
	if !serverName.MatchString(s) || len(s) > 8 {
		return "must be 1 to 8 of A-Z a-z 0-9 _ . -"
	}
	return ""
}

func checkPrefix(s string) string {
	if s != "" && !serverName.MatchString(s) || len(s) > 64 {
		return "must be at most 64 of A-Z a-z 0-9 _ . -"
	}
	return ""
}

// checkCollector returns what is wrong with the address of a collector; "" if nothing is.
func checkCollector(s string) string {
	network, address, _ := strings.Cut(s, "://")
	if host, port, err := net.SplitHostPort(address); network != "tcp" && network != "tls" || err != nil || host == "" || port == "" {
		return "is no address of a collector; want tcp://HOST:PORT or tls://HOST:PORT"
	}
	return ""
}

func checkListen(s string) string {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return "is no address; want HOST:PORT, such as 127.0.0.1:8080"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > math.MaxUint16 {
		return "has no port from 0 to 65535; want HOST:PORT, such as 127.0.0.1:8080"
	}
	return ""
}

// checkNetwork looks at an address or a network.
func checkNetwork(s string) string {
	if _, err := ParseNetwork(s); err != nil {
		return "is no address and no network; want such as 10.0.0.7 or 10.0.0.0/8"
	}
	return ""
}

// ParseNetwork reads a network as in CIDR; an address is one of its own.
func ParseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		addr = addr.Unmap()
		return addr.Prefix(addr.BitLen())
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

// ParsePeer reads the address of another hub: http or https, a name or an address, and a port if need be.
func ParsePeer(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("write it as http://NAME:PORT or https://NAME:PORT")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "", u.User != nil:
		return nil, errors.New("it has more than a scheme, a name and a port")
	}
	u.Path = ""
	return u, nil
}

func checkPeer(s string) string {
	if _, err := ParsePeer(s); err != nil {
		return "is no address of a hub: " + err.Error()
	}
	return ""
}

// CheckURL looks at an address that may hold references to secrets. Which host it
// is must be written: no secret decides where the others are sent.
func CheckURL(s string) string {
	scheme, rest, _ := strings.Cut(s, "://")
	authority, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/")
	u, err := url.Parse(reference.Blank(s, "secret"))
	switch {
	case reference.Has(scheme) || reference.Has(authority):
		return "takes its host from a secret, which must be written; a user and a password belong under headers"
	case err != nil:
		return "is no URL" // err would repeat it
	case u.Scheme != "http" && u.Scheme != "https":
		return "is no http or https URL"
	case u.Hostname() == "":
		return "has no host"
	}
	return ""
}

// checkEndpoint looks at the address of the hub itself: tokens are made out to it.
func checkEndpoint(s string) string {
	if wrong := checkIssuer(s); wrong != "" {
		return wrong
	}
	if u, err := url.Parse(s); err != nil || strings.TrimSuffix(u.Path, "/") != "/mcp" {
		return "does not end in /mcp, where the hub answers"
	}
	return ""
}

// checkIssuer looks at an address that is also a name: what it serves decides who may
// call, so it is https, or on this machine.
func checkIssuer(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return "is no URL"
	case u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(s, "#") || strings.HasSuffix(s, "?"):
		return "has a query or a fragment"
	case u.Scheme == "https":
		return ""
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback()) {
		return ""
	}
	return "is not https"
}

// checkDocument looks at the address of a client id metadata document.
func checkDocument(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil:
		return "is no https address"
	case len(u.Path) < 2 || u.Fragment != "":
		return "is no address of a document: it needs a path, and no fragment"
	}
	return ""
}

// checkRedirectPath is for the path of a redirect, which is compared to the letter: browsers and libraries leave such a one
// as it is.
func checkRedirectPath(s string) string {
	switch {
	case !strings.HasPrefix(s, "/"):
		return "does not begin with /"
	case s != "/" && path.Clean(s) != strings.TrimSuffix(s, "/") || strings.Trim(s, redirectSigns) != "":
		return "holds more than names of letters, digits and - . _ ~ between single slashes"
	}
	return ""
}

const redirectSigns = "/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// checkRemote is for the beginning of the URI of a root.
func checkRemote(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.") != "" || len(scheme) < 2 ||
		!strings.EqualFold(scheme, "file") && (rest == "" || rest[0] == '/') || strings.ContainsAny(rest, "\x00\r\n") {
		return `is no beginning of a URI; want SCHEME://HOST/PATH, as get-roots shows a root that was skipped`
	}
	return ""
}

func checkPin(s string) string {
	sum, ok := strings.CutPrefix(s, "sha256/")
	if raw, err := base64.StdEncoding.Strict().DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size {
		return `is no pin; want "sha256/" and 44 characters of base64, as the error of a pin that does not fit prints it`
	}
	return ""
}

// orNone takes an empty text too.
func orNone(valid func(string) string) func(string) string {
	return func(s string) string {
		if s == "" {
			return ""
		}
		return valid(s)
	}
}
