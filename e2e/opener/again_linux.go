package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/e2e/bounds"
)

// errNoHub says that no hub is there to be attacked. Such a try does not count.
var errNoHub = errors.New("no hub is there")

const (
	late   = "late"               // once a parent has ended
	ending = 3 * time.Millisecond // the end of a parent takes at most as long
	stride = 1854                 // microseconds, by which moments spread evenly over that, however many there are
)

var digits = regexp.MustCompile(`[0-9]+`)

// again makes an attack n times, each time by a process of its own: by a child; by one in a session of its own; by a grandchild
// whose parent ends at once, which tries at any moment of that, the first time at that many microseconds of it; by one who waits for
// that end. It gives how often which text came of it, without the numbers in it.
func again(n, first int, attack []string) (string, error) {
	said, since := map[string]int{}, time.Now()
	for tries, way := 0, 0; tries < n; way++ {
		moment := time.Duration(first+way*stride) * time.Microsecond % ending
		text, err := byAnother(way%4, moment, attack)
		if err != nil {
			return "", err
		}
		if strings.Contains(text, errNoHub.Error()) {
			if time.Since(since) > bounds.Patience {
				return "", errNoHub
			}
			continue
		}
		said[digits.ReplaceAllString(text, "#")]++
		since = time.Now()
		tries++
	}
	b, err := json.Marshal(said)
	return string(b), err
}

// byAnother has another process make an attack, and gives what it says.
func byAnother(way int, moment time.Duration, attack []string) (string, error) {
	args := []string{"do"}
	switch way {
	case 2:
		args = append(args, "leave", moment.String())
	case 3:
		args = append(args, "leave", late)
	}
	cmd := exec.Command("/proc/self/exe", append(args, attack...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: way > 0}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r) // until the last of them has ended
	_ = cmd.Wait()             // its attack may fail
	return strings.TrimSpace(string(text)), err
}

// leave starts a process that makes an attack, and ends; when: that other process waits so long, or until this one has ended.
func leave(when string, attack []string) error {
	args := append([]string{"do", "left", strconv.Itoa(os.Getpid()), when}, attack...)
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	os.Exit(0)
	return nil
}

// left makes an attack once its parent has ended, or at a moment at which it may or may not have.
func left(parent int, when string, args []string) (string, error) {
	if when != late {
		moment, err := time.ParseDuration(when)
		if err != nil {
			return "", err
		}
		time.Sleep(moment)
	}
	for when == late && os.Getppid() == parent {
		time.Sleep(100 * time.Microsecond)
	}
	return attack(args[0], args[1:])
}

// known is what the file says that tryAll reads: where a hub is, and its secret, for who may not look there.
type known struct{ Door, Admin, SecretFile, Secret string }

// tryAll tries all that an adapter, or its user, may do at a shared hub: to attach, by hand; to administer; to read the secret. The
// file is there while the hub is.
func tryAll(file string) (string, error) {
	var hub known
	text, err := os.ReadFile(file)
	if err != nil {
		return "", errNoHub
	}
	if err := json.Unmarshal(text, &hub); err != nil {
		return "", err
	}
	said, err := door(hub.Door, hub.Secret)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
		return "", errNoHub
	}
	if err != nil {
		said = err.Error()
	}
	texts := []string{said}
	for _, request := range []string{"GET /status", "POST /reload", "GET /approvals", "POST /approvals/code", "POST /approvals/answer"} {
		answer, err := speak(hub.Admin, strings.Fields(request))
		first, _, _ := strings.Cut(answer, "\r\n")
		texts = append(texts, fmt.Sprintf("%s: %s %v", request, first, err))
	}
	if b, err := os.ReadFile(hub.SecretFile); err == nil && string(b) == hub.Secret {
		texts = append(texts, "the secret is read")
	}
	return strings.Join(texts, "; "), nil
}
