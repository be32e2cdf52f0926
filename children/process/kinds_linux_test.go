package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// reportSelf says all that a process has from who has started it.
func reportSelf() {
	dir, err := os.Getwd()
	fmt.Println("args", os.Args, "env", os.Environ(), "dir", dir, err)
	session, _ := unix.Getsid(0)
	fmt.Println("leads", session == os.Getpid(), unix.Getpgrp() == os.Getpid(), "ended by", deathSignal())
	for _, n := range []string{"0", "1", "2"} {
		to, err := os.Readlink("/proc/self/fd/" + n)
		fmt.Println(n, strings.Contains(to, "pipe:"), to == os.DevNull, err)
	}
	out, err := exec.Command("/bin/sh", "-c", "ulimit -n; ulimit -Hn; grep -E '^(Sig[BIC]|Cap|NoNewPrivs|Seccomp:|Uid|Gid|Groups)' /proc/self/status; kill -TERM $$; echo not ended").CombinedOutput()
	fmt.Println(string(out), err)
}

func deathSignal() (n int) {
	_ = unix.Prctl(unix.PR_GET_PDEATHSIG, addressOf(&n), 0, 0, 0)
	return n
}

// leaveGroup reports in which control group it is. If to is the folder of another one, it starts a process there that says so.
func leaveGroup(to string) {
	if to == "" {
		text, err := os.ReadFile("/proc/self/cgroup")
		fmt.Print(string(text), err, "\n")
		return
	}
	fd, err := unix.Open(to, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"it"}, Env: append(os.Environ(), envBomb+"=leave "),
		SysProcAttr: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd},
	}
	out, err := cmd.CombinedOutput()
	fmt.Println(string(out), err)
	other := exec.Command("/bin/sh", "-c", "echo it starts others") // by clone
	out, err = other.CombinedOutput()
	fmt.Println(string(out), err)
}
