package operation

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"mcphub/e2e/bounds"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

func init() { enterPod = enter }

// A pod is what a container runtime makes of the manifest.
type pod struct {
	Root    string            // its file system, which it cannot write
	Mounts  map[string]string // folders of the machine by where they are mounted
	UID     int
	Group   int // fsGroup
	Command []string
	Env     []string
	Dir     string
}

// enter becomes the process of a container, in a mount namespace of its own. It returns only to say why not.
func enter(order string) error {
	var p pod
	if err := json.Unmarshal([]byte(order), &p); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(p.Root, p.Root, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	for at, from := range p.Mounts {
		if err := unix.Mount(from, p.Root+at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if err := errors.Join(unix.Mount("proc", p.Root+"/proc", "proc", 0, ""), unix.Mount("/dev", p.Root+"/dev", "", unix.MS_BIND, "")); err != nil {
		return err
	}
	if err := unix.Mount("", p.Root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := errors.Join(unix.Chroot(p.Root), unix.Chdir(p.Dir), syscall.Setgroups([]int{p.Group}), syscall.Setgid(p.UID), syscall.Setuid(p.UID)); err != nil {
		return err
	}
	if err := os.WriteFile("/written", nil, 0o600); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("the root is not read-only: %w", err)
	}
	return syscall.Exec(p.Command[0], p.Command, p.Env)
}

// A manifest is what this test reads of packaging/kubernetes.yaml.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int
				SecurityContext               struct{ RunAsUser, RunAsGroup, FsGroup int }
				Containers                    []struct {
					Args  []string
					Env   []struct{ Name, Value string }
					Ports []struct {
						Name          string
						ContainerPort int
					}
					ReadinessProbe, LivenessProbe struct {
						HTTPGet struct{ Path, Port string }
					}
					SecurityContext struct{ ReadOnlyRootFilesystem bool }
					VolumeMounts    []struct{ Name, MountPath string }
				}
				Volumes []struct {
					Name      string
					ConfigMap *struct{ Name string }
					Secret    *struct {
						SecretName  string
						DefaultMode int
					}
					EmptyDir *struct{}
				}
			}
		}
	}
}

// hubWithoutLibraries returns the hub as the image has it: there is no C library. It is built if the hub of the other tests needs one.
func hubWithoutLibraries(t *testing.T) string {
	t.Helper()
	hub := world.Hub(t)
	f, err := elf.Open(hub)
	world.Must(t, err)
	defer f.Close()
	if needed, err := f.ImportedLibraries(); err == nil && len(needed) == 0 {
		return hub
	}
	built := filepath.Join(t.TempDir(), "mcphub")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", built, "./cmd/mcphub")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return built
}

