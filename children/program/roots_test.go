package program

import (
	"strings"

	"mcphub/rootsmgr/guard"
)

func rootsAt(paths ...string) []guard.Root {
	var out []guard.Root
	for _, p := range paths {
		name := ""
		if i := strings.IndexByte(p, '|'); i >= 0 {
			p, name = p[:i], p[i+1:]
		}
		out = append(out, guard.Root{URI: "file://" + p, Path: p, Name: name})
	}
	return out
}
