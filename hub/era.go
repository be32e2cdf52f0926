package hub

import (
	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
)

// This file alone knows that there are two eras of the protocol. Today the hub
// serves handshake clients (2024-11-05 to 2025-11-25); a client that tries the
// other era first is answered so that it falls back.

// metaVersion is the member of _meta by which a request of the era without a
// handshake names its version.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// otherEra answers a request that does not belong to a handshake session; ok
// is false where it does.
func otherEra(m *jsonrpc.Message) (jsonrpc.Answer, bool) {
	if m.Method == "server/discover" {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "server/discover is not supported: connect with initialize"), true
	}
	meta := m.Param("_meta")
	if meta == nil {
		return jsonrpc.Answer{}, false
	}
	version, ok := jsonrpc.String(jsonrpc.Get(meta, metaVersion))
	if !ok || !mcp.IsModernProtocol(version) {
		return jsonrpc.Answer{}, false
	}
	data := append([]byte(nil), `{"supported":[`...)
	for i, v := range mcp.LegacyProtocolVersions() {
		if i > 0 {
			data = append(data, ',')
		}
		data = jsonrpc.AppendString(data, v)
	}
	data = jsonrpc.AppendString(append(data, `],"requested":`...), version)
	e := &jsonrpc.Error{Code: mcp.UNSUPPORTED_PROTOCOL_VERSION, Message: "this version is not served; connect with initialize", Data: append(data, '}')}
	return jsonrpc.Answer{Error: e.Raw()}, true
}
