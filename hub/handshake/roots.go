package handshake

import (
	"context"
	"fmt"

	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr"
)

// A Source is the rootsmgr.Source of a client: it sends roots/list
// to the client itself.
type Source struct{ Client MainMessenger }

// AwaitReady returns once the client can be asked.
func (a Source) AwaitReady(ctx context.Context) error { return a.Client.AwaitReady(ctx) }

// ListRoots asks once, for one page.
func (a Source) ListRoots(ctx context.Context, cursor string) (rootsmgr.Page, error) {
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
