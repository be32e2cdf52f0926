package declaration

import (
	"fmt"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
)

// ReadAllRoots works like ReadRoots for an answer that has no further pages.
func ReadAllRoots(result []byte) (rootsmgr.Page, error) {
	page, err := ReadRoots(result)
	if err == nil {
		err = page.Err()
	}
	return page, err
}

// ReadRoots reads the result of roots/list. An entry that is no root is
// reported and spoils nothing; an answer without a list is malformed.
func ReadRoots(result []byte) (rootsmgr.Page, error) {
	var page rootsmgr.Page
	list := jsonrpc.Get(result, "roots")
	if list == nil {
		return page, fmt.Errorf("%w: it has no member roots", rootsmgr.ErrMalformed)
	}
	err := jsonrpc.Elements(list, func(raw []byte) bool {
		uri, ok := jsonrpc.GetString(raw, "uri")
		if !ok {
			page.Skipped = append(page.Skipped, rootsmgr.Skipped{Raw: printable.Escape(string(raw), 200), Reason: "it is no object with a string uri"})
			return true
		}
		name, _ := jsonrpc.GetString(raw, "name")
		page.Entries = append(page.Entries, rootsmgr.RootEntry{URI: uri, Name: name})
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
