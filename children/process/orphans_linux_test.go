package process

import (
	"sync"
	"testing"

	"mcphub/internal/proctree"
)

// Which orphan goes with which child.
func TestGoesWith(t *testing.T) {
	table, err := proctree.Read()
	if err != nil {
		t.Fatal(err)
	}
	elder, _ := table.Process(1)
	late := proctree.Process{PID: 1 << 30, Start: elder.Start + 1}
	own := map[int]string{1: "other", 2: "mine"}
	for _, c := range []struct {
		name  string
		bears string
		p     proctree.Process
		held  bool
		want  bool
	}{
		{"its own", "mine", late, false, true},
		{"another's", "other", late, false, false},
		{"of one who is gone", "former", late, false, true},
		{"unmarked, and another child is older", "", late, false, false},
		{"unmarked and held like mine, and another child is older", "", late, true, true},
		{"another's, held like mine", "other", late, true, false},
	} {
		if got := goesWith(c.bears, c.p, table, own, "mine", c.held); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if !goesWith("", late, table, map[int]string{2: "mine"}, "mine", false) {
		t.Error("unmarked, and no other child lives: it stays")
	}
}

// Many who need the table at once share a look at it, and none is given one
// from before it asked.
func TestLooksAreShared(t *testing.T) {
	l := &tableReader{turn: make(chan struct{}, 1)}
	l.turn <- struct{}{} // a look is under way
	var all sync.WaitGroup
	tables := make(chan *proctree.Table, 20)
	asked := make(chan struct{}, 20)
	for range 20 {
		all.Go(func() {
			asked <- struct{}{}
			table, err := l.read()
			if err != nil {
				t.Error(err)
			}
			tables <- table
		})
	}
	for range 20 {
		<-asked
	}
	<-l.turn
	all.Wait()
	close(tables)
	if l.next != nil {
		t.Error("somebody still waits for a look")
	}
	for table := range tables {
		if table == nil {
			t.Error("no table")
		}
	}
}