// The manifest for Kubernetes runs: in the file system of the image, which is read-only, with the secrets as Kubernetes
// mounts them, as the user that it names and as any other. Its probes are answered, and it stops in the time that it gives.
func TestTheManifestForKubernetes(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		needs.Missing(t, "only root makes a container")
	}
	raw, err := os.ReadFile("../../packaging/kubernetes.yaml")
	world.Must(t, err)
	var config string
	var set manifest
	for _, text := range bytes.Split(raw, []byte("\n---\n")) {
		var m manifest
		text, err := yaml.YAMLToJSON(text)
		world.Must(t, err)
		world.Must(t, json.Unmarshal(text, &m))
		switch m.Kind {
		case "ConfigMap":
			config = m.Data["hub.json"]
		case "StatefulSet":
			set = m
		}
	}
	spec := set.Spec.Template.Spec
	if config == "" || len(spec.Containers) != 1 || !spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
		t.Fatalf("the manifest is another one: %q %+v", config, set)
	}
	program, err := os.ReadFile(hubWithoutLibraries(t))
	world.Must(t, err)
	for name, uid := range map[string]int{"its user": spec.SecurityContext.RunAsUser, "nobody": 65534, "any": 1234567} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := spec.SecurityContext.FsGroup
			if uid != spec.SecurityContext.RunAsUser {
				group = uid
			}
			w := world.New(t)
			config, of := config, map[string]string{}
			for _, p := range spec.Containers[0].Ports {
				of[p.Name] = world.FreePort(t)
				at := fmt.Sprint("0.0.0.0:", p.ContainerPort)
				if !strings.Contains(config, `"`+at+`"`) {
					t.Errorf("nothing listens at the port %s, %s", p.Name, at)
				}
				config = strings.ReplaceAll(config, at, "127.0.0.1:"+of[p.Name])
			}
			// As packaging makes the image.
			top, err := os.MkdirTemp("/var/tmp", "mcphub-pod")
			world.Must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(top) })
			world.Must(t, os.Chmod(top, 0o755))
			root := filepath.Join(top, "root")
			put := func(path, text string, mode os.FileMode, gid int) {
				t.Helper()
				world.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				world.Must(t, os.WriteFile(path, []byte(text), 0o600))
				world.Must(t, os.Chown(path, 0, gid))
				world.Must(t, os.Chmod(path, mode))
			}
			put(root+"/usr/bin/mcphub", string(program), 0o755, 0)
			put(root+"/etc/passwd", "mcphub:x:65532:65532::/home/mcphub:/sbin/nologin\n", 0o644, 0)
			p := pod{Root: root, Mounts: map[string]string{}, UID: uid, Group: group, Dir: "/home/mcphub",
				Command: append([]string{"/usr/bin/mcphub"}, spec.Containers[0].Args...), Env: []string{"PATH=/usr/bin"}}
			for _, v := range spec.Containers[0].Env {
				p.Env = append(p.Env, v.Name+"="+v.Value)
			}
			for _, dir := range []string{"proc", "dev"} {
				world.Must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
			}
			for _, v := range spec.Volumes {
				dir := filepath.Join(top, v.Name)
				world.Must(t, os.Mkdir(dir, 0o755))
				files, mode := map[string]string{}, os.FileMode(0o644)
				switch {
				case v.ConfigMap != nil:
					files["hub.json"] = config
				case v.Secret != nil:
					mode = os.FileMode(v.Secret.DefaultMode)
					for _, name := range []string{"alice", "bob", "state", "metrics"} {
						files[name] = "the secret " + name + ", which is long enough for each\n"
					}
				}
				if len(files) > 0 { // by links, so that all change at once
					for name, text := range files {
						put(filepath.Join(dir, "..2026", name), text, mode, group)
						world.Must(t, os.Symlink("..data/"+name, filepath.Join(dir, name)))
					}
					world.Must(t, os.Symlink("..2026", filepath.Join(dir, "..data")))
				}
				world.Must(t, os.Chown(dir, 0, group))
				world.Must(t, os.Chmod(dir, 0o777|os.ModeSetgid|os.ModeSticky))
				for _, at := range spec.Containers[0].VolumeMounts {
					if at.Name == v.Name {
						world.Must(t, os.MkdirAll(root+at.MountPath, 0o755))
						p.Mounts[at.MountPath] = dir
					}
				}
			}
			order, err := json.Marshal(p)
			world.Must(t, err)
			self, err := os.Executable()
			world.Must(t, err)
			cmd := exec.Command(self)
			cmd.Env, cmd.SysProcAttr = append(w.Env(), podVariable+"="+string(order)), &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			world.Must(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			over := false
			defer func() {
				if !over {
					_ = cmd.Process.Kill()
					<-ended
				}
				if t.Failed() {
					t.Logf("it said: %s", said.String())
				}
			}()
			ask := func(port, path string, header ...string) int {
				req, err := http.NewRequest("GET", "http://127.0.0.1:"+of[port]+path, nil)
				world.Must(t, err)
				for i := 0; i < len(header); i += 2 {
					req.Header.Set(header[i], header[i+1])
				}
				r, err := http.DefaultClient.Do(req)
				if err != nil {
					return 0
				}
				_ = r.Body.Close()
				return r.StatusCode
			}
			ready, live := spec.Containers[0].ReadinessProbe.HTTPGet, spec.Containers[0].LivenessProbe.HTTPGet
			if !world.Within(world.WaitLimit, func() bool { return ask(ready.Port, ready.Path) == http.StatusOK }) {
				t.Fatal("it is not ready")
			}
			if status := ask(live.Port, live.Path); status != http.StatusOK {
				t.Errorf("it is not alive: %d", status)
			}
			if status := ask("metrics", "/metrics", "Authorization", "Bearer the secret metrics, which is long enough for each"); status != http.StatusOK {
				t.Errorf("metrics: %d", status)
			}
			l := &traffic{t: t, address: "http://127.0.0.1:" + of["http"] + "/mcp", stop: make(chan struct{}), token: "the secret alice, which is long enough for each"}
			c := &http.Client{Transport: &http.Transport{}}
			session := l.open(c)
			if _, text, err := l.post(c, session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__write_file","arguments":{"path":"/srv/alice/f","content":"x"}}}`); err != nil || session == "" || !strings.Contains(text, `"result"`) || strings.Contains(text, "isError\":true") {
				t.Errorf("a call: %s %v %q", text, err, l.lost)
			}
			if _, err := os.Stat(filepath.Join(top, "state", ".local", "state", "mcphub", "audit")); err != nil {
				t.Errorf("there is no record: %v", err)
			}
			world.Must(t, cmd.Process.Signal(syscall.SIGTERM))
			if !world.Within(world.WaitLimit, func() bool { return ask(ready.Port, ready.Path) == http.StatusServiceUnavailable }) {
				t.Error("it is ready, and stops")
			}
			select {
			case err := <-ended:
				if over = true; err != nil {
					t.Errorf("it ended: %v", err)
				}
			case <-time.After(bounds.Of(time.Duration(spec.TerminationGracePeriodSeconds) * time.Second)):
				t.Error("it does not end in the time that it is given")
			}
			if _, _, err := l.post(c, session, `{}`); err == nil {
				t.Error("the port is open after the end")
			}
		})
	}
}
