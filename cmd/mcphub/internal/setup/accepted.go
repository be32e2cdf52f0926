package setup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/internal/reference"
	"mcphub/rootsmgr/guard"
)

// This file decides which reading of hub.json counts: the file as it is, or what a
// person has accepted of it.

// An AcceptedConfig is what counts of hub.json: the file as it is, or what a person has
// accepted of it.
type AcceptedConfig struct {
	File    *config.File // what may be in force
	Waiting string       // why File is not the file as it is; "": it is. Clients read it
	item    consent.Item
}

// Asks reports whether a question is about the change that waits here.
func (s *AcceptedConfig) Asks(id string) bool { return s.item.ID == id }

// forTerminal works like Waiting for a person at a terminal, with what to do.
func (s *AcceptedConfig) forTerminal() string {
	if s.item.ID == "" { // nothing to accept
		return s.Waiting
	}
	return s.Waiting + "; " + accepts
}

// hubFile is what an Item's Value holds for a hub.json.
type hubFile struct {
	Text     string            `json:"text"`
	EnvFiles map[string]string `json:"envFiles,omitempty"` // digests of the files that belong to entries; "" of one that is missing
}

// itemID returns the ID of the consent.Item of a hub.json.
func itemID(path string) string { return "file:" + path }

// makeItem makes the Item of a hub.json as it reads now, with the files that belong to its entries.
func makeItem(path string, text []byte, trail hubfile.Trail, file *config.File, home string) consent.Item {
	h := hubFile{Text: string(text)}
	i := consent.Item{ID: itemID(path), Title: path + " has changed, and a server could have written it", Paths: trail.All()}
	if file != nil {
		h.EnvFiles = map[string]string{}
		for k := range file.Servers {
			for _, own := range ownFiles(file, &file.Servers[k], home) {
				h.EnvFiles[own.path] = digestOf(own.path)
				if trail, err := hubfile.Follow(own.path); err == nil {
					i.Paths = append(i.Paths, trail.All()...)
				}
			}
		}
	}
	i.Value, _ = json.Marshal(h) // of strings
	return i
}

// envFile returns the file of variables that an entry names, if the operator has said its
// place; "" for none.
func envFile(f *config.File, s *config.Server, home string) string {
	path := resolvePath(f, s.EnvFile, home, false)
	if !filepath.IsAbs(path) || strings.Contains(path, "${") || !guard.MayFollow(path, nil) {
		return ""
	}
	return path
}

// An ownFile is a file that an entry names and whose content decides what the hub runs, or whom it trusts.
type ownFile struct{ key, path string }

// ownFiles returns the own files of an entry, if the operator has said their places.
func ownFiles(f *config.File, s *config.Server, home string) (all []ownFile) {
	if path := envFile(f, s, home); path != "" {
		all = append(all, ownFile{"envFile", path})
	}
	if s.TLS != nil {
		if path := resolvePath(f, s.TLS.CA, home, false); filepath.IsAbs(path) {
			all = append(all, ownFile{"tls.ca", path})
		}
	}
	if s.HeadersFrom != nil {
		if path := resolvePath(f, s.HeadersFrom.Command, home, true); filepath.IsAbs(path) {
			all = append(all, ownFile{"headersFrom.command", path})
		}
	}
	return all
}

// maxOwnFile bounds what is read for a digest. A program that is larger counts as missing.
const maxOwnFile = 256 << 20

func digestOf(path string) string {
	if !guard.MayFollow(path, nil) {
		return ""
	}
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxOwnFile {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxOwnFile)); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// A resolver gives the value of a reference; see [hub.Config].
type resolver = func(ctx context.Context, r reference.Ref, leads func(real string) error) (string, error)

