package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// services are sockets whose servers do for a process that connects what the kernel
// forbids him, and where their sockets are: ~ is the home folder, $RUN that of the
// user below /run, and other variables are replaced by their values in the hub's environment.
var services = []struct {
	name string
	at   []string
}{
	{"D-Bus", []string{"$DBUS_SESSION_BUS_ADDRESS", "$RUN/bus", "/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"}},
	{"systemd", []string{"$RUN/systemd/private", "/run/systemd/private"}},
	{"docker", []string{"$DOCKER_HOST", "/run/docker.sock", "/var/run/docker.sock", "$RUN/docker.sock", "~/.docker/run/docker.sock", "~/.docker/desktop/docker.sock"}},
	{"podman", []string{"$CONTAINER_HOST", "/run/podman/podman.sock", "$RUN/podman/podman.sock"}},
	{"containerd", []string{"/run/containerd/containerd.sock"}},
	{"ssh-agent", []string{"$SSH_AUTH_SOCK", "/tmp/ssh-*/agent.*", "~/.ssh/agent/s.*", "$RUN/ssh-agent.socket", "$RUN/openssh_agent", "$RUN/keyring/ssh", "$RUN/gcr/ssh", "$RUN/gnupg/S.gpg-agent.ssh"}},
	{"gpg-agent", []string{"$GNUPGHOME/S.gpg-agent", "$RUN/gnupg/S.gpg-agent", "~/.gnupg/S.gpg-agent"}},
	{"the keyring", []string{"$RUN/keyring/control", "$RUN/keyring/pkcs11", "$RUN/kwallet5.socket", "$RUN/kwallet6.socket"}},
	{"X11", []string{"/tmp/.X11-unix/X*"}},
	{"Wayland", []string{"$RUN/wayland-*"}},
	{"the hub", []string{"$RUN/mcphub/*.sock", "$XDG_STATE_HOME/mcphub/run/*.sock", "~/.local/state/mcphub/run/*.sock", "/tmp/mcphub-$UID/*.sock", "$TMPDIR/mcphub-$UID/*.sock"}},
}

// Reach names the services whose sockets in the file system are there and can be
// connected to by this user. environ is the hub's.
func Reach(environ []string, home string) (names []string) {
	env := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	uid := strconv.Itoa(os.Getuid())
	runs := []string{"/run/user/" + uid}
	if at := env["XDG_RUNTIME_DIR"]; at != "" && at != runs[0] {
		runs = append(runs, at)
	}
	for _, s := range services {
		if isReachable(s.at, runs, home, uid, env) {
			names = append(names, s.name)
		}
	}
	return names
}

func isReachable(patterns, runs []string, home, uid string, env map[string]string) bool {
	for _, pattern := range patterns {
		for _, run := range runs {
			path, known := expandPattern(pattern, run, home, uid, env)
			if !known {
				continue
			}
			found, _ := filepath.Glob(path)
			for _, at := range found {
				if fi, err := os.Stat(at); err == nil && fi.Mode()&os.ModeSocket != 0 && MayUse(at, Write) {
					return true
				}
			}
		}
	}
	return false
}

// expandPattern returns a pattern with what it names filled in; not known where something
// is not set, or is no path.
func expandPattern(pattern, run, home, uid string, env map[string]string) (path string, known bool) {
	if below, ok := strings.CutPrefix(pattern, "~/"); ok {
		return filepath.Join(home, below), home != ""
	}
	known = true
	path = os.Expand(pattern, func(name string) string {
		value := env[name]
		switch name {
		case "RUN":
			value = run
		case "UID":
			value = uid
		case "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "CONTAINER_HOST":
			value = SocketPath(value)
		}
		known = known && (filepath.IsAbs(value) || name == "UID")
		return value
	})
	return path, known
}

// SocketPath returns the path of the socket that the value of a variable may name, as a path, as an address of D-Bus or as a URL; "" for
// none.
func SocketPath(value string) string {
	path := value
	if address, ok := strings.CutPrefix(value, "unix:path="); ok {
		path, _, _ = strings.Cut(address, ",")
	} else if address, ok := strings.CutPrefix(value, "unix://"); ok {
		path = address
	}
	if !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// joinNames joins names as a sentence has them.
func joinNames(names []string) string {
	switch last := len(names) - 1; last {
	case -1:
		return ""
	case 0:
		return names[0]
	default:
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
}
