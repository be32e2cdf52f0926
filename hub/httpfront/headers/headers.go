package headers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/tracing"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/mirror"
	"mcphub/internal/printable"
)

// Names of headers.
const (
	Session   = "Mcp-Session-Id"
	Protocol  = "MCP-Protocol-Version"
	LastEvent = "Last-Event-ID"
	Node      = "Mcphub-Node" // of the answer to a request for another hub: the name of that

	// ModernVersion is the version of the era without a handshake.
	ModernVersion = mcp.ProtocolVersion20260728
)

// handshakeVersions are the handshake versions of the era of the handshake.
var handshakeVersions = mcp.LegacyProtocolVersions()

// Keys of http.Header: what is looked up in every request need not be spelled
// again each time.
var (
	keySession  = http.CanonicalHeaderKey(Session)
	keyProtocol = http.CanonicalHeaderKey(Protocol)
)

// SessionOf returns the Mcp-Session-Id of a request, "" if it has none.
func SessionOf(h http.Header) string {
	if v := h[keySession]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// onceKeys are headers that say whose a request is, and how it is to be read. The one
// who stands before the hub may have gone by another of two. The first three count in
// both eras; of the others the one without a handshake has rules of its own.
var onceKeys = []string{"Authorization", "Content-Type", "Content-Encoding", keySession, keyProtocol, http.CanonicalHeaderKey(LastEvent)}

// DuplicateHeader returns the first header that may be there once and is there more
// often; "" where none is.
func DuplicateHeader(h http.Header) string {
	for i, key := range onceKeys {
		if len(h[key]) > 1 && (i < 3 || !IsModern(h)) {
			return key
		}
	}
	return ""
}

// A mismatchError describes which header a request was refused for (-32020).
type mismatchError struct{ header, reason string }

func (e *mismatchError) Error() string {
	return "header mismatch: " + e.header + " " + e.reason
}

// Mismatch returns the error of a header that says something else than the body; see [MismatchAnswer].
func Mismatch(header, reason string, args ...any) error {
	return &mismatchError{header, fmt.Sprintf(reason, args...)}
}

// MismatchAnswer returns the answer to a request whose headers are not its body's.
func MismatchAnswer(err error) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(mcp.HEADER_MISMATCH, err.Error())
}

// NonHandshakeVersion returns the first version named by the headers that no handshake agrees on,
// be it served or not; "" if they name none.
func NonHandshakeVersion(h http.Header) string {
	for _, v := range h[keyProtocol] {
		if v != "" && !slices.Contains(handshakeVersions, v) {
			return v
		}
	}
	return ""
}

// IsModern reports whether the headers alone make a request one of the era
// without a handshake, of a version that is not served included.
func IsModern(h http.Header) bool { return NonHandshakeVersion(h) != "" }

// HasVersion reports whether the headers name a version.
func HasVersion(h http.Header, version string) bool { return slices.Contains(h[keyProtocol], version) }

// CheckVersion compares the version that the headers name with that of the body
// of a modern request. A body that names none is left to the one who reads
// _meta: what is missing there is no mismatch.
func CheckVersion(h http.Header, m *jsonrpc.Message) error {
	version, named := jsonrpc.GetString(m.Param("_meta"), mcp.MetaKeyProtocolVersion)
	said, err := singleValue(h, Protocol)
	switch {
	case err != nil:
		return err
	case said == "":
		return Mismatch(Protocol, "is missing: it has to name the version that _meta names")
	case named && said != version:
		return Mismatch(Protocol, "is %q and _meta names %q", printable.Escape(said, 40), printable.Escape(version, 40))
	}
	return nil
}

// CheckMethod compares the headers that mirror the method of a modern request,
// and what it is about.
func CheckMethod(h http.Header, m *jsonrpc.Message) error {
	method, err := singleValue(h, mcp.HeaderMethod)
	switch {
	case err != nil:
		return err
	case method == "":
		return Mismatch(mcp.HeaderMethod, "is missing: it has to be the method of the body")
	case method != m.Method:
		return Mismatch(mcp.HeaderMethod, "is %q and the method of the body is %q", printable.Escape(method, 100), printable.Escape(m.Method, 100))
	}
	return checkName(h, m)
}

// checkName compares Mcp-Name. If a method has no such header, one that is
// there all the same says nothing.
func checkName(h http.Header, m *jsonrpc.Message) error {
	member := methods.Of(m.Method).Header
	if member == "" {
		return nil
	}
	said, present, err := mirroredValue(h, mcp.HeaderName)
	if err != nil {
		return err
	}
	name, ok := jsonrpc.String(m.Param(member))
	switch {
	case !ok && present:
		return Mismatch(mcp.HeaderName, "is there, and the body has no string at /params/%s", member)
	case !ok:
		return nil // the request is refused for what it lacks
	case !present:
		return Mismatch(mcp.HeaderName, "is missing: it has to be what stands at /params/%s", member)
	case said != name:
		return Mismatch(mcp.HeaderName, "is %q and the body has %q at /params/%s", printable.Escape(said, 100), printable.Escape(name, 100), member)
	}
	return nil
}

// Keys of http.Header for the context of a trace.
var (
	keyParent  = http.CanonicalHeaderKey(tracing.Parent)
	keyState   = http.CanonicalHeaderKey(tracing.State)
	keyBaggage = http.CanonicalHeaderKey(tracing.Baggage)
)

// CarryTrace puts the context of a trace that the headers have into _meta of a message which has
// none. The error is the error of jsonrpc.Split.
func CarryTrace(h http.Header, m *jsonrpc.Message) error {
	if len(h[keyParent]) == 0 && len(h[keyBaggage]) == 0 {
		return nil
	}
	parent := ""
	if len(h[keyParent]) == 1 { // one of several may be anybody's
		parent = h[keyParent][0]
	}
	whole, err := tracing.Carry(m, tracing.Checked(parent, strings.Join(h[keyState], ","), strings.Join(h[keyBaggage], ",")))
	if err == nil && whole != m {
		*m = *whole
	}
	return err
}

// singleValue returns the value of a header that may be there once.
func singleValue(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", Mismatch(name, "is there %d times", len(values))
}

// mirroredValue returns the decoded value of a header that mirrors a value of the body.
func mirroredValue(h http.Header, name string) (value string, present bool, err error) {
	raw, err := singleValue(h, name)
	if err != nil || len(h.Values(name)) == 0 {
		return "", false, err
	}
	value, reason := mirror.Decode(raw)
	if reason != "" {
		return "", true, Mismatch(name, "%s", reason)
	}
	return value, true, nil
}

// CheckMirrors compares the headers that mirror parameters with the arguments
// of a call.
func CheckMirrors(h http.Header, marks []mirror.Mark, args []byte) error {
	for _, p := range marks {
		said, present, err := mirroredValue(h, p.Header)
		if err != nil {
			return err
		}
		value := p.Value(args)
		where := "/params/arguments/" + strings.Join(p.Path, "/")
		switch {
		case value == nil && present:
			return Mismatch(p.Header, "is there, and the body has nothing at %s", printable.Escape(where, 200))
		case value == nil:
		case !present:
			return Mismatch(p.Header, "is missing: it has to be what stands at %s; the list of tools says so", printable.Escape(where, 200))
		case !mirror.Same(said, value):
			return Mismatch(p.Header, "is %q, which is not what stands at %s", printable.Escape(said, 100), printable.Escape(where, 200))
		}
	}
	return nil
}
