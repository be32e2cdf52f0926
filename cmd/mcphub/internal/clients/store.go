package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/internal/atomicfile"
)

// Store keeps what was done to the files of clients: copies of them as they
// were, and records of what was put in. Both may hold secrets and are encrypted.
type Store struct {
	Dir    string // of the hub's state folder; made when it is needed, 0700
	Cipher Cipher // asked when something is kept, or is to be undone
}

// A Cipher encrypts what is kept.
type Cipher interface {
	Encrypt(plain []byte) ([]byte, error)
	Decrypt(sealed []byte) ([]byte, error)
}

// record is what is kept of one file.
type record struct {
	Version int    `json:"version"`
	Client  string `json:"client"`
	File    string `json:"file"`
	Sealed  []byte `json:"sealed"` // the history, encrypted
	history `json:"-"`
}

// history is the part of a record that may hold secrets.
type history struct {
	Format edit.Format `json:"format"`
	Fresh  string      `json:"fresh,omitempty"`
	Steps  []step      `json:"steps"`
}

// step is one writing of the file.
type step struct {
	Before  string   `json:"before,omitempty"` // checksum; "" if there was no file
	After   string   `json:"after"`
	Copy    string   `json:"copy,omitempty"` // name of the copy in the folder of the store
	Dirs    []string `json:"dirs,omitempty"` // folders that were made, the outermost first
	Changes []Made   `json:"changes"`
}

const recordVersion = 2

const sealedName = ".age" // ends the name of a copy

func (s *Store) recordPath(client, file string) string {
	return filepath.Join(s.Dir, client+"-"+digestOf([]byte(file))[:12]+".json")
}

// Apply writes what a plan says. The record is on the disk before the file is
// changed. Files that were written stay so if a later one fails.
func (s *Store) Apply(p *Plan) error {
	for _, f := range p.Files {
		if len(f.Changes) == 0 {
			continue
		}
		if err := s.applyEdit(p.Client, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) applyEdit(c *Profile, f *FileEdit) error {
	now, err := readFile(f.Place.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.Existed {
			return fmt.Errorf("%s: the file has gone in the meantime; run the command again", f.Place.File)
		}
	case err != nil:
		return err
	case !f.Existed || !bytes.Equal(now, f.Before):
		return fmt.Errorf("%s: the file was changed in the meantime; close %s and run the command again", f.Place.File, c.Title)
	}
	rec, err := s.loadRecord(c.Name, f.Place.File)
	if err != nil {
		return err
	}
	rec.Format, rec.Fresh = f.Place.Format, f.Place.Fresh
	st := step{After: digestOf(f.After), Changes: f.Changes}
	if f.Existed {
		st.Before = digestOf(f.Before)
		st.Copy = fmt.Sprintf("%s-%s-%s-%s%s", c.Name, digestOf([]byte(f.Place.File))[:12], st.Before[:12], filepath.Base(f.Place.File), sealedName)
	} else {
		for dir := filepath.Dir(f.Place.File); ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
				break
			}
			st.Dirs = append([]string{dir}, st.Dirs...)
		}
	}
	rec.Steps = append(rec.Steps, st)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if st.Copy != "" {
		sealed, err := s.Cipher.Encrypt(f.Before)
		if err != nil {
			return fmt.Errorf("a copy of %s cannot be kept: %w", f.Place.File, err)
		}
		if err := atomicfile.Write(filepath.Join(s.Dir, st.Copy), sealed, 0o600); err != nil {
			return err
		}
	}
	if err := s.saveRecord(rec); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Place.File), 0o700); err != nil {
		return err
	}
	if f.private {
		return atomicfile.Write(f.Place.File, f.After, 0o600) // it is no link
	}
	return replaceFile(f.Place.File, f.After)
}

// loadRecord reads what is kept of a file. If there is nothing, it has no steps.
func (s *Store) loadRecord(client, file string) (record, error) {
	r := record{Client: client, File: file}
	path := s.recordPath(client, file)
	data, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	switch {
	case err != nil:
		return r, fmt.Errorf("the record of what was changed, %s: %w", path, err)
	case r.Version != recordVersion:
		return r, fmt.Errorf("the record of what was changed, %s: written by another version of mcphub", path)
	}
	if data, err = s.Cipher.Decrypt(r.Sealed); err != nil {
		return r, fmt.Errorf("the record of what was changed is encrypted and cannot be read: %w; if nothing brings its key back, what the file held before is lost: remove %s, and take the hub out by hand", err, path)
	}
	if err := json.Unmarshal(data, &r.history); err != nil {
		return r, fmt.Errorf("the record of what was changed, %s, does not hold it", path) // err may quote it
	}
	return r, nil
}

