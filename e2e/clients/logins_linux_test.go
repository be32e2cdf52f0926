package clients

import (
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/oauthtest"
	"mcphub/e2e/world"
)

// A hub is killed after it has sent a renewal and before it has read the answer. From then on status names the login, and
// what helps; and as the server takes the former token no more, the next call says that the login is over.
func TestLoginCutOff(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	as := oauthtest.New(t)
	config := w.Config(obj{"protected": obj{"url": as.Resource, "type": "http", "auth": obj{"issuer": as.Issuer}}}, obj{"secrets": obj{"store": "file"}})
	auth := func(want string, args ...string) {
		t.Helper()
		if out, _ := auth(w, world.Visitor(t), append(args, "--config", config)...); !strings.Contains(out, want) {
			t.Errorf("%q: %s\nwant %q", args, out, want)
		}
	}
	call := func() *exec.Cmd {
		cmd := exec.Command(world.Hub(t), "call", "protected__whoami", "--root", w.Project, "--config", config)
		cmd.Env, cmd.Dir = w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path="+w.Path("no-bus")), w.Home
		return cmd
	}
	auth("Logged in at protected", "login", "protected", "--no-browser")
	as.Expire()
	sent, killed := make(chan struct{}), make(chan struct{})
	as.Change(func() {
		as.Token = func(http.ResponseWriter, url.Values) bool { close(sent); <-killed; return false }
	})
	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")), Roots: ide.Folders(w.Project)})
	s.Handshake()
	s.SendCall("call-tool", `{"serverName":"protected","toolName":"whoami"}`)
	<-sent
	hub := world.HubProper(t, s.PID())
	if hub == 0 {
		t.Fatal("there is no hub")
	}
	s.ExitStatus = 128 + int(syscall.SIGKILL)
	world.Must(t, syscall.Kill(hub, syscall.SIGKILL))
	s.End(world.StopBound)
	as.Change(func() { as.Token = nil })
	close(killed)
	if !world.Within(world.WaitLimit, func() bool { return as.Rotations() == 1 }) {
		t.Error("the server has not answered")
	}
	const cut = "a renewal was cut off before its answer was read"
	auth("good", "status", "protected")
	auth(cut+": the next call tries once more, and says if the login is over; run: mcphub auth login protected", "status", "protected")
	if out, _ := call().CombinedOutput(); !strings.Contains(string(out), "the login is over: "+cut) || strings.Contains(string(out), oauthtest.Canary) {
		t.Errorf("the next call says %s", out)
	}
	auth("over", "status", "protected")
	auth(cut, "status", "protected")
	auth("Logged in at protected", "login", "protected", "--no-browser")
	if out, err := call().CombinedOutput(); err != nil || !strings.Contains(string(out), "alice") {
		t.Errorf("logged in again: %v %s", err, out)
	}
}
