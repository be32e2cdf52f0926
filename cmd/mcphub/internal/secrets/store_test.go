package secrets

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"mcphub/e2e/needs"
	"mcphub/internal/ownership"
	"mcphub/internal/reference"
)

// newStore returns a Store with a keyring in memory, or without one.
func newStore(t *testing.T, dir string, noKeyring error) *Store {
	t.Helper()
	s := New(Options{Dir: dir})
	s.keyring.ready = func() error { return noKeyring }
	return s
}

var errNoBus = errors.New("no bus")

func wantGet(t *testing.T, s *Store, name, want string) {
	t.Helper()
	if got, err := s.Get(t.Context(), name); err != nil || got != want {
		t.Errorf("%s is %q, %v, want %q", name, got, err, want)
	}
}

func TestKeyring(t *testing.T) {
	keyring.MockInit()
	dir := filepath.Join(t.TempDir(), "mcphub")
	s := newStore(t, dir, nil)
	var missing *NotSetError
	if _, err := s.Get(t.Context(), "A"); !errors.As(err, &missing) || err.Error() != `the secret "A" is not set; mcphub secret set A` {
		t.Error(err)
	}
	for _, name := range []string{"B", "A", "B"} {
		if at, why, err := s.Set(t.Context(), name, "value of "+name); at != InKeyring || why != "" || err != nil {
			t.Errorf("%s: %s %s %v", name, at, why, err)
		}
	}
	wantGet(t, s, "A", "value of A")
	if all, why, err := s.Names(t.Context()); len(all) != 2 || all[0] != (StoredSecret{"A", InKeyring}) || why != "" || err != nil {
		t.Error(all, why, err)
	}
	if _, err := os.Stat(filepath.Join(dir, fileName)); err == nil {
		t.Error("a file was made beside the keyring")
	}
	if err := s.Delete(t.Context(), "A"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "A"); !errors.As(err, &missing) {
		t.Error(err)
	}
	if all, _, err := s.Names(t.Context()); len(all) != 1 || err != nil {
		t.Error(all, err)
	}
}

// Without a keyring the file is used and that is said; once there is one, what is set
// again moves there.
func TestFile(t *testing.T) {
	keyring.MockInit()
	dir := filepath.Join(t.TempDir(), "mcphub")
	s := newStore(t, dir, errNoBus)
	if at, why, err := s.Set(t.Context(), "svc/A", "canary-a"); at != InFile || !strings.Contains(why, "no bus") || err != nil {
		t.Fatal(at, why, err)
	}
	if _, _, err := s.Set(t.Context(), "B", "canary-b"); err != nil {
		t.Fatal(err)
	}
	wantGet(t, newStore(t, dir, errNoBus), "svc/A", "canary-a")
	var missing *NotSetError
	if _, err := s.Get(t.Context(), "C"); !errors.As(err, &missing) || err.Error() != `the secret "C" is not set (no keyring: no bus); mcphub secret set C` {
		t.Error(err)
	}
	for _, name := range []string{fileName, identityName} {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(raw), "canary") {
			t.Errorf("%s: %v\n%s", name, err, raw)
		}
		info, err := os.Stat(path)
		if err != nil || ownership.OthersUse(info) {
			t.Error(info.Mode(), err)
		}
	}
	with := newStore(t, dir, nil)
	wantGet(t, with, "B", "canary-b")
	if at, _, err := with.Set(t.Context(), "B", "newer"); at != InKeyring || err != nil {
		t.Error(at, err)
	}
	if _, err := s.Get(t.Context(), "B"); !errors.As(err, &missing) {
		t.Error("an older copy stayed in the file:", err)
	}
	if all, _, err := with.Names(t.Context()); len(all) != 2 || all[0] != (StoredSecret{"B", InKeyring}) || all[1] != (StoredSecret{"svc/A", InFile}) || err != nil {
		t.Error(all, err)
	}
	if err := with.Delete(t.Context(), "svc/A"); err != nil {
		t.Error(err)
	}
	only := New(Options{Dir: dir, FileOnly: true})
	if _, err := only.Get(t.Context(), "B"); !errors.As(err, &missing) {
		t.Error("the keyring was asked:", err)
	}
}

func TestWhatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	for _, name := range []string{fileName, identityName} {
		dir := t.TempDir()
		s := newStore(t, dir, errNoBus)
		if _, _, err := s.Set(t.Context(), "A", "canary"); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), 0o660); err != nil {
			t.Fatal(err)
		}
		_, get := s.Get(t.Context(), "A")
		_, _, set := s.Set(t.Context(), "A", "x")
		for _, err := range []error{get, set} {
			if err == nil || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		wantGet(t, s, "A", "canary") // the control
	}
}

// A key that is gone, or another one, loses nothing that is encrypted.
func TestTheKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newStore(t, dir, errNoBus)
	if _, _, err := s.Set(t.Context(), "A", "canary"); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, identityName)
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Set(t.Context(), "B", "x"); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Error(err)
	}
	for _, text := range []string{"AGE-SECRET-KEY-CANARY\n", ""} {
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Set(t.Context(), "B", "x"); err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Error(err)
		}
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	wantGet(t, s, "A", "canary")
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir(), errNoBus)
	for name, value := range map[string]string{"a b": "x", "": "x", "A": "", "B": strings.Repeat("x", MaxValue+1), "C": "a\x00b", "D": "a\xff"} {
		if _, _, err := s.Set(t.Context(), name, value); err == nil {
			t.Errorf("%q was set to %d bytes", name, len(value))
		}
	}
	if all, _, err := s.Names(t.Context()); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
	if _, _, err := New(Options{FileOnly: true}).Set(t.Context(), "A", "x"); err == nil {
		t.Error("kept where there is no folder")
	}
}

// A keyring that hangs is given up, and does not pile up calls.
func TestKeyringThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keyringCalls{wait: 10 * time.Second, lock: make(chan struct{}, 1), ready: func() error { return nil }}
		let := make(chan struct{})
		var calls atomic.Int32
		began := time.Now()
		err := k.callWithin(t.Context(), func() error { calls.Add(1); <-let; return nil })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Error(err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := k.callWithin(ctx, func() error { calls.Add(1); return nil }); err == nil || time.Since(began) != time.Second || calls.Load() != 1 {
			t.Error(err, time.Since(began), calls.Load())
		}
		close(let)
		synctest.Wait()
		if err := k.callWithin(t.Context(), func() error { calls.Add(1); return keyring.ErrNotFound }); !errors.Is(err, errNone) || calls.Load() != 2 {
			t.Error(err, calls.Load())
		}
	})
}

