package secrets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"filippo.io/age"
	"github.com/gofrs/flock"

	"mcphub/internal/atomicfile"
	"mcphub/internal/ownership"
)

// Names of files in Options.Dir.
const (
	fileName     = "secrets.age"
	identityName = "secrets.identity"
	lockName     = "secrets.lock"
)

const (
	maxFile     = 4 << 20  // bytes of all secrets together
	maxIdentity = 64 << 10 // bytes of the file of the key
	lockWait    = 10 * time.Second
)

// Files returns the files of a Store, whether they are there or not.
func (s *Store) Files() []string {
	if s.o.Dir == "" {
		return nil
	}
	return []string{s.secretsFile(), s.identityFile(), filepath.Join(s.o.Dir, lockName)}
}

func (s *Store) secretsFile() string { return filepath.Join(s.o.Dir, fileName) }

func (s *Store) identityFile() string {
	return cmp.Or(s.o.Identity, filepath.Join(s.o.Dir, identityName))
}

// lockStore keeps other processes from changing anything until it is given back.
func (s *Store) lockStore(ctx context.Context) (unlock func(), err error) {
	if s.o.Dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the secrets: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	l := flock.New(filepath.Join(s.o.Dir, lockName), flock.SetPermissions(0o600))
	if ok, err := l.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return nil, fmt.Errorf("another program holds %s: %w", l.Path(), err)
	}
	return func() { _ = l.Unlock() }, nil
}

// readFile reads the encrypted file; if there is none there are no secrets.
func (s *Store) readFile() (map[string]string, error) {
	all := map[string]string{}
	if s.o.Dir == "" {
		return all, nil
	}
	raw, err := ReadPrivate(s.secretsFile(), maxFile+maxIdentity)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	key, _, err := s.readKey()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is encrypted, and the file of its key %s is gone; bring it back, or remove %s and set the secrets again (copies of clients' files can then no longer be read)", s.secretsFile(), s.identityFile(), s.secretsFile())
	}
	if err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(bytes.NewReader(raw), key)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be decrypted with the key of %s: %w", s.secretsFile(), s.identityFile(), err)
	}
	text, err := io.ReadAll(io.LimitReader(plain, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("is larger than %d bytes", maxFile)
	}
	if err == nil && json.Unmarshal(text, &all) != nil {
		err = errors.New("does not hold secrets") // what json says quotes the text
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.secretsFile(), err)
	}
	return all, nil
}

// readKey reads the key of the file.
func (s *Store) readKey() (age.Identity, age.Recipient, error) {
	raw, err := ReadPrivate(s.identityFile(), maxIdentity)
	if err != nil {
		return nil, nil, err
	}
	all, err := age.ParseIdentities(bytes.NewReader(raw))
	if err != nil || len(all) != 1 {
		return nil, nil, fmt.Errorf("%s must hold one key of age, as age-keygen makes it", s.identityFile()) // err may quote it
	}
	switch id := all[0].(type) {
	case *age.X25519Identity:
		return id, id.Recipient(), nil
	case *age.HybridIdentity:
		return id, id.Recipient(), nil
	}
	return nil, nil, fmt.Errorf("%s holds a key that nothing can be encrypted to", s.identityFile())
}

// writeFile encrypts the secrets. The caller holds the lock.
func (s *Store) writeFile(all map[string]string) error {
	if s.o.Dir == "" {
		return errors.New("there is no folder for the file of the secrets: this user has no folder for configurations")
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("all secrets together are larger than %d bytes", maxFile)
	}
	_, to, err := s.readKey()
	if errors.Is(err, fs.ErrNotExist) {
		to, err = s.makeKey()
	}
	if err != nil {
		return err
	}
	sealed, err := encryptTo(text, to)
	if err == nil {
		err = atomicfile.Replace(s.secretsFile(), sealed, 0o600)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", s.secretsFile(), err)
	}
	return nil
}

// makeKey makes a key. readFile has seen that nothing is encrypted to another.
func (s *Store) makeKey() (age.Recipient, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(s.identityFile()), 0o700); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("# The key of the secrets of mcphub. Keep it to yourself.\n# public key: %s\n%s\n", key.Recipient(), key)
	if err := atomicfile.Replace(s.identityFile(), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("the file of the key cannot be written: %w", err)
	}
	return key.Recipient(), nil
}

// ReadPrivate reads a regular file of at most so many bytes that no other user can read.
func ReadPrivate(path string, most int) ([]byte, error) {
	raw, info, err := readRegular(path, most, nil)
	if err == nil {
		err = ownership.CheckPrivate(path, info)
	}
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// askLeads returns the answer of leads about an open file. The name may lead elsewhere by
// now; then it is not known where the file lies.
func askLeads(path string, open fs.FileInfo, leads func(real string) error) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	now, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if !os.SameFile(open, now) {
		return fmt.Errorf("%s was replaced while it was read", path)
	}
	return leads(real)
}

// readRegular reads a file of bounded size, and nothing that would make it wait. leads
// may refuse it by where it lies; nil does not.
func readRegular(path string, most int, leads func(real string) error) ([]byte, fs.FileInfo, error) {
	f, err := atomicfile.Open(path, syscall.O_NONBLOCK) // a pipe would wait for someone to write
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is no regular file", path)
	}
	if leads != nil {
		if err := askLeads(path, info, leads); err != nil {
			return nil, nil, err
		}
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(raw) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return raw, info, err
}
