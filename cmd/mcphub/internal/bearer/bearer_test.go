package bearer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/needs"
)

// TestMake: hubs that start together agree on one token, which is the same later, and is
// no other configuration's.
func TestMake(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	const hubs = 16
	var all [hubs]string
	var together sync.WaitGroup
	start := make(chan struct{})
	for i := range hubs {
		together.Go(func() {
			<-start
			token, err := At(state, "/a/hub.json").Make(t.Context())
			if err != nil {
				t.Error(err)
			}
			all[i] = token
		})
	}
	close(start)
	together.Wait()
	for _, token := range all {
		if token != all[0] || len(token) != 50 || !strings.HasPrefix(token, prefix) {
			t.Errorf("%q and %q", token, all[0])
		}
	}
	if again, err := At(state, "/a/hub.json").Make(t.Context()); err != nil || again != all[0] {
		t.Errorf("after a restart %q, %v", again, err)
	}
	for _, config := range []string{"/b/hub.json", "/a/other.json", ""} {
		if other, err := At(state, config).Make(t.Context()); err != nil || other == all[0] {
			t.Errorf("the token of %q is that of another: %v", config, err)
		}
	}
	place := At(state, "/a/hub.json")
	if info, err := os.Stat(place.File()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Dir(place.File())); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := At(filepath.Join(state, "none"), "").Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of none: %v", err)
	}
}

// TestAtFollowsFolders: a file has one token by whichever way its folder is named, and
// keeps it when the name leads to another file.
func TestAtFollowsFolders(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a user may make no links there")
	}
	dir := t.TempDir()
	for _, name := range []string{"real", "one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if At(dir, filepath.Join(dir, "link", "hub.json")) != At(dir, filepath.Join(dir, "real", "hub.json")) {
		t.Error("two names of one folder have two tokens")
	}
	at := filepath.Join(dir, "real", "hub.json")
	var seen []Place
	for _, to := range []string{"one", "two"} {
		_ = os.Remove(at)
		if err := os.Symlink(filepath.Join("..", to, "hub.json"), at); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, At(dir, at))
	}
	if seen[0] != seen[1] {
		t.Error("another token, because what the name leads to was replaced")
	}
}

// TestBad: what is not as it was made counts for nothing, says how to mend it, and is not
// replaced. Each case is mended as the message says, which is the control.
func TestBad(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	write := func(text string) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, file string)
		says  string
	}{
		"empty":       {write(""), "does not hold a token"},
		"cut":         {write("mcphub_abc\n"), "does not hold a token"},
		"another":     {write(strings.Repeat("a", 50) + "\n"), "does not hold a token"},
		"two lines":   {write(prefix + strings.Repeat("A", 43) + "\n\n"), "does not hold a token"},
		"long":        {write(prefix + strings.Repeat("A", 400)), "does not hold a token"},
		"not base64":  {write(prefix + strings.Repeat("=", 43)), "does not hold a token"},
		"open":        {func(t *testing.T, file string) { chmod(t, file, 0o640) }, "is open to others (mode 0640)"},
		"open folder": {func(t *testing.T, file string) { chmod(t, filepath.Dir(file), 0o755) }, "chmod 700"},
		"link": {func(t *testing.T, file string) {
			if err := os.Rename(file, file+".real"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(file+".real", file); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file"},
		"folder": {func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file"},
		"another user's": {func(t *testing.T, file string) {
			if os.Geteuid() != 0 {
				needs.Missing(t, "only root can give a file away")
			}
			if err := os.Chown(file, 65534, 0); err != nil {
				t.Fatal(err)
			}
		}, "belongs to user 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			place := At(t.TempDir(), "")
			if _, err := place.Make(t.Context()); err != nil {
				t.Fatal(err)
			}
			tc.spoil(t, place.File())
			token, err := place.Make(t.Context())
			if err == nil || token != "" || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q, %v; want %q", token, err, tc.says)
			}
			if name == "open folder" {
				chmod(t, filepath.Dir(place.File()), 0o700)
			} else if err := os.RemoveAll(place.File()); err != nil {
				t.Fatal(err)
			}
			if token, err := place.Make(t.Context()); err != nil || token == "" {
				t.Errorf("mended as it says: %v", err)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
