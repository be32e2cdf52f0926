package world

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mcphub/e2e/needs"
)

// RequireChromium finds a browser that Playwright can drive. If there is none, the test skips; in CI it fails.
func RequireChromium(t testing.TB) string {
	t.Helper()
	if path := Chromium(); path != "" {
		return path
	}
	return needs.Program(t, "chromium")
}

// Chromium finds a browser that Playwright can drive; "" if there is none.
func Chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Major gives the first number of the version.
func (n Node) Major(t testing.TB) int {
	t.Helper()
	said, err := exec.Command(n.Program, "--version").Output()
	Must(t, err)
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(said)), "v"), ".")
	v, err := strconv.Atoi(first)
	Must(t, err)
	return v
}

// GoplsVersion is the newest that the Go of this module builds.
const GoplsVersion = "v0.23.0"

// Gopls gives the path of gopls, which is built once for all checkouts.
func Gopls(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	Must(t, err)
	dir := filepath.Join(cache, "mcphub-e2e", "gopls-"+GoplsVersion)
	Must(t, os.MkdirAll(dir, 0o700))
	unlock, err := lockedfile.MutexAt(filepath.Join(dir, ".lock")).Lock()
	Must(t, err)
	defer unlock()
	program := filepath.Join(dir, "gopls")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if _, err := os.Stat(program); err == nil {
		return program
	}
	cmd := exec.Command("go", "install", "golang.org/x/tools/gopls@"+GoplsVersion)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		needs.Missing(t, "go install gopls: ", err, "\n", string(said))
	}
	return program
}

// InBrowser runs a script of testdata that opens a browser. Its first argument is the module that drives one.
func (w *World) InBrowser(script string, args ...string) {
	w.T.Helper()
	cmd := exec.Command(NPM.Program, append([]string{filepath.Join("testdata", script), filepath.Join(NPM.Modules, "playwright-core")}, args...)...)
	cmd.Env = w.Env("MCPHUB_E2E_PICTURES=" + os.Getenv("MCPHUB_E2E_PICTURES"))
	out, err := cmd.CombinedOutput()
	w.T.Logf("%s", out)
	if err != nil {
		w.T.Fatal(err)
	}
}
