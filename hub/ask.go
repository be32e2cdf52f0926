package hub

import (
	"context"
	"fmt"

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
	return readRoots(resp.Result)
}

// readWhole is readRoots for an answer that has no further pages.
func readWhole(result []byte) (rootsmgr.Page, error) {
	page, err := readRoots(result)
	if err == nil {
		err = page.Err()
	}
	return page, err
}

// readRoots reads the result of roots/list. An entry that is no root is
// reported and spoils nothing (R12); an answer without a list is malformed.
func readRoots(result []byte) (rootsmgr.Page, error) {
	var page rootsmgr.Page
	list := jsonrpc.Get(result, "roots")
	if list == nil {
		return page, fmt.Errorf("%w: it has no member roots", rootsmgr.ErrMalformed)
	}
	err := jsonrpc.Elements(list, func(raw []byte) bool {
		uri, ok := jsonrpc.String(jsonrpc.Get(raw, "uri"))
		if !ok {
			page.Skipped = append(page.Skipped, rootsmgr.Skipped{Raw: shown(string(raw), 200), Reason: "it is no object with a string uri"})
			return true
		}
		name, _ := jsonrpc.String(jsonrpc.Get(raw, "name"))
		page.Entries = append(page.Entries, rootsmgr.Entry{URI: uri, Name: name})
		return true
	})
	if err != nil {
		return page, fmt.Errorf("%w: roots is %w", rootsmgr.ErrMalformed, err)
	}
	switch next := jsonrpc.Get(result, "nextCursor"); {
	case next == nil || string(next) == "null":
	default:
		cursor, ok := jsonrpc.String(next)
		if !ok {
			return page, fmt.Errorf("%w: nextCursor is no string", rootsmgr.ErrMalformed)
		}
		page.NextCursor = cursor
	}
	return page, nil
}
