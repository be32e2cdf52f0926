package hub

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
)

// This file compares the headers of a request with its body (2026-07-28,
// Streamable HTTP, Server Validation): whoever stands before the hub may have
// gone by the one, the hub goes by the other. All of it is pure. mcp-go has
// such checks too, but folds the case of members, takes the first of two
// headers, reads "0x2a" as 42 and lets pass what it cannot read.

// Keys of http.Header: what is looked up in every request need not be spelled
// anew each time.
var (
	keySession  = http.CanonicalHeaderKey(headerSession)
	keyProtocol = http.CanonicalHeaderKey(headerProtocol)
)

// sessionNamed is the Mcp-Session-Id of a request, "" where it has none.
func sessionNamed(h http.Header) string {
	if v := h[keySession]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// onceKeys are headers that say whose a request is, and how it is to be read.
// Whoever stands before the hub may have gone by another of two. The first three
// count in both eras; of the others the modern one has rules of its own.
var onceKeys = []string{"Authorization", "Content-Type", "Content-Encoding", keySession, keyProtocol, http.CanonicalHeaderKey(headerLast)}

// twice is the first header that may be there once and is there more often; ""
// where none is.
func twice(h http.Header) string {
	for i, key := range onceKeys {
		if len(h[key]) > 1 && (i < 3 || !headerModern(h)) {
			return key
		}
	}
	return ""
}

// A mismatchError says which header a request was refused for (-32020).
type mismatchError struct{ header, reason string }

func (e *mismatchError) Error() string {
	return "header mismatch: " + e.header + " " + e.reason
}

func mismatch(header, reason string, args ...any) error {
	return &mismatchError{header, fmt.Sprintf(reason, args...)}
}

// refuseMismatch is the answer to a request whose headers are not its body's.
func refuseMismatch(err error) jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(mcp.HEADER_MISMATCH, err.Error())
}

// headerModern reports whether the headers alone make a request one of the era
// without a handshake: they name a version that no handshake agrees on, one that
// is not served included.
func headerModern(h http.Header) bool {
	for _, v := range h[keyProtocol] {
		if v != "" && !slices.Contains(legacyVersions, v) {
			return true
		}
	}
	return false
}

// checkVersion compares the version that the headers name with that of the body
// of a modern request. A body that names none is left to whoever reads _meta:
// what is missing there is no mismatch.
func checkVersion(h http.Header, m *jsonrpc.Message) error {
	version, named := jsonrpc.String(jsonrpc.Get(m.Param("_meta"), metaVersion))
	said, err := single(h, headerProtocol)
	switch {
	case err != nil:
		return err
	case said == "":
		return mismatch(headerProtocol, "is missing: it has to name the version that _meta names")
	case named && said != version:
		return mismatch(headerProtocol, "is %q and _meta names %q", shown(said, 40), shown(version, 40))
	}
	return nil
}

// checkMethod compares the headers that mirror the method of a modern request,
// and what it is about.
func checkMethod(h http.Header, m *jsonrpc.Message) error {
	method, err := single(h, mcp.HeaderMethod)
	switch {
	case err != nil:
		return err
	case method == "":
		return mismatch(mcp.HeaderMethod, "is missing: it has to be the method of the body")
	case method != m.Method:
		return mismatch(mcp.HeaderMethod, "is %q and the method of the body is %q", shown(method, 100), shown(m.Method, 100))
	}
	return checkName(h, m)
}

// nameMember is the member of params that Mcp-Name mirrors, for the methods
// that need the header.
func nameMember(method string) string {
	switch method {
	case string(mcp.MethodToolsCall), string(mcp.MethodPromptsGet):
		return "name"
	case string(mcp.MethodResourcesRead):
		return "uri"
	case methodTaskGet, methodTaskCancel, methodTaskUpdate: // the extension for tasks, Routing Headers
		return "taskId"
	}
	return ""
}

