package negotiation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// doHandshake does the handshake, and proposes a version. Messages are read as mcp-go reads them; what the
// child said is kept raw beside that. version is the version of the hub. It declares what shown says, a raw object.
func doHandshake(ctx context.Context, conn link.ChildConnection, version, propose string, shown []byte) (*offers.RawOffer, error) {
	head, err := json.Marshal(struct {
		ProtocolVersion string             `json:"protocolVersion"`
		ClientInfo      mcp.Implementation `json:"clientInfo"`
	}{propose, mcp.Implementation{Name: "mcphub", Version: version}})
	if err != nil {
		return nil, err
	}
	// mcp-go would leave out of the capabilities what it does not know.
	res, err := conn.Call(ctx, methods.Initialize, head[:len(head)-1], []byte(`,"capabilities":`), shown, []byte("}"))
	if err != nil {
		return nil, err // of the connection, and it names it
	}
	defer res.Release()
	if refused := res.Err(); refused != nil {
		return nil, fmt.Errorf("initialize: %w", refused)
	}
	raw := slices.Clone(res.Result)
	var said mcp.InitializeResult
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, fmt.Errorf("initialize: failed to unmarshal response: %w", err)
	}
	// The version that is looked at is the one that is kept: mcp-go takes a member in other letters, PROTOCOLVERSION, for the version too.
	answered, _ := jsonrpc.GetString(raw, "protocolVersion")
	// One of the stateless era has no handshake.
	if answered != versionBefore && (!mcp.IsValidProtocolVersion(answered) || mcp.IsModernProtocol(answered)) {
		return nil, fmt.Errorf("initialize: %w", mcp.UnsupportedProtocolVersionError{Version: answered})
	}
	if err := conn.Notify(ctx, methods.Initialized); err != nil {
		return nil, fmt.Errorf("initialize: failed to send initialized notification: %w", err)
	}
	return &offers.RawOffer{
		ServerName:    said.ServerInfo.Name,
		ServerVersion: said.ServerInfo.Version,
		Protocol:      answered,
		Instructions:  said.Instructions,
		Capabilities:  slices.Clone(jsonrpc.Get(raw, "capabilities")),
		ServerInfo:    slices.Clone(jsonrpc.Get(raw, "serverInfo")),
	}, nil
}

// versionBefore is the version before 2024-11-05. The TypeScript SDK takes it, mcp-go does not. Requests are the same in both.
const versionBefore = "2024-10-07"
