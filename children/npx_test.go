//go:build unix

package children_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
	"mcphub/rootsmgr/guard"
)

// A clone can bring programs of its own in node_modules/.bin: npx would run
// them instead of the package's, and put them before the real node in PATH.
// The hub's npx runs neither, and its child still works in the root (C4).
func TestNpxTakesNothingFromTheClone(t *testing.T) {
	t.Parallel()
	needs.Program(t, "npx")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	top := dirs(t, 3)
	clone, pkg, home := top[0].Path, top[1].Path, top[2].Path
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	// The package: a script of node that becomes the scripted child.
	write(filepath.Join(pkg, "package.json"), `{"name":"kid-server","version":"1.0.0","bin":{"kid-server":"kid.js"}}`, 0o600)
	write(filepath.Join(pkg, "kid.js"), "#!/usr/bin/env node\n"+
		`const r = require("child_process").spawnSync(`+quote(exe)+`, process.argv.slice(2), {stdio: "inherit"}); process.exit(r.status ?? 1);`+"\n", 0o700)
	// The clone: a node and a kid-server of its own.
	trap := filepath.Join(clone, "trapped")
	for _, name := range []string{"node", "kid-server"} {
		write(filepath.Join(clone, "node_modules", ".bin", name), "#!/bin/sh\necho "+name+" >> "+trap+"\nexit 1\n", 0o700)
	}
	write(filepath.Join(clone, "package.json"), `{"name":"clone","version":"1.0.0","bin":{"kid-server":"node_modules/.bin/kid-server"}}`, 0o600)

	run := func(local bool) (cwd string, err error) {
		child := childtest.Spec("kid", childtest.Script{}, "-y", "--offline", pkg, "serve")
		child.Command, child.Local = "npx", local
		child.Env["HOME"], child.Env["npm_config_cache"], child.Env["npm_config_update_notifier"] = home, filepath.Join(home, "npm"), "false"
		w := newWatcher()
		s := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{child}, Home: home, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}})
		s.Ensure(one, []guard.Root{root(clone, "")})
		l, err := s.Acquire(t.Context(), one)
		if err != nil {
			return "", err
		}
		defer l.Release()
		env := call(t, l, "env", "")
		for _, leak := range []string{"MCPHUB_WORKDIR=", "script_shell="} {
			if strings.Contains(env, leak) {
				t.Errorf("the child sees %s: %s", leak, env)
			}
		}
		_, cwd, _ = strings.Cut(env, `"cwd":"`)
		cwd, _, _ = strings.Cut(cwd, `"`)
		return cwd, nil
	}
	cwd, err := run(false)
	if err != nil || cwd != clone {
		t.Errorf("it works in %q: %v", cwd, err)
	}
	if by, err := os.ReadFile(trap); err == nil {
		t.Errorf("the clone's %s ran", by)
	}
	if _, err := run(true); err == nil {
		t.Error("control: the trap does not work")
	}
	if by, err := os.ReadFile(trap); err != nil {
		t.Errorf("control: nothing of the clone ran: %s %v", by, err)
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
