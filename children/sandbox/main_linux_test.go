package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"mcphub/children/sandbox"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
)

// childVariable makes the test binary a child that does what its arguments say, and
// prints what came of it.
const childVariable = "SANDBOX_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	os.Args = os.Args[1:]
	if os.Args[0] == "victim" {
		victim(os.Args[1:])
		return
	}
	attack, ok := attacks[os.Args[0]]
	if !ok {
		fmt.Println("no such attack:", os.Args[0])
		os.Exit(3)
	}
	out, err := attack(os.Args[1:])
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Println("done:", out)
}

// landlocked returns the kernel, if it has all that is tested. In CI it must.
func landlocked(t *testing.T) sandbox.Kernel {
	t.Helper()
	k := sandbox.CurrentKernel()
	if k.ABI >= 6 {
		return k
	}
	needs.Missing(t, "Landlock has ABI ", k.ABI, " here, and 6 is needed: ", k.Why)
	return k
}

// confined runs cmd as a child is run: on a thread that enters the sandbox first. A
// nil Profile runs it as it is.
func confined(t *testing.T, p *sandbox.Profile, cmd *exec.Cmd) string {
	t.Helper()
	if p == nil {
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	box, err := sandbox.Prepare(landlocked(t), p, false)
	if err != nil {
		t.Fatal(err)
	}
	return entered(box, cmd)
}

// entered runs cmd on a thread that has entered box.
func entered(box *sandbox.Ruleset, cmd *exec.Cmd) string {
	defer box.End()
	defer box.Close()
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, 1)
	go func() { // ends locked, and its thread with it
		runtime.LockOSThread()
		if err := box.Enter(); err != nil {
			done <- result{nil, err}
			return
		}
		out, err := cmd.CombinedOutput()
		done <- result{out, err}
	}()
	r := <-done
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		return "refused: " + r.err.Error()
	}
	return string(r.out)
}

// child returns the command of an attack.
func child(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command(t, dir, exe, args...)
}

func command(t testing.TB, dir, exe string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), childVariable+"=1", "GORACE=atexit_sleep_ms=0") // by itself the race detector sleeps for a second
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// profileFor returns the Profile of a child whose only root is root: what the base
// has, and the test binary.
func profileFor(t *testing.T, root string) *sandbox.Profile {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rules := []sandbox.Rule{
		{Path: root, Access: sandbox.Read | sandbox.Write | sandbox.Execute},
		{Path: real(exe), Access: sandbox.Read | sandbox.Execute},
	}
	for _, rule := range sandbox.BaseRules(os.Getenv("HOME")) {
		rules = append(rules, sandbox.Rule{Path: real(rule.Path), Access: rule.Access})
	}
	return &sandbox.Profile{Rules: sandbox.Sorted(rules), Network: sandbox.Network{On: true}}
}

func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// TestAsAnotherUser makes the attacks as a user without rights.
func TestAsAnotherUser(t *testing.T) {
	t.Parallel()
	childtest.AsAnotherUser(t,
		"TestAttacks", "TestHonest", "TestPrivileges", "TestShared", "TestLimits", "TestDescriptors", "TestNetwork",
		"TestTheProcessStaysFree", "TestLandlockForbidden", "TestZeroProfile", "TestLinksOfAProfileAreNotFollowed", "TestRecords",
		"TestRecordsSockets", "TestRecordingWaitsForNobody", "TestRecordedNameMayChange", "TestPlaces", "TestRefusedCalls",
		"TestOverlay", "TestRaisedBits", "TestReadOnlyControl", "TestQueues", "TestAttributes", "TestSameResults", "TestListener",
		"TestManyChanges", "TestRacedChanges", "TestEnd", "TestDevices", "TestHarmlessDevices", "TestExcept",
		"TestBrokered", "TestHotJournal", "TestBrokerAttacks", "TestBrokeredErrors", "TestMadeBefore", "TestMadeBeforeTheHub", "TestBrokerAndRecorder", "TestSwappedNames")
}
