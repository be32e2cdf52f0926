package children_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/process"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/needs"
)

const envAdopting = "CHILDREN_TEST_ADOPTING"

func init() {
	former := hubIfAsked
	hubIfAsked = func() {
		former()
		if os.Getenv(envAdopting) != "" {
			os.Exit(adoptingHub())
		}
	}
}

// adoptingHub returns a process that adopts orphans: its children leave some,
// ended ones and others, and end with a status of their own.
func adoptingHub() int {
	orphans, err := process.AdoptOrphans()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	adoptCtx, endAdopting := context.WithCancel(context.Background())
	defer endAdopting()
	adopted := make(chan error, 1)
	go func() { adopted <- orphans.Run(adoptCtx) }()

	const script = `(setsid sh -c true &); (setsid sh -c 'trap "" TERM; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null &); exit 7`
	s := children.NewSupervisor(children.SupervisorOptions{Specs: []spec.Spec{{Name: "kid", Command: "/bin/sh", Args: []string{"-c", script}}}})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	for i := range 10 {
		k := spec.Key{Child: "kid", Instance: fmt.Sprint(i)}
		s.Ensure(k, nil)
		_, err := s.Acquire(ctx, k)
		if err == nil || !strings.Contains(err.Error(), "exited with status 7") {
			fmt.Println("instance", i, "ended with:", err)
			return 1
		}
	}
	stop()
	<-done
	endAdopting()
	if err := <-adopted; err != nil {
		fmt.Println("left behind:", err)
		return 1
	}
	self, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	fmt.Printf("children: %q %v\n", self, err)
	return 0
}

// Waiting for orphans takes no status away from those who wait for children,
// and leaves no orphan, ended or not.
func TestAdoptedOrphansAreWaitedForAlone(t *testing.T) {
	t.Parallel()
	needs.Program(t, "setsid")
	value := "adopting-" + rand.Text()
	ctx, cancel := context.WithTimeout(t.Context(), bounds.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), envAdopting+"="+value)
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), `children: ""`) {
		t.Errorf("%v: %s", err, said)
	}
}
