package secrets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mcphub/internal/reference"
)

// Bounds.
const (
	// MaxValue is the longest secret, in bytes.
	MaxValue = 64 << 10
	// maxNames is how many secrets there are at most in one place.
	maxNames = 500
	// usualWait is how long the keyring may take where Options say nothing.
	usualWait = 10 * time.Second
)

// A Place is where a secret is kept.
type Place string

// The places.
const (
	InKeyring Place = "keyring"
	InFile    Place = "file"
)

// Options name the places in which a Store keeps its parts.
type Options struct {
	FileOnly bool          // the keyring is not asked
	Dir      string        // folder of the encrypted file, made when needed; "": there is no file
	Identity string        // file of the key of age; "": secrets.identity in Dir
	Wait     time.Duration // how long the keyring may take; 0: ten seconds
	Warn     func(string)  // is told about files that others can read; nil: no one is
}

// A Store keeps secrets.
type Store struct {
	o       Options
	keyring keyringCalls
}

// New makes a Store. It looks at nothing.
func New(o Options) *Store {
	if o.Wait <= 0 {
		o.Wait = usualWait
	}
	return &Store{o: o, keyring: keyringCalls{wait: o.Wait, lock: make(chan struct{}, 1), ready: sessionBus}}
}

// A NotSetError means that there is no secret of that name.
type NotSetError struct {
	Name string
	Why  string // why the keyring could not be asked; "": it was, or was not to be
}

// What works like Error without what to do.
func (e *NotSetError) What() string {
	text := fmt.Sprintf("the secret %q is not set", e.Name)
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	return text
}

func (e *NotSetError) Error() string { return e.What() + "; mcphub secret set " + e.Name }

func checkName(name string) error {
	if bad := reference.CheckName(name); bad != "" {
		return fmt.Errorf("%q %s", name, bad)
	}
	return nil
}

// Get returns a secret. The error is a *NotSetError if there is none.
func (s *Store) Get(ctx context.Context, name string) (string, error) {
	copies, err := s.findCopies(ctx, name, 1)
	if err != nil {
		return "", err
	}
	return copies[0], nil
}

// Copies returns what is kept under a name in all places: more than one if a place
// could not be reached as the secret was set elsewhere. The one who asks can determine
// which is the newest. The error is a *NotSetError if there is none.
func (s *Store) Copies(ctx context.Context, name string) ([]string, error) {
	return s.findCopies(ctx, name, 2)
}

// findCopies looks for so many copies, in the keyring first, and for no more.
func (s *Store) findCopies(ctx context.Context, name string, most int) ([]string, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	var copies []string
	why := ""
	if !s.o.FileOnly {
		switch value, err := s.keyring.getSecret(ctx, name); {
		case err == nil:
			copies = append(copies, value)
		case !errors.Is(err, errNone):
			why = err.Error()
		}
	}
	if len(copies) == most {
		return copies, nil
	}
	all, err := s.readFile()
	if err != nil && len(copies) == 0 {
		return nil, err
	}
	if value, ok := all[name]; ok {
		copies = append(copies, value)
	}
	if len(copies) == 0 {
		return nil, &NotSetError{name, why}
	}
	return copies, nil
}

// Set keeps a secret. It returns where, and why not in the keyring.
func (s *Store) Set(ctx context.Context, name, value string) (at Place, why string, err error) {
	if err := checkName(name); err != nil {
		return "", "", err
	}
	switch {
	case value == "":
		return "", "", errors.New("the secret is empty")
	case len(value) > MaxValue:
		return "", "", fmt.Errorf("the secret is longer than %d bytes", MaxValue)
	case strings.ContainsRune(value, 0) || !utf8.ValidString(value):
		return "", "", errors.New("the secret is no text: it holds a NUL character, or is no UTF-8")
	}
	unlock, err := s.lockStore(ctx)
	if err != nil {
		return "", "", err
	}
	defer unlock()
	return s.setSecret(ctx, name, value)
}

// setSecret keeps a secret. The caller holds the lock.
func (s *Store) setSecret(ctx context.Context, name, value string) (at Place, why string, err error) {
	if !s.o.FileOnly {
		err := s.keyring.setSecret(ctx, name, value)
		if err == nil {
			return InKeyring, "", s.dropFromFile(name) // an older copy would be in the way once the keyring is gone
		}
		why = err.Error()
	}
	return InFile, why, s.setInFile(name, value)
}

func (s *Store) setInFile(name, value string) error {
	all, err := s.readFile()
	if err != nil {
		return err
	}
	if all[name] = value; len(all) > maxNames {
		return fmt.Errorf("there are %d secrets; no more are kept", maxNames)
	}
	return s.writeFile(all)
}

func (s *Store) dropFromFile(name string) error {
	all, err := s.readFile()
	if err != nil {
		return fmt.Errorf("it is kept in the keyring, and an older copy may be in the file: %w", err)
	}
	if _, old := all[name]; !old {
		return nil
	}
	delete(all, name)
	return s.writeFile(all)
}

// Delete forgets a secret, wherever it is kept. The error is a *NotSetError if
// there is none.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	unlock, err := s.lockStore(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	found, why := false, ""
	if !s.o.FileOnly {
		switch err := s.keyring.removeSecret(ctx, name); {
		case err == nil:
			found = true
		case !errors.Is(err, errNone):
			why = err.Error()
		}
	}
	all, err := s.readFile()
	if err != nil {
		return err
	}
	if _, there := all[name]; there {
		delete(all, name)
		found, err = true, s.writeFile(all)
	}
	if err == nil && !found {
		err = &NotSetError{name, why}
	}
	return err
}

// A StoredSecret is one secret by its name.
type StoredSecret struct {
	Name  string
	Place Place // that Get takes it from
}

// Names lists the secrets, sorted by name. why reports why the keyring could not
// be asked.
func (s *Store) Names(ctx context.Context) (all []StoredSecret, why string, err error) {
	if !s.o.FileOnly {
		names, err := s.keyring.listNames(ctx)
		if err != nil {
			why = err.Error()
		}
		for _, name := range names {
			all = append(all, StoredSecret{name, InKeyring})
		}
	}
	file, err := s.readFile()
	if err != nil {
		return nil, why, err
	}
	for name := range file {
		if !slices.ContainsFunc(all, func(k StoredSecret) bool { return k.Name == name }) {
			all = append(all, StoredSecret{name, InFile})
		}
	}
	slices.SortFunc(all, func(a, b StoredSecret) int { return strings.Compare(a.Name, b.Name) })
	return all, why, nil
}
