package negotiation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// doHandshake does the handshake, and proposes a version. Messages are mcp-go's; what the
// child said is kept raw beside what mcp-go made of it. version is the version of the hub.
// It declares what shown says, a raw object.
func doHandshake(ctx context.Context, conn link.Link, version, propose string, shown []byte) (*offers.Offer, error) {
	hop := &hop{link: conn, shown: shown}
	// A version of the handshake's era also keeps mcp-go from probing for the other one,
	// which some servers leave unanswered for five seconds.
	c := client.NewClient(hop, client.WithProtocolVersion(propose))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "mcphub", Version: version}
	res, err := c.Initialize(ctx, req)
	if carried, ok := errors.AsType[*transport.Error](err); ok { // mcp-go's word for what the Link said
		err = carried.Err
	}
	var refused *jsonrpc.Error
	switch {
	case err == nil && mcp.IsModernProtocol(res.ProtocolVersion):
		return nil, fmt.Errorf("initialize: %w", mcp.UnsupportedProtocolVersionError{Version: res.ProtocolVersion}) // it has no handshake
	case err == nil:
	case hop.raw == nil && !errors.As(err, &refused):
		return nil, err // of the connection, and it names it
	default:
		return nil, fmt.Errorf("initialize: %w", err)
	}
	info := jsonrpc.Get(hop.raw, "serverInfo")
	return &offers.Offer{
		ServerName:    res.ServerInfo.Name,
		ServerVersion: res.ServerInfo.Version,
		Protocol:      hop.answeredVersion(),
		Instructions:  res.Instructions,
		Capabilities:  slices.Clone(jsonrpc.Get(hop.raw, "capabilities")),
		ServerInfo:    slices.Clone(info),
	}, nil
}

// hop carries mcp-go's handshake over a Link. Nothing else goes through it:
// what the child sends is served by the Link's own handler.
type hop struct {
	link  link.Link
	shown []byte // capabilities, raw: mcp-go would leave out what it does not know
	raw   []byte // the last result
}

var _ transport.BidirectionalInterface = (*hop)(nil)

func (h *hop) Start(context.Context) error                          { return nil }
func (h *hop) Close() error                                         { return nil }
func (h *hop) GetSessionId() string                                 { return "" }
func (h *hop) SetNotificationHandler(func(mcp.JSONRPCNotification)) {}
func (h *hop) SetRequestHandler(transport.RequestHandler)           {}
func (h *hop) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	if len(n.Params.AdditionalFields) == 0 && len(n.Params.Meta) == 0 {
		return h.link.Notify(ctx, n.Method)
	}
	raw, err := json.Marshal(n.Params)
	if err != nil {
		return err
	}
	return h.link.Notify(ctx, n.Method, raw)
}

func (h *hop) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	var params [][]byte
	if r.Params != nil {
		raw, err := json.Marshal(r.Params)
		if err != nil {
			return nil, err
		}
		params = h.addCapabilities(r.Method, raw)
	}
	res, err := h.link.Call(ctx, r.Method, params...)
	if err != nil {
		return nil, err
	}
	defer res.Release()
	if e := res.Err(); e != nil {
		return nil, e
	}
	h.raw = slices.Clone(res.Result)
	said := h.raw
	if h.answeredVersion() == versionBefore {
		said = jsonrpc.Join(jsonrpc.Splice(h.raw, jsonrpc.Edit{Old: jsonrpc.Get(h.raw, "protocolVersion"), With: []byte(`"` + mcp.ProtocolVersion20241105 + `"`)}))
	}
	return transport.NewJSONRPCResultResponse(r.ID, json.RawMessage(said)), nil
}

// versionBefore is the version before 2024-11-05. The TypeScript SDK takes it, mcp-go does not. Requests are the same in both.
const versionBefore = "2024-10-07"

// answeredVersion returns the version that the child answered with.
func (h *hop) answeredVersion() string {
	version, _ := jsonrpc.String(jsonrpc.Get(h.raw, "protocolVersion"))
	return version
}

// addCapabilities puts the capabilities in their place in the params of initialize.
func (h *hop) addCapabilities(method string, raw []byte) [][]byte {
	declared := jsonrpc.Get(raw, "capabilities")
	if method != "initialize" || declared == nil {
		return [][]byte{raw}
	}
	at := cap(raw) - cap(declared)
	return [][]byte{raw[:at], h.shown, raw[at+len(declared):]}
}
