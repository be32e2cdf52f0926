package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// TestAServerThatStays: a server that keeps state is not started anew when more is open. The call that needs it says so; what its
// user is told of does what is said: mcphub restart starts it anew, this once, and "widen" in its entry each time.
func TestAServerThatStays(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	w := newWorld(t)
	w.sockets = socketsIn(t)
	entry := func(widen string) obj {
		kid := w.recorder("kid")
		kid["sandbox"] = obj{"mode": "required", "widen": widen, "write": []string{w.path("records")}}
		return obj{"kid": kid}
	}
	config := w.config(entry("refuse"))
	s := w.serve(config, ide.Folders(w.project))
	s.initialize()
	s.awaitTool("kid__echo")
	reads := func(dir, name string) ide.ToolResult {
		return s.await(s.send("kid__echo", pathArgs(t, filepath.Join(dir, name))))
	}
	opens := func(dirs ...string) {
		s.SetRoots(ide.Folders(dirs...))
		must(t, s.RootsChanged())
	}
	starts := func() int { return len(w.starts("kid")) }
	if r := reads(w.project, "hello.txt"); r.IsError {
		t.Fatal(r.Text)
	}
	opens(w.project, w.other)
	var r ide.ToolResult
	if !within(waitLimit, func() bool {
		r = reads(w.other, "other.txt")
		return strings.Contains(r.Text, "it keeps state, so it is not started anew for that. Ask your user to run `mcphub why`")
	}) || !r.IsError || starts() != 1 {
		t.Fatalf("%d starts; its client is told %s", starts(), r.Text)
	}
	why := exec.Command(mcphub(t), "why", "--config", config)
	why.Dir, why.Env = w.project, w.env()
	said, err := why.Output()
	must(t, err)
	told := strings.Join(strings.Fields(string(said)), " ")
	line := regexp.MustCompile(`(?m)run: (mcphub restart kid .*)$`).FindStringSubmatch(string(said))
	if line == nil || !strings.Contains(told, `"sandbox": {"widen": "restart"} in its entry`) {
		t.Fatalf("its user reads %s", said)
	}
	run := exec.Command("/bin/sh", "-c", line[1])
	run.Dir, run.Env = w.project, append(w.env(), "PATH="+filepath.Dir(mcphub(t))+":/usr/bin:/bin")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line[1], err, out)
	}
	if r := reads(w.other, "other.txt"); r.IsError || starts() != 2 {
		t.Errorf("after %s, %d starts: %s", line[1], starts(), r.Text)
	}

	// That was for once. With the line in its entry it is for each time.
	opens(w.project, w.other, w.outside)
	if !within(waitLimit, func() bool { return strings.Contains(reads(w.outside, "secret.txt").Text, "it keeps state") }) {
		t.Error("the restart is for more than once")
	}
	w.config(entry("restart"))
	s.awaitConfig("it is read", func(c configState) bool { return c.Waiting == "" && s.offers("kid__echo") && starts() >= 2 })
	if !within(waitLimit, func() bool { return !reads(w.outside, "secret.txt").IsError }) {
		t.Error("with \"widen\": \"restart\" it is not started anew")
	}
	before := starts()
	opens(w.project, w.other, w.outside, w.sibling)
	if !within(waitLimit, func() bool { r = reads(w.sibling, "secret.txt"); return !r.IsError }) || starts() == before {
		t.Errorf("with \"widen\": \"restart\", %d starts and then %d: %s", before, starts(), r.Text)
	}
}
