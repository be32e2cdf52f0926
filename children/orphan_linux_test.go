package children_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
)

const envHub = "CHILDREN_TEST_HUB"

func init() {
	former := hubIfAsked
	hubIfAsked = func() {
		former()
		if os.Getenv(envHub) != "" {
			hub()
		}
	}
}

// hub is a hub in a process of its own, to be killed: three children that
// heed neither the end of stdin nor TERM. It prints a line when they are ready.
func hub() {
	child := childtest.Spec("kid", childtest.Script{IgnoreTERM: true, IgnoreEOF: true})
	child.Env["MCPHUB_TEST_MARK"] = os.Getenv(envHub)
	if strings.HasPrefix(os.Getenv(envHub), "confined") {
		child.Sandbox = sandbox.Settings{Mode: sandbox.Required, Network: sandbox.Network{On: true}}
	}
	s := children.NewSupervisor(children.SupervisorOptions{Specs: []spec.Spec{child}})
	go func() { _ = s.Run(context.Background()) }()
	for i := range 3 {
		k := spec.Key{Child: "kid", Instance: fmt.Sprint(i)}
		s.Ensure(k, nil)
		if _, err := s.Acquire(context.Background(), k); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

// A hub that is killed leaves no child of its own behind, confined or not.
func TestHubKilled(t *testing.T) {
	t.Parallel()
	t.Run("free", func(t *testing.T) { killHub(t, "killed") })
	t.Run("confined", func(t *testing.T) {
		landlocked(t)
		killHub(t, "confined")
	})
}

func killHub(t *testing.T, name string) {
	value := name + "-" + rand.Text()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envHub+"="+value, "XDG_CACHE_HOME="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q, %v", line, err)
	}
	pids, _ := childtest.Marked("MCPHUB_TEST_MARK", value)
	if len(pids) != 3 {
		t.Fatalf("children: %v", pids)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !bounds.Within(bounds.Of(5*time.Second), func() bool {
		pids, _ = childtest.Marked("MCPHUB_TEST_MARK", value)
		return len(pids) == 0
	}) {
		t.Fatalf("left behind: %v", pids)
	}
}
