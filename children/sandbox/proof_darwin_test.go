package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mcphub/children/sandbox/proof"
	"mcphub/e2e/needs"
)

func TestMain(m *testing.M) {
	if proof.IsChild(os.Args[1:]) {
		os.Exit(proof.Child())
	}
	os.Exit(m.Run())
}

// TestSeatbeltHolds: this Mac refuses each way out, and lets honest calls pass.
func TestSeatbeltHolds(t *testing.T) {
	if err := CurrentKernel().Seatbelt(); err != nil {
		t.Error(err)
	}
}

// TestProgramsUnderSeatbelt: the programs that servers are made of work in a root. The control is the same command without Seatbelt.
func TestProgramsUnderSeatbelt(t *testing.T) {
	for name, words := range map[string][]string{
		"a shell":         {"sh", "-c", "echo x >f && cat f && mkdir d && mv f d && rm -r d && pwd && ls -l / ."},
		"git":             {"git", "init", "-q", "repository"},
		"Python":          {"python3", "-c", "import os, ssl, tempfile, multiprocessing as m; l = m.Lock(); tempfile.mkdtemp(dir='.'); print(os.path.realpath('.'), ssl.create_default_context())"},
		"Node":            {"node", "-e", "const fs = require('fs'); fs.writeFileSync('n', 'x'); console.log(fs.realpathSync('n'), require('os').cpus().length, require('dns').lookup('localhost', () => {}))"},
		"certificates":    {"curl", "-sS", "-o", "page", "https://example.com/"},
		"a child process": {"node", "-e", "console.log(require('child_process').execSync('/bin/echo x').toString())"},
	} {
		program, err := filepath.EvalSymlinks(needs.Program(t, words[0]))
		if err != nil {
			t.Fatal(err)
		}
		for _, held := range []bool{false, true} {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			argv := append([]string{program}, words[1:]...)
			if held {
				p := &Profile{Rules: append(UserBase(), Rule{root, Read | Write | Execute}, Rule{filepath.Dir(filepath.Dir(program)), Read | Execute}), Network: Network{On: true}}
				box, err := Prepare(CurrentKernel(), p, false)
				if err != nil {
					t.Fatal(err)
				}
				argv = box.Wrap(argv)
			}
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = root, append(os.Environ(), "TMPDIR="+root)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Run(); err != nil {
				t.Errorf("%s (held %t): %v: %s", name, held, err, said.String())
			}
		}
	}
}
