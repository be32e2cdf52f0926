package process

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
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
		hides bool
		want  bool
	}{
		{"its own", "mine", late, false, true},
		{"another's", "other", late, false, false},
		{"of one who is gone", "former", late, false, true},
		{"unmarked, and another child is older", "", late, false, false},
		{"unmarked, may hide, and another child is older", "", late, true, true},
		{"another's, whatever it may", "other", late, true, false},
	} {
		if got := goesWith(c.bears, c.p, table, own, "mine", c.hides); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if !goesWith("", late, table, map[int]string{2: "mine"}, "mine", false) {
		t.Error("unmarked, and no other child lives: it stays")
	}
}

// Only what is held as its leader is, and is younger, may be one of the descendants who hides.
func TestMayHide(t *testing.T) {
	self, err := proctree.Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if self.Held() {
		t.Error("more filters look at this process than at itself")
	}
	held := &descendants{held: true, leader: proctree.Process{Start: self.Start}}
	if held.mayHide(self) {
		t.Error("what nothing holds may hide")
	}
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.Prepare(sandbox.CurrentKernel(), &sandbox.Profile{Rules: []sandbox.Rule{{Path: "/", Access: sandbox.Read | sandbox.Write | sandbox.Execute}}}, false)
	if err != nil {
		needs.Missing(t, err)
	}
	defer box.Close()
	cmd.SysProcAttr = sysProcAttr()
	exited, err := forkChild(cmd, box, &bounds{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); <-exited; _ = cmd.Wait() }()
	p, err := proctree.Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !held.mayHide(p) {
		t.Error("what is held like the leader, and younger, does not go with it")
	}
	if held.leader.Start = p.Start + 1; held.mayHide(p) {
		t.Error("what is older than the leader goes with it")
	}
	if held.held, held.leader.Start = false, 0; held.mayHide(p) {
		t.Error("it goes with a leader that nothing holds")
	}
}

// TestForgottenInATable: a leader that was waited for while families are ended is no orphan in a table from before. Each other family would read
// its environment and look at all processes once more.
func TestForgottenInATable(t *testing.T) {
	cmd := exec.Command("/bin/cat")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leader, err := proctree.Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	table, err := proctree.Read()
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its stdin is empty
	for ending, want := range []int{1, 0} {
		r := &processReaper{own: map[int]string{leader.PID: "a mark"}, gone: map[proctree.Process]bool{}, adopting: true, ending: ending}
		before, _ := r.inheritedIn(table)
		r.forgetProcess(leader)
		after, _ := r.inheritedIn(table)
		if len(after)-len(before) != want {
			t.Errorf("%d families are ended: %v is inherited, and before %v", ending, after, before)
		}
	}
}

// Many who need the table at once share a look at it, and none is given one
// from before it asked.
func TestLooksAreShared(t *testing.T) {
	l := &tableReader{lock: make(chan struct{}, 1)}
	l.lock <- struct{}{} // a look is under way
	var all sync.WaitGroup
	tables := make(chan *proctree.Table, 20)
	asked := make(chan struct{}, 20)
	for range 20 {
		all.Go(func() {
			asked <- struct{}{}
			table, err := l.readTable()
			if err != nil {
				t.Error(err)
			}
			tables <- table
		})
	}
	for range 20 {
		<-asked
	}
	<-l.lock
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

// TestStartsSideBySide: no start waits for another, which may take as long as a program takes to load.
func TestStartsSideBySide(t *testing.T) {
	h := &processReaper{own: map[int]string{}}
	var both, ended sync.WaitGroup
	both.Add(2)
	for pid := range 2 {
		cmd := &exec.Cmd{Process: &os.Process{Pid: pid + 1}}
		ended.Go(func() {
			if err := h.startProcess(cmd, func() error { both.Done(); both.Wait(); return nil }, "mark"); err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
	if len(h.own) != 2 {
		t.Errorf("own are %v", h.own)
	}
}