// acceptedResolver returns a resolver for the servers of a hub.json: what a person has acceptedResolver
// of its env files counts whenever a server starts, not only when hub.json is read. It refuses one that
// reads differently from acceptedResolver, if a server could have written that, and asks a person about
// it.
func (s *Source) acceptedResolver(file *config.File, home string, resolve resolver) resolver {
	if !s.Consent.Keeps() || file.Path == "" || s.Text != "" {
		return resolve
	}
	var names []string
	for i := range file.Servers {
		names = append(names, envFile(file, &file.Servers[i], home))
	}
	then := *s
	return func(ctx context.Context, r reference.Ref, leads func(string) error) (string, error) {
		text, err := resolve(ctx, r, leads)
		if err != nil || r.Kind != reference.EnvFile || !slices.Contains(names, r.Name) {
			return text, err
		}
		path, err := filepath.Abs(file.Path)
		if err != nil {
			return "", err
		}
		trail, err := hubfile.Follow(r.Name)
		if err != nil {
			return "", err
		}
		if _, could := s.Consent.CouldBeWritten(consent.Item{ID: itemID(path), Paths: trail.All()}); !could {
			return text, nil
		}
		var old hubFile
		was, known, err := s.Consent.Accepted(itemID(path))
		if err != nil || !known || json.Unmarshal(was, &old) != nil || old.EnvFiles[r.Name] != hubfile.Sum([]byte(text)) {
			now := then // starts ask at the same time
			_, _ = now.Accepted(io.Discard, nil)
			return "", errEnvFile
		}
		return text, nil
	}
}

// accepts tells a person at a terminal how to accept a change that waits. No text for a
// client holds it: a model that has a shell could run it.
const accepts = "look at it, then run mcphub reload in a terminal of your own"

var errEnvFile = errors.New("it has changed, and a server could have written it: it is not read before your user has accepted that (`mcphub status` shows what to do)")

// Accepted reads hub.json as Load does, and gives what may be in force of it. written
// says about paths beyond what is on record that servers could have written there; nil:
// of none. What no one but a person can have written is accepted here.
func (s *Source) Accepted(w io.Writer, written func(paths ...string) (string, bool)) (AcceptedConfig, error) {
	path := s.Path()
	if s.Consent == nil || path == "" || s.Text != "" {
		file, err := s.Load(w)
		return AcceptedConfig{File: file}, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return AcceptedConfig{}, err
	}
	text, trail, err := config.Text(path)
	if err != nil { // as Load tells it; what was accepted waits until the file is there
		file, err := s.Load(w)
		return AcceptedConfig{File: file}, err
	}
	home, _ := os.UserHomeDir()
	now, wrong := s.loadText(w, path, text, trail)
	i := makeItem(path, text, trail, now, home)
	was, known, broken := s.Consent.Accepted(i.ID)
	if known && string(was) == string(i.Value) {
		return AcceptedConfig{File: now}, cmp.Or(wrong, s.Consent.Withdraw(i.ID))
	}
	where, could := s.Consent.CouldBeWritten(i)
	if !could && written != nil {
		where, could = written(i.Paths...)
	}
	if !could || wrong != nil && !known {
		if wrong == nil {
			s.takeItem(i)
		}
		return AcceptedConfig{File: now}, wrong
	}
	return s.standOn(i, now, wrong, was, known, where, broken)
}