// checkName compares Mcp-Name. Where a method has no such header, one that is
// there all the same says nothing.
func checkName(h http.Header, m *jsonrpc.Message) error {
	member := nameMember(m.Method)
	if member == "" {
		return nil
	}
	said, present, err := mirrored(h, mcp.HeaderName)
	if err != nil {
		return err
	}
	name, ok := jsonrpc.String(m.Param(member))
	switch {
	case !ok && present:
		return mismatch(mcp.HeaderName, "is there, and the body has no string at /params/%s", member)
	case !ok:
		return nil // the request is refused for what it lacks
	case !present:
		return mismatch(mcp.HeaderName, "is missing: it has to be what stands at /params/%s", member)
	case said != name:
		return mismatch(mcp.HeaderName, "is %q and the body has %q at /params/%s", shown(said, 100), shown(name, 100), member)
	}
	return nil
}

// single is the value of a header that may be there once.
func single(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", mismatch(name, "is there %d times", len(values))
}

// mirrored is the decoded value of a header that mirrors a value of the body.
func mirrored(h http.Header, name string) (value string, present bool, err error) {
	raw, err := single(h, name)
	if err != nil || len(h.Values(name)) == 0 {
		return "", false, err
	}
	value, reason := decodeMirrored(raw)
	if reason != "" {
		return "", true, mismatch(name, "%s", reason)
	}
	return value, true, nil
}

const (
	sentinelBegin = "=?base64?"
	sentinelEnd   = "?="
)

// decodeMirrored reads a header's value: as it stands, or out of the sentinel
// =?base64?...?= (Value Encoding). Whatever has two readings has none; the
// reason says why.
func decodeMirrored(raw string) (value, reason string) {
	for i := range len(raw) {
		if c := raw[i]; (c < 0x20 || c > 0x7e) && c != '\t' {
			return "", "holds a character that no header may hold; encode it as =?base64?...?="
		}
	}
	if !strings.HasPrefix(raw, sentinelBegin) || !strings.HasSuffix(raw, sentinelEnd) {
		return raw, ""
	}
	if len(raw) < len(sentinelBegin)+len(sentinelEnd) {
		return "", "is neither encoded nor plain; encode it as =?base64?...?="
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(raw[len(sentinelBegin) : len(raw)-len(sentinelEnd)])
	switch {
	case err != nil:
		return "", "is not valid Base64 between =?base64? and ?="
	case !utf8.Valid(decoded):
		return "", "is not UTF-8 once decoded"
	}
	return string(decoded), ""
}

// A mirror is a parameter of a tool that a header repeats (x-mcp-header).
type mirror struct {
	header string   // whole name
	path   []string // members of arguments, from the outside in
}

// maxSchemaDepth is how deep a schema is searched for mirrors.
const maxSchemaDepth = 100

// mirrors finds the parameters of a tool's definition that headers repeat. The
// error says why the definition is invalid: a client leaves such a tool out of
// its list, so nothing is expected of the headers of a call.
func mirrors(def []byte) ([]mirror, error) {
	schema := jsonrpc.Get(def, "inputSchema")
	if !mayMirror(schema) {
		return nil, nil
	}
	f := mirrorFinder{seen: map[string]bool{}}
	if err := f.schema(schema, nil, true, 0); err != nil {
		return nil, err
	}
	return f.found, nil
}

// mayMirror reports whether there may be a member x-mcp-header: most schemas
// have none, and are not read.
func mayMirror(schema []byte) bool {
	return bytes.Contains(schema, []byte(annotation)) || bytes.Contains(schema, []byte(`\u`))
}

const annotation = "x-mcp-header"

type mirrorFinder struct {
	found []mirror
	seen  map[string]bool // headers, in lower case
}

// Keywords whose value is no schema, and those whose value is one for each of
// its members, whatever they are called.
var (
	plainKeywords = []string{"const", "enum", "default", "examples", "required", "type"}
	namedSchemas  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// schema reads one schema. reachable: nothing but properties led here.
func (f *mirrorFinder) schema(raw []byte, path []string, reachable bool, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("the schema is nested more than %d deep", maxSchemaDepth)
	}
	if len(raw) > 0 && raw[0] == '[' {
		var err error
		_ = jsonrpc.Elements(raw, func(v []byte) bool {
			err = f.schema(v, nil, false, depth+1)
			return err == nil
		})
		return err
	}
	if !isObject(raw) {
		return nil
	}
	var err error
	_ = jsonrpc.Members(raw, func(name string, value []byte) bool {
		switch {
		case name == annotation:
			err = f.mirror(raw, value, path, reachable)
		case slices.Contains(plainKeywords, name):
		case slices.Contains(namedSchemas, name) && isObject(value):
			_ = jsonrpc.Members(value, func(member string, inner []byte) bool {
				err = f.schema(inner, append(slices.Clip(path), member), reachable && name == "properties", depth+1)
				return err == nil
			})
		default:
			err = f.schema(value, nil, false, depth+1)
		}
		return err == nil
	})
	return err
}

// mirror takes in one annotation.
func (f *mirrorFinder) mirror(schema, value []byte, path []string, reachable bool) error {
	name, ok := jsonrpc.String(value)
	switch {
	case !reachable || len(path) == 0:
		return fmt.Errorf("%s stands where no property of the arguments is", annotation)
	case !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !tchar(r) }):
		return fmt.Errorf("the %s of %q is no header name", annotation, strings.Join(path, "."))
	case !primitive(jsonrpc.Get(schema, "type")):
		return fmt.Errorf("%q has %s and is no string, integer or boolean", strings.Join(path, "."), annotation)
	case f.seen[strings.ToLower(name)]:
		return fmt.Errorf("two parameters have the %s %q", annotation, name)
	}
	f.seen[strings.ToLower(name)] = true
	f.found = append(f.found, mirror{header: mcp.HeaderParamPrefix + name, path: path})
	return nil
}

