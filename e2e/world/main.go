package e2e

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

	"go.uber.org/goleak"
)

// long turns on the tests that wait for real time-outs: MCPHUB_E2E_LONG=1. A variable and not a flag, so that `go test ./...`
// can be given it.
var long = os.Getenv("MCPHUB_E2E_LONG") != ""

// programsVariable names a folder that has what TestMain would build: these tests were started anew by one of them.
const programsVariable = "MCPHUB_E2E_PROGRAMS"

// bin is what TestMain built.
var bin struct {
	dir      string // on PATH in the scripts
	mcphub   string
	recorder string
	fixture  string
	opener   string
	hubError error // why there is no mcphub binary
}

func TestMain(m *testing.M) {
	flag.Parse()
	waitTogether()
	heedHangUps()
	os.Exit(testMain(m))
}

// waitTogether has more tests run at a time than there are cores, unless -parallel says how many: most of their time they
// wait for programs to start and to end.
func waitTogether() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if most := flag.Lookup("test.parallel"); !given && runtime.GOMAXPROCS(0) < 4 {
		_ = most.Value.Set("4")
	}
}

// heedHangUps undoes nohup, under which a hub takes no SIGHUP: a signal that
// is handled here is at its default in whatever is started.
func heedHangUps() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

func testMain(m *testing.M) (code int) {
	err := error(nil)
	if bin.dir = os.Getenv(programsVariable); bin.dir == "" {
		if bin.dir, err = os.MkdirTemp("", "mcphub-e2e-"); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		defer func() {
			if err := os.RemoveAll(bin.dir); err != nil && code == 0 {
				fmt.Fprintln(os.Stderr, "e2e:", err)
				code = 1
			}
		}()
	}
	if bin.recorder, err = build("recorder", "./recorder", false); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	if bin.fixture, err = build("fixture", "./fixture", false); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	if bin.opener, err = build("opener", "./opener", false); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	bin.mcphub, bin.hubError = build("mcphub", "../cmd/mcphub", raceDetector)
	npm = prepareNode()
	if npm.absent != "" {
		shout(fmt.Sprintf("\n*** e2e: THE TESTS WITH REAL npm SERVERS AND CLIENTS %s: %s ***\n\n",
			map[bool]string{true: "FAIL", false: "ARE SKIPPED"}[inCI()], npm.absent))
	}
	if code = m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return 0
}

// shout says it on stderr and, since go test swallows that when all tests pass, to whoever sits at the terminal.
func shout(text string) {
	_, _ = os.Stderr.WriteString(text)
	if testing.Verbose() {
		return
	}
	if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		_, _ = tty.WriteString(text)
		_ = tty.Close()
	}
}

func inCI() bool { return os.Getenv("CI") == "true" }

// build compiles a program of this module into bin.dir.
func build(name, pkg string, race bool) (string, error) {
	out := filepath.Join(bin.dir, name)
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	if os.Getenv(programsVariable) != "" {
		return out, nil
	}
	args := []string{"build", "-o", out}
	if race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, pkg)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, said)
	}
	return out, nil
}

// mcphub gives the binary under test.
func mcphub(t testing.TB) string {
	t.Helper()
	if bin.hubError != nil {
		t.Fatal(bin.hubError)
	}
	return bin.mcphub
}

// requireNode skips a test that needs Node where there is none; in CI it fails.
func requireNode(t testing.TB) node {
	t.Helper()
	switch {
	case npm.err != nil:
		t.Fatal(npm.err)
	case npm.absent != "" && inCI():
		t.Fatal("no Node in CI: ", npm.absent)
	case npm.absent != "":
		t.Skip("NOT PROVED HERE: ", npm.absent)
	}
	return npm
}

// The go command keeps a result while what the test read is as it was; it cannot know that these tests built the hub from
// source. So one of them looks at all of it.
func TestAResultIsKeptOnlyWhileTheHubIsTheSame(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (d.Name() == "node_modules" || d.Name() == "docs" || strings.HasPrefix(d.Name(), ".")) {
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
var errNoNode = errors.New("no Node and npm on PATH")
