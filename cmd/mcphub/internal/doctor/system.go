package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/guardian"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/internal/printable"
)

// keyringTime is how long the keyring may take to answer.
const keyringTime = 5 * time.Second

// examineSystem reports what this machine gives, and what the hub cannot write.
func (e *examination) examineSystem(ctx context.Context) {
	m := &SystemInfo{
		Landlock: sandbox.CurrentKernel().ABI, Guardian: guardian.IsRunning(), Roots: e.fallbackRoots(), State: rundir.State(os.Getenv),
		Audit: e.found.Audit, Logs: e.found.Logs, Cache: e.found.Hub.Cache,
	}
	m.Inside, m.Seatbelt = systemSurroundings(os.ReadFile, os.Getenv), e.examineSeatbelt(sandbox.CurrentKernel())
	e.report.System = m
	e.reportSurroundings(m)
	e.examineKernel(sandbox.CurrentKernel())
	if e.found.File != nil {
		e.examineSecrets(ctx, m)
		e.examineListen()
		e.examineSharing(m)
	}
	if m.State == "" {
		e.addFinding(System, sevError, "the hub has no folder of its own, so nothing is recorded and no client can be changed", "set HOME where the hub is started; on Windows LOCALAPPDATA")
		return
	}
	seen := map[string]bool{}
	for _, f := range []struct{ what, dir string }{{"its state", m.State}, {"the audit log", m.Audit}, {"what the servers write", m.Logs}, {"what the servers offer", m.Cache}} {
		if f.dir == "" || seen[f.dir] {
			continue
		}
		seen[f.dir] = true
		if err := checkWritable(f.dir); err != nil {
			e.reportFolder(f.what, f.dir, err.Error())
		}
	}
	if e.Clients.OS == "linux" && !m.Guardian {
		e.addFinding(System, sevNote, "there is no guardian: what the servers start may outlive a hub that is killed", "see why on standard error; /proc must be there")
	}
}

// systemSurroundings returns what this system runs in; "" if it is nothing that matters here.
func systemSurroundings(read func(path string) ([]byte, error), env func(string) string) string {
	release, _ := read("/proc/sys/kernel/osrelease") // elsewhere than on Linux there is none
	there := func(path string) bool { _, err := read(path); return err == nil }
	switch text := strings.ToLower(string(release)); {
	case strings.Contains(text, "wsl2"), strings.Contains(text, "microsoft-standard"):
		return "WSL 2"
	case strings.Contains(text, "microsoft"):
		return "WSL 1"
	case env("REMOTE_CONTAINERS") != "", env("CODESPACES") != "", env("DEVCONTAINER") != "":
		return "a devcontainer"
	case there("/.dockerenv"), there("/run/.containerenv"), env("container") != "", env("KUBERNETES_SERVICE_HOST") != "":
		return "a container"
	}
	return ""
}

// reportSurroundings reports what holds in surroundings that a person may not think of.
func (e *examination) reportSurroundings(m *SystemInfo) {
	text := ""
	switch m.Inside {
	case "WSL 1":
		text = "this is WSL 1, which has no Landlock: the kernel holds no server, and every call is judged all the same"
	case "WSL 2":
		text = fmt.Sprintf("this is WSL 2: its own Linux kernel holds the servers (Landlock ABI %d; 0 is not at all). A program of Windows that a server starts is no process of that kernel, and is not held", m.Landlock)
	case "a container", "a devcontainer":
		text = fmt.Sprintf("this is %s: the kernel of its host holds the servers, as far as the container's own filter leaves it (Landlock ABI %d; 0 is not at all). No server leaves the container in any case", m.Inside, m.Landlock)
	default:
		return
	}
	e.addFinding(System, sevNote, text, "nothing needs to be done; \"sandbox\": \"required\" in an entry has a server start only where it is held")
}

// examineKernel reports what this system holds of no server that is to be confined. A server
// that must be is an error elsewhere.
func (e *examination) examineKernel(k sandbox.Kernel) {
	if !slices.ContainsFunc(e.found.Hub.Children, func(c hub.Child) bool { return c.Spec.Sandbox.Mode != sandbox.Off }) {
		return
	}
	lacks, _ := k.Lacks(&sandbox.Profile{Network: sandbox.Network{On: true}}, func() []string { return sandbox.Reach(e.found.Hub.Environ, e.found.Hub.Home) })
	if len(lacks) == 0 {
		return
	}
	e.addFinding(System, sevNote, "the kernel does not hold all of the servers' boundary: "+strings.Join(lacks, "; "), "nothing needs to be done: every call is judged all the same. Linux from 6.12 with Landlock holds all of it")
}

