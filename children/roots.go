package children

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

const (
	methodRootsList = "roots/list"

	// metaRoots is the member of _meta that says why a list of roots is empty.
	metaRoots = "mcphub/roots"

	// applyWait bounds how long a child may take to apply new roots (C2).
	applyWait = 3 * time.Second
	probeMin  = 2 * time.Millisecond
	probeMax  = 100 * time.Millisecond
)

// sameRoots reports whether a child would see no difference.
func sameRoots(a, b []rootsmgr.Root) bool {
	return slices.EqualFunc(a, b, func(x, y rootsmgr.Root) bool {
		return x.URI == y.URI && x.Name == y.Name && x.Path == y.Path
	})
}

// rootsResult is the result of roots/list: canonical URIs, and a name only
// where there is one (a null name makes some children refuse the whole answer).
// note goes beside an empty list.
func rootsResult(roots []rootsmgr.Root, note func() string) []byte {
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name,omitempty"`
	}
	out := struct {
		Roots []root            `json:"roots"`
		Meta  map[string]string `json:"_meta,omitempty"`
	}{Roots: make([]root, 0, len(roots))}
	if len(roots) == 0 && note != nil {
		if text := note(); text != "" {
			out.Meta = map[string]string{metaRoots: text}
		}
	}
	for _, r := range roots {
		out.Roots = append(out.Roots, root{r.URI, r.Name})
	}
	raw, err := json.Marshal(out)
	if err != nil { // strings alone cannot fail
		return []byte(`{"roots":[]}`)
	}
	return raw
}

// noRoots says why the child is served none.
func (c *child) noRoots() string {
	if c.common.noRoots == nil {
		return ""
	}
	return c.common.noRoots(c.key)
}

// rootsChange is all that decides what a change of roots means to a run.
type rootsChange struct {
	early       bool // the run started before the first roots were known, and has not waited for them in a call
	sameLaunch  bool // started now, it would start the same way
	sameArgs    bool // with the same command and arguments
	sameRoots   bool // what it was last served is what it would be served
	placeholder bool // its arguments name ${roots}
	rewritten   bool // its directory arguments are root paths, then or now
	cwdGone     bool // the root that it works in is no longer one
	empty       bool // no roots are left
	probe       bool // it has a tool that shows what it applied
	asked       bool // it has asked roots/list
	list        bool // it is served roots/list at all
	modern      bool // it asks for roots with each call that needs them
}

// rootsAction is what follows from a rootsChange.
type rootsAction uint8

const (
	rootsReplace rootsAction = iota // drain and start again; the zero value revokes
	rootsTell                       // notify, and wait until it has applied them
	rootsKeep                       // nothing to do
)

// decide is C2, C3 and C4 for one change of roots.
func (c rootsChange) decide() rootsAction {
	switch {
	case c.early && !c.sameLaunch:
		return rootsReplace
	case c.cwdGone:
		return rootsReplace
	case c.placeholder && !c.sameArgs:
		return rootsReplace
	case c.sameRoots:
		return rootsKeep
	case c.modern && !(c.rewritten && !c.sameArgs):
		return rootsKeep // nothing to tell, and nothing that it would keep
	case c.empty && (c.rewritten || c.probe):
		// The official server keeps what it had when told that there is nothing.
		return rootsReplace
	case c.list && c.asked && !c.modern:
		return rootsTell
	case c.rewritten && !c.sameArgs:
		return rootsReplace
	case c.list && c.probe:
		return rootsTell // its first question is still on its way
	}
	return rootsKeep
}

// probeShows reports whether a probe's result names exactly the given paths.
func probeShows(result []byte, paths []string) bool {
	shown := map[string]bool{}
	err := jsonrpc.Elements(jsonrpc.Get(result, "content"), func(v []byte) bool {
		text, _ := jsonrpc.String(jsonrpc.Get(v, "text"))
		for line := range strings.Lines(text) {
			if p := strings.TrimSpace(line); filepath.IsAbs(p) {
				shown[filepath.Clean(p)] = true
			}
		}
		return true
	})
	if err != nil {
		return false
	}
	want := map[string]bool{}
	for _, p := range paths {
		p = filepath.Clean(p)
		if !shown[p] {
			return false
		}
		want[p] = true
	}
	return len(shown) == len(want)
}

// probeUntil asks the probe again and again until it shows the paths. It
// returns nil then, and the cause of ctx when that ends first.
func probeUntil(ctx context.Context, conn link.Link, tool string, paths []string) error {
	params := append(jsonrpc.AppendString([]byte(`{"name":`), tool), `,"arguments":{}}`...)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for wait := probeMin; ; wait = min(probeMax, wait*2) {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		res, err := conn.Call(ctx, "tools/call", params)
		if err != nil {
			return err
		}
		ok := res.Err() == nil && probeShows(res.Result, paths)
		res.Release()
		if ok {
			return nil
		}
		pause.Reset(wait)
	}
}
