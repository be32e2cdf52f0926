package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/hub/pin"
	"mcphub/internal/atomicfile"
	"mcphub/internal/printable"
)

// This file reads and writes hub.lock, and decides which reading of it counts.

// LockName is the name of a hub.lock.
const LockName = "hub.lock"

// LockPath returns where hub.lock lies: beside hub.json. "": there is no hub.json.
func LockPath(file *config.File) string {
	if file.Path == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(file.Path), LockName)
}

// maxLock bounds hub.lock, in bytes.
const maxLock = 64 << 20

// ReadLock returns the hub.lock that counts; nil if there is none. A lock that a server could have written counts as a person has
// accepted it last.
func (s *Source) ReadLock(file *config.File) (*pin.Lock, error) {
	path := LockPath(file)
	if path == "" {
		return nil, nil
	}
	text, err := readLock(path)
	if err == nil && s.Consent.Keeps() && s.Text == "" {
		text, err = s.acceptedLock(path, text)
	}
	if err != nil || text == nil {
		return nil, err
	}
	lock, err := pin.Parse(text)
	if err != nil {
		return nil, exit.ConfigErrorf("%s: %w", path, err)
	}
	return lock, nil
}

func readLock(path string) ([]byte, error) {
	text, err := readBounded(path, nil, maxLock)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, exit.Errorf(exit.Failure, "%s: %w; mcphub lock writes it again", path, err)
	}
	return text, nil
}

// lockItem returns the Item of a hub.lock.
func lockItem(path string, text []byte) (consent.Item, error) {
	trail, err := hubfile.Follow(path)
	i := consent.Item{ID: "lock:" + trail.RealPath(), Title: path + " has changed, and a server could have written it", Paths: trail.All(), Value: text}
	if i.Value == nil {
		i.Value = []byte{}
	}
	return i, err
}

// acceptedLock returns the text of a hub.lock that counts. A first lock only withholds, so that it counts as it is.
func (s *Source) acceptedLock(path string, text []byte) ([]byte, error) {
	i, err := lockItem(path, text)
	if err != nil {
		return nil, err
	}
	return s.acceptedText(i, text, true)
}

// acceptedText returns the text of a file that counts: its own, or the one that a person has accepted last if a server could have written it
// since. A person is asked about that. text is nil if there is no file. first reports whether a text counts before any was accepted.
func (s *Source) acceptedText(i consent.Item, text []byte, first bool) ([]byte, error) {
	was, known, err := s.Consent.Accepted(i.ID)
	switch {
	case err != nil:
		return nil, err
	case !known && text == nil:
		return nil, nil
	case known && string(was) == string(text):
		return text, s.Consent.Withdraw(i.ID)
	}
	if _, could := s.Consent.CouldBeWritten(i); !could || !known && first {
		s.takeItem(i)
		return text, nil
	}
	i.Lines = jsonc.Changes(was, i.Value)
	if err := s.Consent.Ask(i); err != nil {
		return nil, err
	}
	if len(was) == 0 {
		return nil, nil
	}
	return was, nil
}

// WriteLock writes hub.lock for a person, and accepts it. What was accepted before of single tools counts no more: the lock has it.
func (s *Source) WriteLock(file *config.File, lock *pin.Lock) error {
	path := LockPath(file)
	text, err := lock.Format()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, text, 0o644); err != nil {
		return err
	}
	if !s.Consent.Keeps() {
		return nil
	}
	i, err := lockItem(path, text)
	if err != nil {
		return err
	}
	failed := []error{s.Consent.Take(i)}
	for server := range lock.Servers {
		none := consent.Item{ID: pinItem(path, server), Value: pin.Accepted{}.Format()}
		failed = append(failed, s.Consent.Take(none))
	}
	return errors.Join(failed...)
}

// pinItem returns the ID of what a person has accepted of the tools of a server since hub.lock was written.
func pinItem(path, server string) string { return "tools:" + server + "\x00" + path }

// readPins returns what withholds tools; nil if there is no lock.
func (s *Source) readPins(file *config.File, home string, log zerolog.Logger) (*pin.Pins, error) {
	if s.WithoutLock {
		return nil, nil
	}
	lock, err := s.ReadLock(file)
	if lock == nil || err != nil {
		return nil, err
	}
	path := LockPath(file)
	modes := map[string]pin.Mode{}
	for i := range file.Servers {
		modes[file.Servers[i].Name] = changesMode(file, &file.Servers[i])
	}
	return pin.NewPins(pin.Options{
		Lock: lock, Home: home,
		Mode: func(server string) pin.Mode { return modes[server] },
		Accepted: func(server string) pin.Accepted {
			if !s.Consent.Keeps() {
				return nil
			}
			text, _, err := s.Consent.Accepted(pinItem(path, server))
			if err != nil {
				return nil // nothing is
			}
			return pin.ParseAccepted(text)
		},
		Ask: func(q pin.Question) error {
			if !s.Consent.Keeps() {
				return errors.New("there is no folder of state in which an answer could be kept; set HOME or XDG_STATE_HOME")
			}
			title := fmt.Sprintf("what the server %s defines has grown since %s was written", printable.Quote(q.Server), path)
			return s.Consent.Ask(consent.Item{ID: pinItem(path, q.Server), Title: title, Lines: q.Lines, Value: q.Value.Format()})
		},
		Warn: func(server string, changes []pin.Change) {
			for _, c := range changes {
				log.Warn().Str("child", server).Str("what", c.Text()).Msg("a definition has grown since hub.lock was written")
			}
		},
	}), nil
}

// changesMode returns what becomes of tools of an entry that have grown.
func changesMode(file *config.File, entry *config.Server) pin.Mode {
	switch cmp.Or(entry.Changes, file.Changes) {
	case keys.ChangesWarn:
		return pin.Warn
	case keys.ChangesRefuse:
		return pin.Refuse
	}
	return pin.Ask
}
