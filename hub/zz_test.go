package hub

import (
	"fmt"
	"testing"

	"mcphub/children"
	"mcphub/children/childtest"
)

func BenchmarkZOpen(b *testing.B) {
	var specs []children.Spec
	for i := range 10 {
		spec := scripted(fmt.Sprintf("kid%d", i), childtest.Script{})
		spec.Share = children.ShareAll
		specs = append(specs, spec)
	}
	w := serveWeb(b, newTestHub(b, specs...), HTTPOptions{Sessions: 1 << 20})
	open := func() { w.open(b, `{}`) }
	open()
	b.ReportAllocs()
	for b.Loop() {
		open()
	}
}