func TestNoBus(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the keyring is reached otherwise there")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	if err := sessionBus(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/run/user/" + "0/bus"); err == nil && os.Getuid() == 0 {
		needs.Missing(t, "a machine on which root has no session bus")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")
	if err := sessionBus(); err == nil && os.Getuid() == 0 {
		t.Error("a bus would be started")
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var warned []string
	s := New(Options{Dir: dir, FileOnly: true, Warn: func(w string) { warned = append(warned, w) }})
	if _, _, err := s.Set(t.Context(), "A", "canary"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		ref        reference.Ref
		want, fail string
	}{
		{reference.Ref{Kind: reference.Keyring, Name: "A"}, "canary", ""},
		{reference.Ref{Kind: reference.Input, Name: "A"}, "canary", ""},
		{reference.Ref{Kind: reference.Input, Name: "B"}, "", "mcphub secret set B"},
		{reference.Ref{Kind: reference.File, Name: write("one", "canary\n", 0o600)}, "canary", ""},
		{reference.Ref{Kind: reference.File, Name: write("two", " can\nary\r\n", 0o600)}, " can\nary", ""},
		{reference.Ref{Kind: reference.File, Name: write("twice", "canary\n\n", 0o600)}, "canary\n", ""},
		{reference.Ref{Kind: reference.File, Name: write("none", "\n", 0o600)}, "", "is empty"},
		{reference.Ref{Kind: reference.File, Name: write("nul", "canary\x00", 0o600)}, "", "NUL"},
		{reference.Ref{Kind: reference.File, Name: write("long", strings.Repeat("canary", MaxValue), 0o600)}, "", "larger"},
		{reference.Ref{Kind: reference.File, Name: filepath.Join(dir, "gone")}, "", "no such file"},
		{reference.Ref{Kind: reference.File, Name: dir}, "", "no regular file"},
		{reference.Ref{Kind: reference.File, Name: "one"}, "", "absolute path"},
		{reference.Ref{Kind: reference.EnvFile, Name: write("env", "A=b\n", 0o644)}, "A=b\n", ""},
		{reference.Ref{Kind: "other", Name: "A"}, "", "no reference"},
	} {
		got, err := s.Resolve(t.Context(), tc.ref, nil)
		if runtime.GOOS == "windows" && tc.fail == "no such file" {
			tc.fail = "cannot find"
		}
		if got != tc.want || (err == nil) != (tc.fail == "") || err != nil && (!strings.Contains(err.Error(), tc.fail) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s: %q, %v", tc.ref, got, err)
		}
	}
	if len(warned) > 0 {
		t.Error(warned)
	}
	if got, err := s.Resolve(t.Context(), reference.Ref{Kind: reference.File, Name: write("open", "canary", 0o666)}, nil); got != "canary" || err != nil || runtime.GOOS != "windows" && (len(warned) != 1 || strings.Contains(warned[0], "canary")) {
		t.Error(got, err, warned)
	}
}

// A key that was made if there was no keyring is found beside the one that was made
// with it, and no key is made if there is one.
func TestCipher(t *testing.T) {
	keyring.MockInit()
	dir := filepath.Join(t.TempDir(), "mcphub")
	with, without := newStore(t, dir, nil), newStore(t, dir, errNoBus)
	if _, err := with.Cipher(t.Context(), "key").Decrypt([]byte("x")); err == nil || err.Error() != `its key cannot be found: the secret "key" is not set` {
		t.Error(err)
	}
	if all, _, err := with.Names(t.Context()); len(all) != 0 || err != nil {
		t.Error("a key was made to decrypt with:", all, err)
	}
	var sealed [][]byte
	for _, s := range []*Store{with, with, without, with} {
		text, err := s.Cipher(t.Context(), "key").Encrypt([]byte("canary"))
		if err != nil || bytes.Contains(text, []byte("canary")) {
			t.Fatalf("%q, %v", text, err)
		}
		sealed = append(sealed, text)
	}
	if all, err := with.Copies(t.Context(), "key"); len(all) != 2 || err != nil {
		t.Errorf("%d keys, %v", len(all), err)
	}
	c := with.Cipher(t.Context(), "key")
	for _, text := range sealed {
		if plain, err := c.Decrypt(text); string(plain) != "canary" || err != nil {
			t.Errorf("%q, %v", plain, err)
		}
	}
	if _, err := without.Cipher(t.Context(), "key").Decrypt(sealed[0]); err == nil {
		t.Error("the control: a key that is in the keyring was not needed")
	}
}

// A keyring that opens while a key is made keeps the key that it has.
func TestKeyIsNotReplaced(t *testing.T) {
	keyring.MockInit()
	dir := filepath.Join(t.TempDir(), "mcphub")
	s := newStore(t, dir, nil)
	before, err := s.Cipher(t.Context(), "key").Encrypt([]byte("canary"))
	if err != nil {
		t.Fatal(err)
	}
	late, asked := newStore(t, dir, nil), 0
	late.keyring.ready = func() error {
		if asked++; asked == 1 {
			return errNoBus
		}
		return nil
	}
	after, err := late.Cipher(t.Context(), "key").Encrypt([]byte("canary"))
	if err != nil || asked == 0 {
		t.Fatal(err, asked)
	}
	c := s.Cipher(t.Context(), "key")
	for _, text := range [][]byte{before, after} {
		if plain, err := c.Decrypt(text); string(plain) != "canary" || err != nil {
			t.Errorf("%q, %v", plain, err)
		}
	}
}

// Many that need a key at once make one.
func TestOneKeyIsMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "mcphub")
	texts := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			text, err := New(Options{Dir: dir, FileOnly: true}).Cipher(t.Context(), "key").Encrypt([]byte("x"))
			if err != nil {
				t.Error(err)
			}
			texts[i] = text
		})
	}
	wg.Wait()
	c := New(Options{Dir: dir, FileOnly: true}).Cipher(t.Context(), "key")
	for _, text := range texts {
		if _, err := c.Decrypt(text); err != nil {
			t.Error(err)
		}
	}
}
