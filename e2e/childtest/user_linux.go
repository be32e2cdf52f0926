package childtest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/needs"
)

// AsAnotherUser runs tests of this binary again, as a user without rights, and holds that each of them passes. It skips
// if the tests have none to begin with: they were run so.
func AsAnotherUser(t *testing.T, tests ...string) {
	t.Helper()
	asUser(t, syscall.SysProcAttr{}, tests)
}

// AsAnotherUserInGroup works like AsAnotherUser in the control group that is open at a descriptor.
func AsAnotherUserInGroup(t *testing.T, group int, tests ...string) {
	t.Helper()
	asUser(t, syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: group}, tests)
}

// Nobody is the user that AsAnotherUser runs tests as.
const Nobody = 65534

func asUser(t *testing.T, attr syscall.SysProcAttr, tests []string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("the tests run as a user without rights")
	}
	dir, err := os.MkdirTemp("", "mcphub-user-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	exe, home, temp := filepath.Join(dir, "tests"), filepath.Join(dir, "home"), filepath.Join(dir, "temp")
	err = errors.Join(os.Chmod(dir, 0o755), copyOfSelf(exe))
	for _, own := range []string{home, temp} {
		err = errors.Join(err, os.Mkdir(own, 0o700), os.Chown(own, Nobody, Nobody))
	}
	if err != nil {
		t.Fatal(err)
	}
	left := time.Duration(0) // no limit, as of the tests here
	if end, ok := t.Deadline(); ok {
		left = time.Until(end)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^("+strings.Join(tests, "|")+")$", "-test.v", "-test.timeout="+left.String())
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + temp, "PATH=" + os.Getenv("PATH"), "CI=" + os.Getenv("CI")}
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "MCPHUB_") { // seeds, how many cases, strict bounds
			cmd.Env = append(cmd.Env, variable)
		}
	}
	attr.Credential = &syscall.Credential{Uid: Nobody, Gid: Nobody}
	cmd.SysProcAttr = &attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	t.Logf("%s", out)
	needs.Ran(t, string(out), tests...)
}

// copyOfSelf copies this program. Nothing forks meanwhile: a process that another test starts would keep the copy open for writing until
// it runs its own program, and what is open for writing does not run.
func copyOfSelf(to string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
