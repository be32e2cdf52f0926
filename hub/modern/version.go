package modern

import (
	"bytes"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// Version is the version of this era that is served.
const Version = mcp.ProtocolVersion20260728

// Members of _meta that belong to one hop (2026-07-28, basic/index).
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaLevel        = "io.modelcontextprotocol/logLevel"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// handshakeVersions are the handshake versions that a client and a server agree on in a handshake.
var handshakeVersions = mcp.LegacyProtocolVersions()

// servedVersions are all versions that the hub speaks, the newest first.
var servedVersions = append([]string{Version}, handshakeVersions...)

// Versions returns all versions that the hub speaks, the newest first: this
// era's, and the handshake's.
func Versions() []string { return slices.Clone(servedVersions) }

// IsHandshakeVersion reports whether a version is one that a handshake agrees on.
func IsHandshakeVersion(version string) bool { return slices.Contains(handshakeVersions, version) }

// IsModern reports whether a request belongs to this era: by its method, which the
// other one does not have, or by what its _meta says. One that says so badly
// belongs to this era too, and is refused there.
func IsModern(m *jsonrpc.Message) bool {
	if m.Method == methods.Discover || m.Method == methods.Listen {
		return true
	}
	version := inMeta(m, MetaVersion)
	if version == nil {
		return false
	}
	text, ok := jsonrpc.String(version)
	return !ok || !IsHandshakeVersion(text)
}

// DeclaresCapabilities reports whether a request names no version, and reports what
// only requests of this era say. From a client that has said initialize it is a
// request of the handshake's era with something odd in it.
func DeclaresCapabilities(m *jsonrpc.Message) bool {
	return inMeta(m, MetaCapabilities) != nil
}

// metaPrefix is in the names of all members of _meta that belong to one hop.
var metaPrefix = []byte("io.modelcontextprotocol/")

// inMeta finds a member of a request's _meta. Most requests have none of these,
// which is seen without reading it: a name is spelled out, or has an escape in it.
func inMeta(m *jsonrpc.Message, name string) []byte {
	meta := m.Param("_meta")
	if bytes.IndexByte(meta, '\\') < 0 && !bytes.Contains(meta, metaPrefix) {
		return nil
	}
	return jsonrpc.Get(meta, name)
}

// Members of params and results by which a request asks for input, and brings it
// (2026-07-28, basic/patterns/mrtr).
const (
	MemberRequests  = "inputRequests"
	MemberResponses = "inputResponses"
	MemberState     = "requestState"
)