// examineSeatbelt reports whether an entry asks for the sandbox of macOS, and the result of the hub's attempts to get out of it; "" on another system.
func (e *examination) examineSeatbelt(k sandbox.Kernel) string {
	if k.Seatbelt == nil {
		return ""
	}
	if !slices.ContainsFunc(e.found.Hub.Children, func(c hub.Child) bool { return c.Spec.Sandbox.Confines() }) {
		return `not asked for, so no server is held: write "sandbox": "auto" in an entry of hub.json`
	}
	if err := k.Seatbelt(); err != nil {
		return "asked for, and not used: " + err.Error()
	}
	return "asked for: each attempt of the hub to get out of it failed; that it holds is not proved"
}

// examineSecrets describes where secrets are kept.
func (e *examination) examineSecrets(ctx context.Context, m *SystemInfo) {
	kept := setup.Secrets(e.found.File, e.found.Hub.Home)
	kept.Wait = keyringTime
	_, why, err := secrets.New(kept).Names(ctx)
	m.Secrets, m.Why = string(secrets.InKeyring), why
	switch {
	case kept.FileOnly:
		m.Secrets = string(secrets.InFile)
	case why != "":
		m.Secrets = string(secrets.InFile)
		e.addFinding(System, sevNote, "secrets are kept in an encrypted file, for there is no keyring: "+strings.TrimPrefix(why, "no keyring: "), `nothing needs to be done; "secrets": {"store": "file"} says that it is meant`)
	}
	if err == nil {
		return
	}
	f := Finding{Group: System, Severity: sevError, Text: printable.Clean(err.Error()), Cure: "mend the file of the secrets, or set them again"}
	if text, cure, cut := strings.Cut(f.Text, "; "); cut {
		f.Text, f.Cure = text, cure
	}
	f.runChmod("let nobody else read it")
	e.report.addFinding(f)
}

// examineListen finds an address for HTTP that someone else has. A hub of this file may
// have it, and then all is well.
func (e *examination) examineListen() {
	address := e.found.File.HTTP.Listen
	at := e.found.File.At("http", "listen")
	if around := e.found.File.At("http"); at.Line == around.Line && at.Col == around.Col {
		return // it is not written, so no one means to use it
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		_ = l.Close()
		return
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		e.addFinding(System, sevWarning, fmt.Sprintf("serve --http cannot listen on %s: %v", address, err), "name another address").At = formatPlace(at)
		return
	}
	f := Finding{Group: System, Severity: sevWarning, At: formatPlace(at), Text: fmt.Sprintf("another program listens on %s, so serve --http cannot", address), Cure: "end that program, or name another port"}
	for _, h := range e.running() {
		if h.Config.Path == e.absoluteConfig() {
			f.Severity, f.Text, f.Cure = sevNote, fmt.Sprintf("somebody listens on %s: the hub that runs on this hub.json may be it", address), "nothing needs to be done if it is"
			e.report.addFinding(f)
			return
		}
	}
	host, _, _ := net.SplitHostPort(address)
	if free, err := net.Listen("tcp", net.JoinHostPort(host, "0")); err == nil {
		f.Cure = fmt.Sprintf(`end that program, or take a port that is free: write "listen": %q`, free.Addr().String())
		_ = free.Close()
	}
	e.report.addFinding(f)
}

// examineSharing reports whether clients share a hub, and what keeps them from it, where hub.json wants that.
func (e *examination) examineSharing(m *SystemInfo) {
	if e.found.File.Attach.Mode != keys.AttachAuto || e.Clients.OS != "linux" {
		return // elsewhere it has no effect, which validate says
	}
	m.Shares = true
	if err := service.CannotShare(e.Source); err != nil {
		m.Shares = false
		e.addFinding(System, sevWarning, "a client that is started from here has a hub of its own, although hub.json says attach: "+printable.Clean(err.Error()), "docs/sharing.md says who may attach; a hub of its own serves it as well").At = formatPlace(e.found.File.At("attach"))
	}
}

func (e *examination) absoluteConfig() string {
	if e.report.Config == "" {
		return ""
	}
	if abs, err := filepath.Abs(e.report.Config); err == nil {
		return abs
	}
	return e.report.Config
}

