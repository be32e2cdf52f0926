package servedroots

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr/guard"
)

const (
	// metaRoots is the member of _meta that reports why a list of roots is empty.
	metaRoots = "mcphub/roots"

	// ApplyWait bounds how long a child may take to apply new roots.
	ApplyWait = 3 * time.Second
	probeMin  = 2 * time.Millisecond
	probeMax  = 100 * time.Millisecond
)

// Same reports whether a child would see no difference.
func Same(a, b []guard.Root) bool {
	return slices.EqualFunc(a, b, func(x, y guard.Root) bool {
		return x.URI == y.URI && x.Label() == y.Label() && x.Path == y.Path
	})
}

// Result returns the result of roots/list: canonical URIs, and
// names (a null name makes some children refuse the whole
// answer). note goes beside an empty list.
func Result(roots []guard.Root, note func() string) []byte {
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
		out.Roots = append(out.Roots, root{r.URI, r.Label()})
	}
	raw, err := json.Marshal(out)
	if err != nil { // strings alone cannot fail
		return []byte(`{"roots":[]}`)
	}
	return raw
}

// Change is all that decides what a change of roots means to a run.
type Change struct {
	Early       bool // the run started before the first roots were known
	Waited      bool // and has asked for them in a call, and waited: it knows them by the answer
	SameLaunch  bool // started now, it would start the same way
	SamePlace   bool // with the same command and arguments, in the same directory
	SameArgs    bool // with the same arguments
	SameRoots   bool // what it was last served is what it would be served
	Placeholder bool // its arguments name ${roots}
	Rewritten   bool // its directory arguments are root paths, then or now
	CwdGone     bool // the root that it works in is no longer one
	Empty       bool // no roots are left
	Probe       bool // it has a tool that shows what it applied
	Asked       bool // it has asked roots/list
	List        bool // it is served roots/list at all
	Modern      bool // it asks for roots with each call that needs them
	Rules       bool // the kernel holds it to something else
}

// Action is what follows from a Change.
type Action uint8

const (
	Replace Action = iota // drain and start again; the zero value revokes
	Tell                  // notify, and wait until it has applied them
	Keep                  // nothing to do
)

// Decide returns what is done with a running child when its roots change.
func (c Change) Decide() Action {
	switch {
	case c.Rules: // which can only be made narrower while it runs
		return Replace
	case c.Early && !c.SamePlace:
		return Replace // no answer tells a process where it works
	case c.Early && !c.Waited && !c.SameLaunch:
		return Replace
	case c.CwdGone:
		return Replace
	case c.Placeholder && !c.SameArgs:
		return Replace
	case c.SameRoots:
		return Keep
	case c.Modern && !(c.Rewritten && !c.SameArgs):
		return Keep // nothing to tell, and nothing that it would keep
	case c.Empty && (c.Rewritten || c.Probe):
		// The official server keeps what it had when told that there is nothing.
		return Replace
	case c.List && c.Asked && !c.Modern:
		return Tell
	case c.Rewritten && !c.SameArgs:
		return Replace
	case c.List && c.Probe:
		return Tell // its first question is still on its way
	}
	return Keep
}

// Shows reports whether a probe's result names exactly the given paths.
func Shows(result []byte, paths []string) bool {
	shown := map[string]bool{}
	err := jsonrpc.Elements(jsonrpc.Get(result, "content"), func(v []byte) bool {
		text, _ := jsonrpc.GetString(v, "text")
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

// ProbeUntil asks the probe again and again until it shows the paths. It
// returns nil then, and the cause of ctx when that ends first.
func ProbeUntil(ctx context.Context, conn link.ChildConnection, tool string, paths []string) error {
	params := append(jsonrpc.AppendString([]byte(`{"name":`), tool), `,"arguments":{}}`...)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for wait := probeMin; ; wait = min(probeMax, wait*2) {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		res, err := conn.Call(ctx, methods.CallTool, params)
		if err != nil {
			return err
		}
		ok := res.Err() == nil && Shows(res.Result, paths)
		res.Release()
		if ok {
			return nil
		}
		pause.Reset(wait)
	}
}

// ErrNotApplied ends the waiting for a probe.
var ErrNotApplied = errors.New("the roots were not applied in time")
