package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/redact"
)

// sealed returns a line with these members whose hash is right.
func sealed(members string) []byte {
	b := []byte(`{"v":1,"n":1,"prev":"` + audit.NoHash + `","time":"2026-01-31T15:04:05.000000Z","kind":"decision"` + members)
	sum := sha256.Sum256(b)
	return append(b, (`,"hash":"` + hex.EncodeToString(sum[:]) + `"}`)...)
}

// A line may be written by anybody who can write to the folder, with a right hash.
func TestALineThatNestsTooDeepIsRefused(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte {
		return sealed(`,"arguments":` + strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	if _, err := trail.ParseEvent("log", nested(audit.MaxDepth)); err != nil {
		t.Error("the control:", err)
	}
	for _, line := range [][]byte{nested(audit.MaxDepth + 8), nested(1 << 20), sealed(`,"arguments":` + strings.Repeat(`{"a":`, 1<<20))} {
		if _, err := trail.ParseEvent("log", line); !errors.Is(err, audit.ErrTooDeep) {
			t.Errorf("a line of %d bytes: %v", len(line), err)
		}
	}
	for n, want := range map[int]bool{audit.MaxDepth: true, audit.MaxDepth + 1: false, 1 << 20: false} {
		raw := strings.Repeat("[", n) + strings.Repeat("]", n)
		if got := string(redact.JSON([]byte(raw))) == raw; got != want {
			t.Errorf("%d levels are recorded: %t", n, got)
		}
	}
}

// FuzzLine: no line, whatever its hash, ends the program or has a sense that
// another reader would not find.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"", `,"child":"a"`, `,"arguments":{"a":[[[]]]}`, `,"arguments":` + strings.Repeat("[", 2000), `,"log":"x"`, `,"bytes":1,"sha256":"x"`, `,"calls":[{"tool":"a"}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, members string) {
		line := sealed(members)
		e, err := trail.ParseEvent("log", line)
		if err == nil && (e.Number != 1 || strings.Count(members, "[")+strings.Count(members, "{") > 1<<20) {
			t.Fatalf("%+v", e)
		}
		redact.JSON([]byte(members))
	})
}

func TestAMissingChainIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := trail.Verify(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a folder in which nothing was recorded: %v", err)
	}
	_, stop := running(t, audit.Options{Dir: dir})
	lock, err := filepath.Glob(filepath.Join(dir, "*"+audit.LockEnding))
	if err != nil || len(lock) == 0 {
		t.Fatal(lock, err)
	}
	stop()
	whole(t, dir) // the control
	if err := os.Remove(filepath.Join(dir, audit.ChainName)); err != nil {
		t.Fatal(err)
	}
	missing := func() {
		t.Helper()
		r, err := trail.Verify(dir, strings.Repeat("0", 64))
		if err != nil || r.IsWhole() || r.Problems[0].File != audit.ChainName || !strings.HasPrefix(r.Problems[0].Text, "it is missing") {
			t.Errorf("%+v, %v", r, err)
		}
	}
	missing()
	logs, err := filepath.Glob(filepath.Join(dir, "*"+audit.LogEnding))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
	missing() // what is left are locks
}

func TestFindingsAreRedacted(t *testing.T) {
	t.Parallel()
	r := audit.Record{DecisionFields: audit.DecisionFields{Findings: []audit.Finding{{At: "/opts/password", Path: "/home/hunter2"}, {At: "/path", Path: "/srv/ghp_" + strings.Repeat("a1B2", 9)}}}}
	if b := r.Line(); strings.Contains(string(b), "hunter2") || strings.Contains(string(b), "ghp_") {
		t.Errorf("%s", b)
	}
}
