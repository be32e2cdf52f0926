package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

// TestExcept: a folder in a root is opened by no rule around it, and by none of its own. What lies beside is, as it was at the
// start. The control has the same rules without it.
func TestExcept(t *testing.T) {
	t.Parallel()
	for _, guarded := range []bool{false, true} {
		root := real(t.TempDir())
		kept := filepath.Join(root, "a", "kept")
		for _, dir := range []string{kept, filepath.Join(root, "a", "beside"), filepath.Join(root, "b")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		secret := filepath.Join(kept, "file")
		write := func(path string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(canary), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(secret)
		write(filepath.Join(root, "file"))
		p := profileFor(t, root)
		p.Rules = sandbox.Sorted(append(p.Rules, sandbox.Rule{Path: secret, Access: sandbox.Read | sandbox.Write}))
		if guarded {
			p.Except = kept
		}
		for _, try := range []struct {
			attack []string
			beside bool // of what is excepted: it works with the guard, too
		}{
			{[]string{"read", secret}, false},
			{[]string{"write", filepath.Join(kept, "new")}, false},
			{[]string{"truncate", secret}, false},
			{[]string{"symlink", filepath.Join(root, "a", "link")}, false},
			{[]string{"rename", kept, filepath.Join(root, "b", "moved")}, false},
			{[]string{"write", filepath.Join(root, "new")}, false},
			{[]string{"list", root}, true},
			{[]string{"write", filepath.Join(root, "b", "new")}, true},
			{[]string{"write", filepath.Join(root, "a", "beside", "new")}, true},
			{[]string{"write", filepath.Join(root, "file")}, true},
		} {
			out := confined(t, p, child(t, root, try.attack...))
			if done := strings.HasPrefix(out, "done"); done != (try.beside || !guarded) {
				t.Errorf("excepted %t, %q: %s", guarded, try.attack, out)
			}
			if err := os.Rename(filepath.Join(root, "b", "moved"), kept); err == nil {
				write(secret)
			}
		}
		for path, opens := range map[string]bool{secret: false, kept: false, filepath.Join(root, "b"): true} {
			if got := p.Opens(path, sandbox.Write); got != (opens || !guarded) || (p.AccessAt(path)&sandbox.Write != 0) != got {
				t.Errorf("excepted %t: %s is said to be open: %t", guarded, path, got)
			}
		}
	}
}