func (s *Store) saveRecord(r record) error {
	plain, err := json.Marshal(r.history)
	if err != nil {
		return err
	}
	r.Version = recordVersion
	if r.Sealed, err = s.Cipher.Encrypt(plain); err != nil {
		return fmt.Errorf("a record of what is changed in %s cannot be kept: %w", r.File, err)
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.recordPath(r.Client, r.File), append(data, '\n'), 0o600)
}

// Known lists the clients that something was changed in.
func (s *Store) Known() ([]string, error) {
	all, err := s.changedFiles()
	var out []string
	for _, f := range all {
		if !slices.Contains(out, f.client) {
			out = append(out, f.client)
		}
	}
	return out, err
}

// A recordedFile is a file of a client that the Store has a record of.
type recordedFile struct{ client, file string }

func (s *Store) changedFiles() ([]recordedFile, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []recordedFile
	for _, e := range entries {
		// A copy may be called anything that a client's file is called.
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		data, err := atomicfile.Read(filepath.Join(s.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		var r record
		if json.Unmarshal(data, &r) == nil && e.Name() == filepath.Base(s.recordPath(r.Client, r.File)) {
			out = append(out, recordedFile{r.Client, r.File})
		}
	}
	return out, nil
}

// UndoResult describes how one file was given back.
type UndoResult struct {
	File  string `json:"file"`
	State string `json:"state"`          // restored, edited, deleted, gone or unchanged
	Kept  bool   `json:"kept,omitempty"` // what a file that is gone held is kept, and Restore gives it back
}

// What became of a file.
const (
	Restored  = "restored"  // it is as it was, to the byte
	Edited    = "edited"    // someone had edited it: what was put in is out, the edits are kept
	Deleted   = "deleted"   // there was none before, and there is none now
	Gone      = "gone"      // someone had deleted it
	Unchanged = "unchanged" // what was put in was out already
)

// Undo takes back all that was done to the files of a client. What others edited
// since stays.
func (s *Store) Undo(client string) ([]UndoResult, error) { return s.forEach(client, s.undoFile) }

// Restore gives the files of a client back as they were before the first change,
// whatever became of them since.
func (s *Store) Restore(client string) ([]UndoResult, error) { return s.forEach(client, s.restoreFile) }

func (s *Store) forEach(client string, do func(record) (UndoResult, error)) ([]UndoResult, error) {
	all, err := s.changedFiles()
	var out []UndoResult
	for _, f := range all {
		if f.client != client {
			continue
		}
		r, err := s.loadRecord(f.client, f.file)
		if err != nil {
			return out, err
		}
		u, err := do(r)
		if err != nil {
			return out, err
		}
		out = append(out, u)
	}
	return out, err
}

// readOriginal reads a copy.
func (s *Store) readOriginal(r record, st step) ([]byte, error) {
	path := filepath.Join(s.Dir, st.Copy)
	data, err := readFile(path)
	if err == nil {
		data, err = s.Cipher.Decrypt(data)
	}
	if err != nil {
		return nil, fmt.Errorf("the copy of %s, %s: %w", r.File, path, err)
	}
	if digestOf(data) != st.Before {
		return nil, fmt.Errorf("the copy of %s is not what it was: %s", r.File, path)
	}
	return data, nil
}

// firstCopy returns the first step that has a copy; -1 where none has.
func firstCopy(steps []step) int {
	return slices.IndexFunc(steps, func(st step) bool { return st.Copy != "" })
}

// undoStep takes the changes of a step out of a text.
func (st step) undoStep(f edit.Format, text []byte) (_ []byte, err error) {
	for _, m := range slices.Backward(st.Changes) {
		if text, err = edit.Undo(f, text, m.Where, m.Change); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (s *Store) restoreFile(r record) (UndoResult, error) {
	first := firstCopy(r.Steps)
	if _, err := os.Stat(r.File); first < 0 || first > 0 && err == nil { // it was made for the hub
		return s.undoFile(r)
	}
	data, err := s.readOriginal(r, r.Steps[first])
	for _, st := range slices.Backward(r.Steps[:first]) {
		if err == nil {
			data, err = st.undoStep(r.Format, data)
		}
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(r.File), 0o700)
	}
	if err == nil {
		err = replaceFile(r.File, data)
	}
	if err != nil {
		return UndoResult{File: r.File}, err
	}
	return UndoResult{File: r.File, State: Restored}, s.forgetRecord(r)
}

func (s *Store) undoFile(r record) (UndoResult, error) {
	u := UndoResult{File: r.File}
	if len(r.Steps) == 0 {
		u.State = Unchanged
		return u, s.forgetRecord(r)
	}
	data, err := readFile(r.File)
	if errors.Is(err, fs.ErrNotExist) {
		u.State = Gone
		if u.Kept = firstCopy(r.Steps) >= 0; u.Kept {
			return u, nil
		}
		return u, s.forgetRecord(r)
	}
	if err != nil {
		return u, err
	}
	was := data
	there := true
	exact := true
	rest := 0 // steps before a time when someone had deleted the file
	for i, st := range slices.Backward(r.Steps) {
		switch now := digestOf(data); {
		case now == st.After && st.Copy != "":
			if data, err = s.readOriginal(r, st); err != nil {
				return u, err
			}
		case now == st.After:
			data, there = nil, false
		case now == st.Before:
		default:
			exact = false
			if data, err = st.undoStep(r.Format, data); err != nil {
				cure := "mend it, or remove it"
				if r.Steps[0].Copy != "" {
					cure = "mcphub uninstall " + r.Client + " --restore gives it back as it was, without the edits"
				}
				return u, fmt.Errorf("%s: %w; %s", r.File, err, cure)
			}
			there = st.Before != "" || !isFresh(r, data)
		}
		if !there {
			rest = i
			break
		}
	}
	switch {
	case !there:
		u.State = Deleted
		if err := os.Remove(r.File); err != nil {
			return u, err
		}
		for _, dir := range slices.Backward(r.Steps[rest].Dirs) {
			if os.Remove(dir) != nil { // something else is in it
				break
			}
		}
	case bytes.Equal(was, data):
		u.State = Unchanged
	default:
		u.State = Restored
		if !exact {
			u.State = Edited
		}
		if err := replaceFile(r.File, data); err != nil {
			return u, err
		}
	}
	if firstCopy(r.Steps[:rest]) >= 0 {
		u.Kept = true
		r.Steps = r.Steps[:rest]
		return u, s.saveRecord(r)
	}
	return u, s.forgetRecord(r)
}

// isFresh reports a file that was made for the hub and holds nothing else.
func isFresh(r record, data []byte) bool {
	got, err := edit.Decode(r.Format, data)
	if err != nil {
		return false
	}
	want, err := edit.Decode(r.Format, []byte(r.Fresh))
	if err != nil {
		return false
	}
	for _, st := range r.Steps {
		for _, m := range st.Changes {
			got = edit.Prune(got, m.Where.Path)
		}
	}
	return edit.Equal(got, want)
}

// forgetRecord removes a record and its copies.
func (s *Store) forgetRecord(r record) error {
	if err := os.Remove(s.recordPath(r.Client, r.File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, st := range r.Steps {
		if st.Copy != "" {
			_ = os.Remove(filepath.Join(s.Dir, st.Copy)) // another step may have had it too
		}
	}
	return nil
}

// replaceFile writes a file again and leaves its permissions as they are. If the
// path is a link, what it leads to is written.
func replaceFile(path string, data []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return atomicfile.Replace(path, data, mode)
}

// WriteHub writes hub.json, unless it has changed since it was read. before is
// nil if there was none. Where private is set, only its owner may read it.
func WriteHub(path string, before, after []byte, private bool) error {
	now, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before == nil:
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return atomicfile.Write(path, after, 0o600)
	case err == nil && before != nil && bytes.Equal(now, before):
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		return fmt.Errorf("%s: the file was changed in the meantime; run the command again", path)
	}
	if private {
		return atomicfile.Replace(path, after, 0o600)
	}
	return replaceFile(path, after)
}
