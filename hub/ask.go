package hub

import (
	"context"
	"fmt"

	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// askRoots is the rootsmgr.Source of a handshake client: it sends roots/list
// to the client itself.
type askRoots struct{ client mainPeer }

// Ready returns once the client can be asked.
func (a askRoots) Ready(ctx context.Context) error { return a.client.Ready(ctx) }

// ListRoots asks once, for one page.
func (a askRoots) ListRoots(ctx context.Context, cursor string) (rootsmgr.Page, error) {
	var params [][]byte
	if cursor != "" {
		params = append(params, append(jsonrpc.AppendString([]byte(`{"cursor":`), cursor), '}'))
	}
	resp, err := a.client.Call(ctx, "roots/list", params...)
	if err != nil {
		return rootsmgr.Page{}, err
	}
	if e := resp.Err(); e != nil {
		if cursor != "" && e.Code == jsonrpc.CodeInvalidParams {
			return rootsmgr.Page{}, fmt.Errorf("%w: %w", rootsmgr.ErrBadCursor, e)
		}
		return rootsmgr.Page{}, e
	}
	return declaration.ReadRoots(resp.Result)
}
