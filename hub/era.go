package hub

import (
	"bytes"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
)

// This file alone tells the two eras of the protocol apart: that of the
// handshake (2024-11-05 to 2025-11-25), and the modern one (2026-07-28), whose
// requests say of themselves what the handshake said once. Both may come on one
// connection.

// modernVersion is the version of the modern era that is served.
const modernVersion = mcp.ProtocolVersion20260728

// Members of _meta that are of one hop (2026-07-28, basic/index).
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaLevel        = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

const (
	methodDiscover = "server/discover"
	methodListen   = "subscriptions/listen"
)

// legacyVersions are those of the era of the handshake.
var legacyVersions = mcp.LegacyProtocolVersions()

// servedVersions are all versions that the hub speaks, the newest first.
var servedVersions = append([]string{modernVersion}, legacyVersions...)

// ProtocolVersions are all versions that a hub speaks, the newest first.
func ProtocolVersions() []string { return slices.Clone(servedVersions) }

// isModern reports whether a request belongs to the modern era: by its method,
// which the other one does not have, or by what its _meta says. One that says
// so badly is modern too, and refused there.
func isModern(m *jsonrpc.Message) bool {
	if m.Method == methodDiscover || m.Method == methodListen {
		return true
	}
	version := inMeta(m, metaVersion)
	if version == nil {
		return false
	}
	text, ok := jsonrpc.String(version)
	return !ok || !slices.Contains(legacyVersions, text)
}

// isNearlyModern reports whether a request names no version and says what only
// modern ones say. Of a client that has said initialize it is a handshake's with
// something odd in it.
func isNearlyModern(m *jsonrpc.Message) bool {
	return inMeta(m, metaCapabilities) != nil
}

// metaPrefix is in the names of all members of _meta that are of one hop.
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
