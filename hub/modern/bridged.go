package modern

import (
	"mcphub/hub/catalog"
	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
)

// BridgedCaps is what a child of the handshake's era is shown of a client of this era: it
// is told once, before any request states what its client can do. What the client of one
// request did not declare is refused when the child asks for it. It is the same for every
// client, for lists may not vary with the connection.
const BridgedCaps = `{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}}}`

// BridgedWithApps returns BridgedCaps, with what the first request of a client
// declares of the extension for apps: servers offer those to clients that can
// show them, and none of it is asked of the client.
func BridgedWithApps(first *declaration.Claims) []byte {
	ui := jsonrpc.Get(jsonrpc.Get(first.ForChildren, "extensions"), catalog.ExtensionUI)
	if !jsonrpc.IsObject(ui) {
		return []byte(BridgedCaps)
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, []byte(BridgedCaps), func(string) bool { return true })
	extensions := append(jsonrpc.AppendMember([]byte{'{'}, catalog.ExtensionUI, ui), '}')
	return append(jsonrpc.AppendMember(b, "extensions", extensions), '}')
}
