package bearer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"mcphub/children/consent"
	"mcphub/internal/atomicfile"
	"mcphub/internal/ownership"
)

const (
	prefix   = "mcphub_" // by which people, and what looks for secrets, know a token
	random   = 32        // bytes
	lockName = "lock"
	lockWait = 10 * time.Second
)

// A Place is where the token of one configuration file is kept.
type Place struct{ dir, file string }

// At returns the place of the token of a configuration file, below a folder that no
// server opens; config is its absolute path, "" if there is none.
func At(folder, config string) Place {
	if config != "" {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(config)); err == nil {
			config = filepath.Join(dir, filepath.Base(config))
		}
	}
	sum := sha256.Sum256([]byte(config))
	dir := filepath.Join(folder, "http")
	return Place{dir, filepath.Join(dir, hex.EncodeToString(sum[:8])+".token")}
}

// File returns the file of the token.
func (p Place) File() string { return p.file }

// Make returns the token, and makes it if there is none.
func (p Place) Make(ctx context.Context) (string, error) {
	token, err := p.Read()
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return "", fmt.Errorf("the folder of the hub's token cannot be made: %w", err)
	}
	if err := p.checkPrivate(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(filepath.Join(p.dir, lockName), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil || !ok {
		return "", fmt.Errorf("another program holds %s: %w", lock.Path(), err)
	}
	defer func() { _ = lock.Unlock() }()
	if token, err = p.Read(); !errors.Is(err, fs.ErrNotExist) {
		return token, err // another hub was faster
	}
	raw := make([]byte, random)
	_, _ = rand.Read(raw) // never fails
	token = prefix + base64.RawURLEncoding.EncodeToString(raw)
	if err := atomicfile.Write(p.file, []byte(token+"\n"), consent.FileMode); err != nil {
		return "", fmt.Errorf("the hub's token cannot be kept: %w", err)
	}
	return p.Read() // as every later start does
}

// Read returns the token that was made. The error is fs.ErrNotExist where none was.
func (p Place) Read() (string, error) {
	if err := p.checkPrivate(); err != nil {
		return "", err
	}
	info, err := os.Lstat(p.file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // a pipe would wait for someone to write
		return "", p.badFileError("is no regular file")
	}
	f, err := atomicfile.Open(p.file, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	open, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(info, open) {
		return "", p.badFileError("was replaced while it was read")
	}
	if why := foreignReason(open); why != "" {
		return "", p.badFileError(why)
	}
	want := len(prefix) + base64.RawURLEncoding.EncodedLen(random)
	raw, err := io.ReadAll(io.LimitReader(f, int64(want)+2))
	if err != nil {
		return "", err
	}
	token := strings.TrimSuffix(string(raw), "\n")
	text, ours := strings.CutPrefix(token, prefix)
	if key, err := base64.RawURLEncoding.Strict().DecodeString(text); !ours || err != nil || len(key) != random || len(token) != want {
		return "", p.badFileError("does not hold a token as mcphub makes it")
	}
	return token, nil
}

// checkPrivate returns why the folder is not this user's to rely on.
func (p Place) checkPrivate() error {
	if err := ownership.CheckFolder(p.dir); err != nil {
		return fmt.Errorf("the folder of the hub's token: %w", err)
	}
	return nil
}

// foreignReason returns why a file is not this user's alone; "" if it is.
func foreignReason(info fs.FileInfo) string {
	if err := ownership.Check(info); err != nil {
		return err.Error()
	}
	if ownership.OthersUse(info) {
		return fmt.Sprintf("is open to others (mode %04o)", info.Mode().Perm())
	}
	return ""
}

// badFileError returns what is wrong with the file, and what to do.
func (p Place) badFileError(why string) error {
	return fmt.Errorf("%s %s, so nobody could be told by it; remove it (rm %s): the next start makes another token, and mcphub install --http gives that to a client", p.file, why, p.file)
}
