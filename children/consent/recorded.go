package consent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/internal/printable"
)

// This file keeps the profiles that trials have recorded and a person has confirmed.

// recordedWord begins the ID of an Item whose Value is a [sandbox.Recorded].
const recordedWord = "profile "

// RecordedOwner is by what the profile of an entry is kept. It stays the same if the entry
// changes, and no other hub.json has it.
func RecordedOwner(hub, name string) string { return recordedWord + name + "\x00" + hub }

// Recorded returns the profile that was confirmed for an entry; the zero value if none was.
func (s *Store) Recorded(owner string) (r sandbox.Recorded, err error) {
	value, known, err := s.Accepted(owner)
	if err != nil || !known {
		return sandbox.Recorded{}, err
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return sandbox.Recorded{}, fmt.Errorf("%s cannot be read: %w", owner, err)
	}
	return r, nil
}

// Confirm keeps the profile that a person has confirmed for an entry. One without paths is
// forgotten.
func (s *Store) Confirm(owner string, r sandbox.Recorded) error {
	if len(r.Paths) > 0 {
		return s.Take(recordedItem(owner, r))
	}
	if !s.Keeps() {
		return nil
	}
	dir, err := s.Folder()
	if err == nil {
		err = os.Remove(filepath.Join(dir, file(accepted, owner)))
	}
	if missing(err) {
		err = nil
	}
	return errors.Join(err, s.Withdraw(owner))
}

func recordedItem(owner string, r sandbox.Recorded) Item {
	value, _ := json.Marshal(r) // of strings
	return Item{ID: owner, Value: value}
}

// AskRecorded asks a person whether the profile of an entry holds for what the entry, its
// program and its package are now: of. It does not ask if a person has said so. The former
// profile holds meanwhile.
func (s *Store) AskRecorded(owner string, r sandbox.Recorded, of string) (waits bool, err error) {
	now, err := s.Recorded(owner)
	if err != nil || now.Of == of || !s.Keeps() {
		return false, err
	}
	r.Of = of
	i := recordedItem(owner, r)
	name, hub, _ := strings.Cut(owner[len(recordedWord):], "\x00")
	i.Title = Shown(name) + " of " + Shown(hub) + " has changed since you confirmed what it opens"
	i.Lines = []string{"Its entry, its program or its package is not what it was. It runs with what you confirmed:"}
	for _, p := range r.Paths {
		i.Lines = append(i.Lines, string(p.Use)+" "+Shown(p.Path))
	}
	i.Lines = append(i.Lines, "If you accept it, this holds from now on. To record it again: "+printable.CommandLine(printable.BuildCommand("mcphub learn", []string{"--confirm"}, name)))
	return true, s.Ask(i)
}
