package negotiation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// tryHandshake does the handshake. If the child refuses the version that is proposed, and
// another one may help, the next one is proposed: first the ones that the refusal names,
// the newest first, then the others. The error is the first refusal. A version that is
// pinned is the only one that is proposed, and that counts as an answer.
func (c Child) tryHandshake(ctx context.Context) (*offers.RawOffer, error) {
	version := cmp.Or(c.Protocol, mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	left := mcp.LegacyProtocolVersions()
	var first error
	for {
		o, err := doHandshake(ctx, c.Link, c.Version, version, c.Shown())
		switch {
		case err == nil && c.Pinned && o.Protocol != version:
			return nil, fmt.Errorf("it answers in protocol version %s, and \"protocol\" of its entry names %s; write the version that it has, or leave \"protocol\" out", o.Protocol, version)
		case err == nil:
			if version != mcp.LATEST_LEGACY_PROTOCOL_VERSION {
				o.Proposed = version
			}
			return o, nil
		}
		if first == nil {
			first = err
		}
		left = slices.DeleteFunc(left, func(v string) bool { return v == version })
		if c.Pinned || ctx.Err() != nil || !mayBeOfVersion(err) {
			return nil, first
		}
		if version = nextVersion(left, refusalText(err)); version == "" {
			return nil, first
		}
	}
}

// nextVersion returns the version to propose after a refusal: the first of left that its
// text names, else the first one. It is "" if none is left, or if the text names no
// version but those without a handshake.
func nextVersion(left []string, refusal string) string {
	for _, v := range left {
		if strings.Contains(refusal, v) {
			return v
		}
	}
	if len(left) == 0 || strings.Contains(refusal, mcp.ProtocolVersion20260728) {
		return ""
	}
	return left[0]
}

// refusalText returns all that a child said when it refused.
func refusalText(err error) string {
	text := err.Error()
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		text += string(refused.Data)
	}
	return text
}

// mayBeOfVersion reports whether a child may have refused initialize because of the
// version that was proposed. Few servers say so in the words of the protocol, so every
// refusal counts that says nothing else.
func mayBeOfVersion(err error) bool {
	var refused *jsonrpc.Error
	var status *link.StatusError
	switch {
	case errors.As(err, &refused):
		return refused.Code != jsonrpc.CodeMethodNotFound
	case !errors.As(err, &status):
		return errors.As(err, new(mcp.UnsupportedProtocolVersionError)) // it answered with a version that mcp-go does not know
	case status.Advice != "":
		return false
	}
	switch status.Code {
	case http.StatusBadRequest, http.StatusNotAcceptable, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity,
		http.StatusUpgradeRequired, http.StatusInternalServerError, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return true
	}
	return false
}
