package windows

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e/windows:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// The go command keeps a result while what the test read is as it was; it cannot know that these tests built the hub from
// source. So one of them looks at all of it.
func TestAResultIsKeptOnlyWhileTheHubIsTheSame(t *testing.T) {
	t.Parallel()
	world.LookAtTheSource(t)
}

// A machine is a prefix of Wine in scratch: drives with files, the hub and the witness in C:\tools, and the user "me".
type machine struct {
	dir    string    // the scratch, which ends with the tests
	wine   string    // the program
	server string    // wineserver
	env    []string  // of each process
	keeper *exec.Cmd // runs for as long as the tests
}

// made is the machine of all tests, or the error that keeps it from being made.
var made struct {
	sync.Once
	machine
	err error
}

// onWindows gives the machine. A test ends here if Wine cannot run.
func onWindows(t *testing.T) *machine {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("Wine is for Linux here")
	}
	wine, server := needs.Program(t, "wine"), needs.Program(t, "wineserver")
	linker, dlltool := needs.Program(t, "x86_64-w64-mingw32-ld"), needs.Program(t, "x86_64-w64-mingw32-dlltool")
	made.Do(func() { made.err = made.make(wine, server, linker, dlltool) })
	if made.err != nil {
		t.Fatal(made.err)
	}
	return &made.machine
}

func (m *machine) make(wine, server, linker, dlltool string) (err error) {
	if m.dir, err = os.MkdirTemp("", "mcphub-windows-"); err != nil {
		return err
	}
	m.wine, m.server = wine, server
	prefix := filepath.Join(m.dir, "prefix")
	// LANG has Wine take the names of files for UTF-8. Without mscoree and mshtml it asks for no further downloads.
	m.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "USER=me", "LOGNAME=me", "LANG=C.UTF-8",
		"TMPDIR=" + m.dir, "WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree=;mshtml="}
	if err := os.Mkdir(prefix, 0o700); err != nil {
		return err
	}
	// The server is started before the first program, so that no two programs of a new prefix start one each.
	if err := m.linux(server); err != nil {
		return err
	}
	if err := m.linux(wine, "wineboot", "-i"); err != nil {
		return err
	}
	if err := m.forward(linker, dlltool); err != nil {
		return err
	}
	if err := m.lay(); err != nil {
		return err
	}
	for name, pkg := range map[string]string{"mcphub.exe": "./cmd/mcphub", "witness.exe": "./e2e/windows/witness"} {
		build := exec.Command("go", "build", "-o", m.path(`C:\tools\`+name), pkg)
		build.Dir = filepath.Join("..", "..")
		build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, said)
		}
	}
	// While one program runs, Wine keeps its services: each start is faster, and a test starts no process but its own.
	m.keeper = exec.Command(wine, `C:\tools\witness.exe`, "hold")
	m.keeper.Dir, m.keeper.Env = m.dir, m.env
	return errors.Join(m.keeper.Start(), m.linux(wine, "cmd", "/c", "ver"))
}

// linux runs a program of Linux to its end. It writes to a file and not to a pipe, which the services of Wine would keep open.
func (m *machine) linux(name string, args ...string) error {
	file := filepath.Join(m.dir, "said")
	said, err := os.Create(file)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = m.dir, m.env, said, said
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(file)
		return fmt.Errorf("%s %q: %w\n%s", name, args, err, text)
	}
	return nil
}

// forward makes bcryptprimitives.dll, which programs of Go need and Wine 8 lacks. Its one function is one of advapi32.
func (m *machine) forward(linker, dlltool string) error {
	definition, exports := filepath.Join(m.dir, "forward.def"), filepath.Join(m.dir, "forward.o")
	if err := os.WriteFile(definition, []byte("LIBRARY bcryptprimitives.dll\nEXPORTS\nProcessPrng = advapi32.SystemFunction036\n"), 0o600); err != nil {
		return err
	}
	return errors.Join(m.linux(dlltool, "-d", definition, "-e", exports),
		m.linux(linker, "-shared", "-e", "0", "-o", m.path(`C:\windows\system32\bcryptprimitives.dll`), exports))
}

// lay makes drives D and E, E as another name of C, and the files of testdata/disk. It takes the drive Z away: through it each file would
// have one more name.
func (m *machine) lay() error {
	if err := os.Mkdir(filepath.Join(m.dir, "prefix", "drive_d"), 0o700); err != nil {
		return err
	}
	devices := filepath.Join(m.dir, "prefix", "dosdevices")
	err := errors.Join(os.Remove(filepath.Join(devices, "z:")),
		os.Symlink("../drive_d", filepath.Join(devices, "d:")), os.Symlink("../drive_c", filepath.Join(devices, "e:")),
		os.Mkdir(m.path(`C:\tools`), 0o700), os.Mkdir(m.path(`C:\records`), 0o700))
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join("testdata", "disk"))
	if err != nil {
		return err
	}
	for file := range strings.Lines(string(list)) {
		if file = strings.TrimSuffix(file, "\n"); file == "" || strings.HasPrefix(file, "#") {
			continue
		}
		if err := m.write(file, "text of "+file+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// shortName is a line of dir /x: a short name, and the name itself.
var shortName = regexp.MustCompile(`(\S+~\S+) +(.+)\r`)

// short gives the short names in a directory, as one list of names and what stands for them.
func (m *machine) short(t *testing.T, dirs ...string) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, dir := range dirs {
		cmd := exec.Command(m.wine, "cmd", "/c", "dir", "/a", "/x", dir)
		cmd.Env = m.env
		said, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range shortName.FindAllStringSubmatch(string(said), -1) {
			pairs = append(pairs, "@SHORT:"+names[2]+"@", names[1])
		}
	}
	return strings.NewReplacer(pairs...)
}

// path gives the path in Linux of a file of Windows, whose drive is C or D.
func (m *machine) path(windows string) string {
	drive, rest, _ := strings.Cut(windows, `:\`)
	rest = strings.ReplaceAll(rest, `\`, "/")
	if user, ok := strings.CutPrefix(rest, "Users/"); ok {
		rest = "users/" + user // as wineboot spells it
	}
	return filepath.Join(m.dir, "prefix", "drive_"+strings.ToLower(drive), filepath.FromSlash(rest))
}

// write makes a file of Windows, and the directories above it.
func (m *machine) write(windows, text string) error {
	path := m.path(windows)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

// hub is the program under test.
const hub = `C:\tools\mcphub.exe`

// serve starts a hub in a directory, as a client whose roots these are; nil is a client that gives none. more is laid over the environment.
func (m *machine) serve(t *testing.T, dir string, roots ide.Roots, config string, more ...string) *ide.Client {
	t.Helper()
	o := ide.Options{Command: m.wine, Args: []string{hub, "serve", "--log-level", "error", "--config", config},
		Dir: m.path(dir), Env: append(slices.Clip(m.env), more...), Roots: roots}
	if roots == nil {
		o.Capabilities = `{}`
	}
	c, err := ide.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// end stops Wine and removes the machine.
func end() error {
	if made.dir == "" {
		return nil
	}
	stop := exec.Command(made.server, "-k") // it waits until all have ended
	stop.Env = made.env
	_ = stop.Run() // it fails if nothing runs
	if made.keeper != nil {
		_ = made.keeper.Wait() // it was killed
	}
	return os.RemoveAll(made.dir)
}
