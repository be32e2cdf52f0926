package world

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"go.uber.org/goleak"

	"mcphub/e2e/needs"
)

// Long turns on the tests that wait for real time-outs: MCPHUB_E2E_LONG=1. A variable and not a flag, so that `go test ./...`
// can be given it.
var Long = os.Getenv("MCPHUB_E2E_LONG") != ""

// programsVariable names a folder that has what Main would build: these tests were started again by one of them.
const programsVariable = "MCPHUB_E2E_PROGRAMS"

// Bin is what Main built.
var Bin struct {
	Dir      string // on PATH in the scripts
	Hub      string
	Recorder string
	Fixture  string
	Opener   string
}

// root is the folder of the module: go test starts the tests in e2e/PACKAGE.
var root, errRoot = filepath.Abs(filepath.Join("..", ".."))

// Source returns the path of something in the source tree.
func Source(elem ...string) string { return filepath.Join(append([]string{root}, elem...)...) }

// Main is what TestMain of each package of tests does: it makes the programs, runs the tests, and ends the process.
func Main(m *testing.M) {
	flag.Parse()
	waitTogether()
	heedSignals()
	os.Exit(run(m))
}

// waitTogether has more tests run at a time than there are cores, unless -parallel says how many: most of their time they
// wait for programs to start and to end. go test has another package of tests run at the same time.
func waitTogether() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if most := flag.Lookup("test.parallel"); !given && runtime.GOMAXPROCS(0) < 4 {
		_ = most.Value.Set("3")
	}
}

// heedSignals undoes nohup and a shell's &, under which a hub takes no SIGHUP or no SIGINT: a signal that is handled here is
// at its default in each program that a test starts.
func heedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

func run(m *testing.M) (code int) {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	err := errRoot
	if err != nil {
		return fail(err)
	}
	if Bin.Dir = os.Getenv(programsVariable); Bin.Dir == "" {
		if Bin.Dir, err = os.MkdirTemp("", "mcphub-e2e-"); err != nil {
			return fail(err)
		}
		defer func() {
			if err := os.RemoveAll(Bin.Dir); err != nil && code == 0 {
				code = fail(err)
			}
		}()
	}
	if err := buildPrograms(); err != nil {
		return fail(err)
	}
	NPM = prepareNode()
	if NPM.absent != "" {
		Shout(fmt.Sprintf("\n*** e2e: THE TESTS WITH REAL npm SERVERS AND CLIENTS %s: %s ***\n\n",
			map[bool]string{true: "FAIL", false: "ARE SKIPPED"}[needs.InCI()], NPM.absent))
	}
	if code = m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		return fail(err)
	}
	return 0
}

// Shout says it on stderr and, since go test swallows that when all tests pass, to the one who sits at the terminal.
func Shout(text string) {
	_, _ = os.Stderr.WriteString(text)
	if testing.Verbose() {
		return
	}
	if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		_, _ = tty.WriteString(text)
		_ = tty.Close()
	}
}

// buildPrograms makes the programs of this module that tests start, and puts copies into Bin.Dir. They are made in e2e/.programs, once
// for all packages of tests: a go command that finds there what it would make leaves it. It takes a second to see that, so one
// command makes all of them. The copies are this process's own, so that a later build changes no program that runs.
func buildPrograms() error {
	made := Source("e2e", ".programs")
	names := map[string]*string{"mcphub": &Bin.Hub, "recorder": &Bin.Recorder, "fixture": &Bin.Fixture, "opener": &Bin.Opener}
	for name, path := range names {
		*path = filepath.Join(Bin.Dir, executable(name))
	}
	if os.Getenv(programsVariable) != "" {
		return nil
	}
	if err := os.MkdirAll(made, 0o755); err != nil { //nolint:gosec // other users run these tests too
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(made, "lock")).Lock()
	if err != nil {
		return fmt.Errorf("the lock around go build: %w", err)
	}
	defer unlock()
	hub, programs := made, []string{"./e2e/recorder", "./e2e/fixture", "./e2e/opener"}
	if RaceDetector {
		hub = filepath.Join(made, "race")
		err = build(hub, "-race", "./cmd/mcphub")
	} else {
		programs = append(programs, "./cmd/mcphub")
	}
	if err := errors.Join(err, build(made, programs...)); err != nil {
		return err
	}
	for name, path := range names {
		from := filepath.Join(made, executable(name))
		if path == &Bin.Hub {
			from = filepath.Join(hub, executable(name))
		}
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(*path, b, 0o755); err != nil { //nolint:gosec // programs, which servers of other users run
			return err
		}
	}
	return nil
}

// build makes programs in a folder.
func build(dir string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", dir + string(filepath.Separator)}, args...)...)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %q: %w\n%s", args, err, said)
	}
	return nil
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// Hub gives the binary under test.
func Hub(t testing.TB) string {
	t.Helper()
	if Bin.Hub == "" {
		t.Fatal("TestMain does not call world.Main")
	}
	return Bin.Hub
}

// RequireNode skips a test that needs Node if there is none; in CI it fails.
func RequireNode(t testing.TB) Node {
	t.Helper()
	switch {
	case NPM.err != nil:
		t.Fatal(NPM.err)
	case NPM.absent != "":
		needs.Missing(t, NPM.absent)
	}
	return NPM
}

// LookAtTheSource is for a test of each package. The go command keeps a result while what the tests read is as it was; it cannot
// know that they built the hub from source. So one of them looks at all of it.
func LookAtTheSource(t *testing.T) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "node_modules" || d.Name() == "docs" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		seen++
		// This is what the go command notes down. An editor may take a file away meanwhile.
		if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil || seen < 10 {
		t.Errorf("looked at %d files: %v", seen, err)
	}
}

// errNoNode is what prepareNode finds on a machine without Node or npm.
var errNoNode = errors.New("needs node and npm: apt-get install nodejs npm")
