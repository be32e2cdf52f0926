package modernlink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// Discover asks the child what it is.
func (m *ModernConnection) Discover(ctx context.Context) Discovery {
	res, err := m.Call(ctx, methods.Discover)
	if err == nil && refusesItsOwn(res) {
		res.Release()
		res, err = m.Call(ctx, methods.Discover)
	}
	d := sortDiscovery(res, err)
	if res != nil {
		res.Release()
	}
	return d
}

// refusesItsOwn reports whether a child refuses a version that it says it serves:
// what was asked in it is asked again (2026-07-28, basic/versioning).
func refusesItsOwn(res *jsonrpc.Response) bool {
	e := res.Err()
	return e != nil && e.Code == mcp.UNSUPPORTED_PROTOCOL_VERSION && slices.Contains(stringsIn(jsonrpc.Get(e.Data, "supported")), mcp.ProtocolVersion20260728)
}

// A DiscoveryOutcome is what an answer to server/discover says about a child.
type DiscoveryOutcome uint8

const (
	SpeaksLegacy  DiscoveryOutcome = iota // anything that is not known to be of the modern era
	SpeaksModern                          // it serves a version that we speak
	SpeaksForeign                         // it is modern and serves no version that we speak
	SpeaksNoMore                          // its connection has ended
	SpeaksNotYet                          // it asks for a login before it says anything
)

// A Discovery is an answer to server/discover.
type Discovery struct {
	Outcome DiscoveryOutcome
	Offer   *offers.RawOffer // of SpeaksModern
	Err     error            // of SpeaksForeign, SpeaksNoMore and SpeaksNotYet
}

// sortDiscovery reads an answer to server/discover (2026-07-28, basic/versioning
// and the sections on backward compatibility of both transports): what is not
// recognisably modern is legacy.
func sortDiscovery(res *jsonrpc.Response, err error) Discovery {
	var lost *link.LostError
	var status *link.StatusError
	switch {
	case errors.As(err, &status) && status.Advice != "":
		return Discovery{Outcome: SpeaksNotYet, Err: err}
	case err != nil && (errors.Is(err, jsonrpc.ErrClosed) || errors.As(err, &lost)):
		return Discovery{Outcome: SpeaksNoMore, Err: err}
	case err != nil:
		return Discovery{}
	}
	if e := res.Err(); e != nil {
		switch e.Code {
		case mcp.UNSUPPORTED_PROTOCOL_VERSION:
			return chooseVersion(stringsIn(jsonrpc.Get(e.Data, "supported")), nil)
		case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY:
			return Discovery{Outcome: SpeaksForeign, Err: fmt.Errorf("it is a server of the modern era that refuses server/discover: %w", e)}
		}
		return Discovery{}
	}
	return chooseVersion(stringsIn(jsonrpc.Get(res.Result, "supportedVersions")), res.Result)
}

// chooseVersion picks what to speak with a child that serves these versions. result is
// the result of server/discover, nil if it was refused.
func chooseVersion(supported []string, result []byte) Discovery {
	legacy := slices.ContainsFunc(supported, func(v string) bool { return slices.Contains(mcp.LegacyProtocolVersions(), v) })
	switch {
	case result != nil && slices.Contains(supported, mcp.ProtocolVersion20260728):
		o := &offers.RawOffer{Protocol: mcp.ProtocolVersion20260728, Capabilities: slices.Clone(jsonrpc.Get(result, "capabilities"))}
		o.Instructions, _ = jsonrpc.GetString(result, "instructions")
		o.ServerInfo = slices.Clone(jsonrpc.Get(jsonrpc.Get(result, "_meta"), metaServerInfo))
		o.ServerName, _ = jsonrpc.GetString(o.ServerInfo, "name")
		o.ServerVersion, _ = jsonrpc.GetString(o.ServerInfo, "version")
		o.Private, o.Lives.Self = offers.IsPrivate(result), offers.LifeOf(result)
		return Discovery{Outcome: SpeaksModern, Offer: o}
	case legacy || len(supported) == 0:
		return Discovery{}
	}
	text := fmt.Sprintf("%.200q", supported)
	return Discovery{Outcome: SpeaksForeign, Err: fmt.Errorf("it serves none of the protocol versions of this program, only %s", text)}
}

// stringsIn returns the strings of a raw array, nil if it is none.
func stringsIn(raw []byte) []string {
	var out []string
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}