// reportFolder reports that the hub cannot write to one of its folders.
func (e *examination) reportFolder(what, dir, why string) {
	for i := range e.report.Findings {
		if e.report.Findings[i].Group == System && strings.Contains(e.report.Findings[i].Text, " "+dir+" ") {
			return // said already
		}
	}
	f := Finding{Group: System, Severity: sevError, Text: fmt.Sprintf("the folder %s of %s cannot be written: %s", dir, what, printable.Clean(why))}
	blocked := dir
	for {
		info, err := os.Stat(blocked)
		if err == nil && !info.IsDir() {
			f.Cure, f.Command = "a file is in its place: take it away", printable.CommandLine([]string{"mv", blocked, blocked + ".old"})
			break
		}
		if err == nil && info.Mode().Perm()&0o700 == 0o700 {
			f.Cure = "it belongs to another user, or its disk is full or read-only: give it to yours, or make room"
			break
		}
		if err == nil {
			f.Cure, f.Command = "let your user write to it", printable.CommandLine([]string{"chmod", "u+rwx", blocked})
			break
		}
		if parent := filepath.Dir(blocked); parent != blocked {
			blocked = parent
			continue
		}
		f.Cure = "make it"
		break
	}
	e.report.addFinding(f)
}

// checkWritable makes a file in a folder and takes it away again. Of a folder that is
// not there it looks at the one in which it would be made.
func checkWritable(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no folder", dir)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return err
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".mcphub-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// findHubs returns the hubs that answer. It reports the ones that do not, and
// folders of sockets that cannot be used.
func (e *examination) findHubs() (answers []admin.Report) {
	all, err := admin.Find(rundir.Sockets(os.Getenv))
	for _, one := range setup.Flatten(err) {
		text, cure, _ := strings.Cut(printable.Clean(one.Error()), "; ")
		f := Finding{Group: Hubs, Severity: sevWarning, Text: text + ": hubs that have their sockets there are not seen", Cure: cure}
		f.runChmod("let nobody else look into it")
		e.report.addFinding(f)
	}
	for _, h := range all {
		r, err := h.Status(e.ctx)
		if err != nil {
			e.addFinding(Hubs, sevWarning, printable.Clean(err.Error()), "end that process, and restart its client")
			continue
		}
		answers = append(answers, r)
	}
	return answers
}

// examineHubs reports which hubs are not as they should be.
func (e *examination) examineHubs() {
	for _, r := range e.running() {
		e.report.Hubs = append(e.report.Hubs, Hub{r.PID, r.Version, r.Config.Path})
		who := fmt.Sprintf("the hub %d", r.PID)
		if r.Config.Path != "" {
			who += " of " + r.Config.Path
		}
		report := func(severity, text, cure, command string) {
			e.report.addFinding(Finding{Group: Hubs, Subject: fmt.Sprint(r.PID), Severity: severity, Text: who + " " + printable.Clean(text), Cure: cure, Command: command})
		}
		restart := "restart its client"
		if len(r.Sessions) > 0 && r.Sessions[0].Client != "" {
			restart = "restart its client: " + printable.Clean(r.Sessions[0].Client)
		}
		if r.Version != e.Source.Version {
			report(sevWarning, fmt.Sprintf("is version %s, and this is %s", r.Version, e.Source.Version), restart, "")
		}
		if r.Alone != "" {
			report(sevWarning, "serves one client alone, although hub.json says attach: "+r.Alone, "docs/sharing.md says who may attach; then "+restart, "")
		}
		if r.Config.Error != "" {
			report(sevError, "goes on with an older hub.json, for it cannot read that of now: "+firstLine(r.Config.Error), "correct what mcphub validate finds in it", "")
		}
		if r.Config.Waiting != "" {
			report(sevWarning, "waits with a change of hub.json: "+r.Config.Waiting, "look at what mcphub plan says of it; if it is yours, have it read", "mcphub reload")
		}
		if len(r.Config.AfterRestart) > 0 {
			report(sevWarning, "takes these after a restart alone: "+strings.Join(r.Config.AfterRestart, ", "), restart, "")
		}
		if r.Audit.Error != "" {
			report(sevError, "cannot write its audit log: "+r.Audit.Error, "mend the folder that is named", "")
		}
		for i := range r.Children {
			if c := &r.Children[i]; c.CircuitOpen && c.State != "ready" {
				report(sevError, fmt.Sprintf("has given up the server %s after %d failures: %s", c.Server, c.Failures, firstLine(c.LastFailure)), "mend what it says, and have it started again",
					e.commandLine(printable.BuildCommand("restart", nil, c.Server)...))
			}
		}
	}
}
