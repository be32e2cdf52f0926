package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// TestTakenNamesOfApps: two servers that name each other's URIs, each longer by the
// name that the last one would get, cost a step for each URI and not for each pair.
func TestTakenNamesOfApps(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Config{Children: []Child{{Name: "one"}, {Name: "two"}}})
	var chain []string
	for i := range 200 {
		chain = append(chain, "ui://"+strings.Repeat("two/", i)+"x")
	}
	a := b.nameApps([]*Offer{{by: b, child: "one", apps: chain}, {by: b, child: "two", apps: chain}})
	if len(a.whose) != 2*len(chain) || len(a.names["two"]) != len(chain) {
		t.Fatalf("%d names for %d URIs", len(a.whose), 2*len(chain))
	}
	for uri, name := range a.names["two"] {
		if at := a.whose[name]; at.Child != "two" || at.URI != uri || !strings.HasSuffix(name, strings.TrimPrefix(uri, "ui://")) {
			t.Errorf("%s is called %s, which is %v", uri, name, at)
		}
		if len(name) > len(uri)+len("two/")+2*markSize {
			t.Errorf("%s is called %s", uri, name)
		}
	}
	again := b.nameApps([]*Offer{{by: b, child: "one", apps: chain}, {by: b, child: "two", apps: chain}})
	if fmt.Sprint(again.names) != fmt.Sprint(a.names) {
		t.Error("other names the second time")
	}
}
