package consent

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// TestAServerThatStays: a server that keeps state is not started again when more is open. The call that needs it says so; what
// its user is told about does what is said: mcphub restart starts it again, this once, and "widen" in its entry each time.
func TestAServerThatStays(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	entry := func(widen string) obj {
		kid := w.Recorder("kid")
		kid["sandbox"] = obj{"mode": "required", "widen": widen, "write": []string{w.Path("records")}}
		return obj{"kid": kid}
	}
	config := w.Config(entry("refuse"))
	s := w.Serve(config, ide.Folders(w.Project))
	s.Handshake()
	s.AwaitTool("kid__echo")
	reads := func(dir, name string) ide.ToolResult {
		return s.AwaitCall(s.SendCall("kid__echo", world.PathArgs(t, filepath.Join(dir, name))))
	}
	opens := func(dirs ...string) {
		s.SetRoots(ide.Folders(dirs...))
		world.Must(t, s.RootsChanged())
	}
	starts := func() int { return len(w.Starts("kid")) }
	if r := reads(w.Project, "hello.txt"); r.IsError {
		t.Fatal(r.Text)
	}
	opens(w.Project, w.Other)
	var r ide.ToolResult
	if !world.Within(world.WaitLimit, func() bool {
		r = reads(w.Other, "other.txt")
		return strings.Contains(r.Text, "it keeps state, so it is not started again for that. Ask your user to run `mcphub why`")
	}) || !r.IsError || starts() != 1 {
		t.Fatalf("%d starts; its client is told %s", starts(), r.Text)
	}
	why := exec.Command(world.Hub(t), "why", "--config", config)
	why.Dir, why.Env = w.Project, w.Env()
	said, err := why.Output()
	world.Must(t, err)
	told := strings.Join(strings.Fields(string(said)), " ")
	line := regexp.MustCompile(`(?m)run: (mcphub restart kid .*)$`).FindStringSubmatch(string(said))
	if line == nil || !strings.Contains(told, `"sandbox": {"widen": "restart"} in its entry`) {
		t.Fatalf("its user reads %s", said)
	}
	run := exec.Command("/bin/sh", "-c", line[1])
	run.Dir, run.Env = w.Project, append(w.Env(), "PATH="+filepath.Dir(world.Hub(t))+":/usr/bin:/bin")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line[1], err, out)
	}
	if r := reads(w.Other, "other.txt"); r.IsError || starts() != 2 {
		t.Errorf("after %s, %d starts: %s", line[1], starts(), r.Text)
	}

	// That was for once. With the line in its entry it is for each time.
	opens(w.Project, w.Other, w.Outside)
	if !world.Within(world.WaitLimit, func() bool { return strings.Contains(reads(w.Outside, "secret.txt").Text, "it keeps state") }) {
		t.Error("the restart is for more than once")
	}
	w.Config(entry("restart"))
	s.AwaitConfig("it is read", func(c world.ConfigState) bool { return c.Waiting == "" && offers(s, "kid__echo") && starts() >= 2 })
	if !world.Within(world.WaitLimit, func() bool { return !reads(w.Outside, "secret.txt").IsError }) {
		t.Error("with \"widen\": \"restart\" it is not started again")
	}
	before := starts()
	opens(w.Project, w.Other, w.Outside, w.Sibling)
	if !world.Within(world.WaitLimit, func() bool { r = reads(w.Sibling, "secret.txt"); return !r.IsError }) || starts() == before {
		t.Errorf("with \"widen\": \"restart\", %d starts and then %d: %s", before, starts(), r.Text)
	}
}