// standOn returns the accepted configuration, less what the file takes away now. It asks a
// person about the rest. wrong is why the file cannot be used.
func (s *Source) standOn(i consent.Item, now *config.File, wrong error, was []byte, known bool, where string, broken error) (AcceptedConfig, error) {
	path := strings.TrimPrefix(i.ID, itemID(""))
	old := hubFile{Text: `{"mcpServers": {}}`}
	if known && json.Unmarshal(was, &old) != nil {
		known = false
	}
	trail := hubfile.Trail{}
	if now != nil {
		trail = now.Trail
	} else {
		trail, _ = hubfile.Follow(path)
	}
	base, err := s.loadText(io.Discard, path, []byte(old.Text), trail)
	if err != nil {
		return AcceptedConfig{}, err
	}
	base.Sum = ""
	file, whole := base, false
	var h hubFile
	_ = json.Unmarshal(i.Value, &h) // it was made here
	if now != nil && known {
		file, whole = base.Narrow(now)
	}
	home, _ := os.UserHomeDir()
	var lines []string
	for k := range file.Servers {
		e := &file.Servers[k]
		for _, own := range ownFiles(file, e, home) {
			if !e.Disabled && digestOf(own.path) != old.EnvFiles[own.path] {
				whole, e.Disabled = false, true // its variables, for one, may make another program of it
				lines = append(lines, "~ "+e.Name+": its "+own.key+" "+own.path+" has changed")
			}
		}
	}
	switch {
	case wrong != nil: // nothing in it can be accepted
		why := strings.Join(config.ErrorLines(wrong), "\n")
		return AcceptedConfig{File: file, Waiting: path + " cannot be used, so what was accepted last is in force:\n" + why}, s.Consent.Withdraw(i.ID)
	case whole:
		s.takeItem(i)
		return AcceptedConfig{File: now}, nil
	}
	before := []byte(old.Text)
	if !known {
		before = nil
	}
	i.Lines = append(jsonc.Changes(before, []byte(h.Text)), lines...)
	because := "a server could have written it"
	if where != "" {
		because += " (it lies inside " + where + ", where servers write)"
	}
	st := AcceptedConfig{File: file, item: i}
	switch {
	case broken != nil:
		st.Waiting = fmt.Sprintf("%s waits for a person: %s, and what was accepted of it cannot be read (%v). No server runs (`mcphub status` shows what to do)", path, because, broken)
	case !known:
		st.Waiting = fmt.Sprintf("%s waits for a person: %s, and nobody has accepted it yet. No server runs (`mcphub status` shows what to do)", path, because)
	default:
		st.Waiting = fmt.Sprintf("%s has changed and waits for a person: %s. What was accepted last is in force, less what the change takes away (`mcphub status` shows what to do)", path, because)
	}
	if err := s.Consent.Ask(i); err != nil {
		st.Waiting += fmt.Sprintf("; it cannot be answered there before this is mended: %v", err)
	}
	return st, nil
}

// takeItem accepts what a person has written. A folder that cannot be written holds up
// nothing: then it is asked again.
func (s *Source) takeItem(i consent.Item) {
	if err := s.Consent.Take(i); err != nil {
		s.AcceptErr = err
	}
}

// A Change is an edit of hub.json by a person's own command.
type Change struct {
	store *consent.Store
	path  string
	was   []byte
	known bool
}

// Edit begins a change of the hub.json at path by a command of this program. It is refused
// if the file holds what waits for a person: the command would accept that with its own.
func Edit(store *consent.Store, path string) (*Change, error) {
	c := &Change{store: store, path: path}
	var err error
	if c.was, c.known, err = store.Accepted(itemID(path)); err != nil {
		return nil, err
	}
	text, trail, err := config.Text(path)
	if err != nil {
		return c, nil // there is none, or the command reports what is wrong with it
	}
	i := c.makeItem(text, trail)
	if _, could := store.CouldBeWritten(i); could && string(i.Value) != string(c.was) {
		return nil, fmt.Errorf("%s holds a change that a server could have written and nobody has accepted; "+accepts+"; nothing was changed", path)
	}
	return c, nil
}

func (c *Change) makeItem(text []byte, trail hubfile.Trail) consent.Item {
	home, _ := os.UserHomeDir()
	file, _, _ := config.LoadText(c.path, text, trail, os.LookupEnv)
	return makeItem(c.path, text, trail, file, home)
}

// Write writes the file by write, accepted beforehand: every hub that sees it finds that.
func (c *Change) Write(after []byte, write func() error) error {
	trail, err := hubfile.Follow(c.path)
	if err != nil {
		return err
	}
	i := c.makeItem(after, trail)
	if err := c.store.Take(i); err != nil {
		return fmt.Errorf("it cannot be kept that this change is accepted: %w", err)
	}
	err = write()
	if err != nil && c.known {
		i.Value = c.was
		_ = c.store.Take(i) // the error of writing counts
	}
	return err
}
