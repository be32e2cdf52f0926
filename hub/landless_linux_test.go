package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/rs/zerolog"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// refuseVariable has the test binary start itself with landlock_create_ruleset refused;
// its value is the error. landlessVariable says that this has been done.
const (
	refuseVariable   = "MCPHUB_TEST_REFUSE_LANDLOCK"
	landlessVariable = "MCPHUB_TEST_LANDLESS"
)

func init() {
	raw := os.Getenv(refuseVariable)
	if raw == "" {
		return
	}
	_ = os.Unsetenv(refuseVariable)
	if err := startLandless(raw); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// startLandless replaces this process by itself, with a filter of system calls in force.
func startLandless(raw string) error {
	errno, err := strconv.ParseUint(raw, 10, 16)
	if err != nil {
		return err
	}
	code, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(code))
	for i, c := range code {
		filter[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // of whose thread exec makes the new program
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(exe, os.Args, os.Environ())
}

// TestWithoutLandlock: on a kernel that has none, or in a container that refuses it,
// what must be confined does not start, and the reason is said; what should be runs, and
// all who look are told that nothing holds it.
func TestWithoutLandlock(t *testing.T) {
	if why := os.Getenv(landlessVariable); why != "" {
		landless(t, why)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for errno, why := range map[syscall.Errno]string{
		unix.ENOSYS: "this kernel has no Landlock (it came with Linux 5.13)", unix.EOPNOTSUPP: "Landlock is turned off", unix.EPERM: "a container may forbid it",
	} {
		t.Run(errno.Error(), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestWithoutLandlock$", "-test.v")
			cmd.Env = append(os.Environ(), refuseVariable+"="+strconv.Itoa(int(errno)), landlessVariable+"="+why)
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("PASS")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func landless(t *testing.T, why string) {
	if k := sandbox.CurrentKernel(); k.ABI != 0 || !strings.Contains(k.Why, why) {
		t.Fatalf("the kernel is %+v", k)
	}
	settings := sandbox.Settings{Mode: sandbox.Required, Network: sandbox.Network{On: true}}
	c, d := shellHub(t, settings, nil, nil)
	c.handshake(`{"roots":{"listChanged":true}}`)
	out, failed := c.shell("cat " + d["a"] + "/file")
	status, err := json.Marshal(c.hub.Status())
	if err != nil || !failed || strings.Contains(out, "canary") || !strings.Contains(string(status), why) || !strings.Contains(string(status), "required") {
		t.Errorf("required: %s; %s; %v", out, status, err)
	}

	settings.Mode = sandbox.Auto
	dir := filepath.Join(t.TempDir(), "audit")
	to := audit.NewRecorder(audit.Options{Dir: dir}, nil)
	stop := runRecorder(t, to)
	var log logged
	c, d = shellHub(t, settings, nil, func(cfg *Config) { cfg.Audit.Recorder, cfg.Log, cfg.Inspect = to, zerolog.New(&log), true })
	c.handshake(`{"roots":{"listChanged":true}}`)
	if !c.reads(d["a"]) || !c.reads(d["out"]) {
		t.Error("auto: it is held, or does not run")
	}
	const lacks = "no kernel enforcement here: "
	if report := c.rootsReport(); !strings.Contains(report, `"kernel":"none"`) || !strings.Contains(report, lacks) || !strings.Contains(report, why) {
		t.Errorf("get-roots says %s", report)
	}
	if status, err := json.Marshal(c.hub.Status()); err != nil || !strings.Contains(string(status), `"kernel":"none"`) || !strings.Contains(string(status), lacks) || !strings.Contains(string(status), why) {
		t.Errorf("status says %s, %v", status, err)
	}
	if e := c.raw(MethodExplain, toolCall("kid__shell", `{"Name":"true"}`)); !strings.Contains(e, `"kernel":"none"`) || !strings.Contains(e, lacks) || !strings.Contains(e, why) {
		t.Errorf("explain says %s", e)
	}
	if _, err := c.hub.RestartServer(t.Context(), "kid"); err != nil {
		t.Error(err)
	}
	c.reads(d["a"])
	if n := log.count(lacks); n != 1 {
		t.Errorf("the log says it %d times: %s", n, log.text.String())
	}
	stop()
	all, err := trail.Decisions(dir, trail.Filter{})
	if err != nil || len(all) == 0 || all[len(all)-1].Kernel != "none" {
		t.Errorf("the record has %+v, %v", all, err)
	}
}
