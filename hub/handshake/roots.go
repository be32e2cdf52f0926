package handshake

import (
	"context"
	"fmt"

	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr"
)

// A ClientRootsSource is the rootsmgr.RootsSource of a client: it sends roots/list
// to the client itself.
type ClientRootsSource struct{ Client MainMessenger }

// AwaitReady returns once the client can be asked.
func (a ClientRootsSource) AwaitReady(ctx context.Context) error { return a.Client.AwaitReady(ctx) }

// ListRoots asks once, for one page.
func (a ClientRootsSource) ListRoots(ctx context.Context, cursor string) (rootsmgr.Page, error) {
	var params [][]byte
	if cursor != "" {
		params = append(params, append(jsonrpc.AppendString([]byte(`{"cursor":`), cursor), '}'))
	}
	resp, err := a.Client.Call(ctx, methods.ListRoots, params...)
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