// primitive reports whether a type is one, or several, of those that a header
// can hold.
func primitive(kind []byte) bool {
	if one, ok := jsonrpc.String(kind); ok {
		return one == "string" || one == "integer" || one == "boolean"
	}
	n, all := 0, true
	err := jsonrpc.Elements(kind, func(v []byte) bool {
		n++
		all = all && len(v) > 0 && v[0] == '"' && primitive(v)
		return all
	})
	return err == nil && n > 0 && all
}

// tchar reports a character of a token (RFC 9110, 5.6.2).
func tchar(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r != 0 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// checkMirrors compares the headers that mirror parameters with the arguments
// of a call.
func checkMirrors(h http.Header, found []mirror, args []byte) error {
	for _, p := range found {
		said, present, err := mirrored(h, p.header)
		if err != nil {
			return err
		}
		value := args
		for _, name := range p.path {
			value = jsonrpc.Get(value, name)
		}
		where := "/params/arguments/" + strings.Join(p.path, "/")
		switch absent := value == nil || string(value) == "null"; {
		case absent && present:
			return mismatch(p.header, "is there, and the body has nothing at %s", shown(where, 200))
		case absent:
		case !present:
			return mismatch(p.header, "is missing: it has to be what stands at %s; the list of tools says so", shown(where, 200))
		case !sameValue(said, value):
			return mismatch(p.header, "is %q, which is not what stands at %s", shown(said, 100), shown(where, 200))
		}
	}
	return nil
}

// maxSafe is the largest integer that every JSON parser reads exactly.
const maxSafe = 1<<53 - 1

// sameValue compares a header with a JSON value: a string by its characters, a
// number by its value where it is a whole one, a boolean by its word.
func sameValue(said string, raw []byte) bool {
	if text, ok := jsonrpc.String(raw); ok {
		return said == text
	}
	switch string(raw) {
	case "true", "false":
		return said == string(raw)
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return false // an object or an array
	}
	a, okA := whole(said)
	b, okB := whole(string(raw))
	return okA && okB && a == b
}

// whole reads a JSON number that is a whole one in the range that every parser
// reads exactly.
func whole(text string) (int64, bool) {
	const longest = 64
	if len(text) > longest || text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return 0, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > len("e-99") {
		return 0, false
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok || !n.IsInt() || !n.Num().IsInt64() {
		return 0, false
	}
	v := n.Num().Int64()
	return v, v >= -maxSafe && v <= maxSafe
}
