package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/clients/edit"
)

// Store keeps what was done to the files of clients: copies of them as they
// were, and records of what was put in.
type Store struct {
	Dir string // of the hub's state folder; made when it is needed, 0700
}

// record is what is kept of one file.
type record struct {
	Version int         `json:"version"`
	Client  string      `json:"client"`
	File    string      `json:"file"`
	Format  edit.Format `json:"format"`
	Fresh   string      `json:"fresh,omitempty"`
	Steps   []step      `json:"steps"`
}

// step is one writing of the file.
type step struct {
	Before  string   `json:"before,omitempty"` // checksum; "" where there was no file
	After   string   `json:"after"`
	Copy    string   `json:"copy,omitempty"` // name of the copy in the folder of the store
	Dirs    []string `json:"dirs,omitempty"` // folders that were made, the outermost first
	Changes []Made   `json:"changes"`
}

const recordVersion = 1

func (s *Store) recordPath(client, file string) string {
	return filepath.Join(s.Dir, client+"-"+sum([]byte(file))[:12]+".json")
}

// Apply writes what a plan says. The record is on the disk before the file is
// changed. Files that were written stay so if a later one fails.
func (s *Store) Apply(p *Plan) error {
	for _, f := range p.Files {
		if len(f.Changes) == 0 {
			continue
		}
		if err := s.apply(p.Client, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) apply(c *Client, f *FileEdit) error {
	now, err := readFile(f.Place.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.Existed {
			return fmt.Errorf("%s: the file has gone in the meantime; run the command again", f.Place.File)
		}
	case err != nil:
		return err
	case !f.Existed || !sameBytes(now, f.Before):
		return fmt.Errorf("%s: the file was changed in the meantime; close %s and run the command again", f.Place.File, c.Title)
	}
	rec, err := s.load(c.Name, f.Place.File)
	if err != nil {
		return err
	}
	rec.Format, rec.Fresh = f.Place.Format, f.Place.Fresh
	st := step{After: sum(f.After), Changes: f.Changes}
	if f.Existed {
		st.Before = sum(f.Before)
		st.Copy = fmt.Sprintf("%s-%s-%s", c.Name, st.Before[:12], filepath.Base(f.Place.File))
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
		if err := write(filepath.Join(s.Dir, st.Copy), f.Before, 0o600); err != nil {
			return err
		}
	}
	if err := s.save(rec); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Place.File), 0o700); err != nil {
		return err
	}
	return replace(f.Place.File, f.After)
}

func (s *Store) load(client, file string) (record, error) {
	rec := record{Version: recordVersion, Client: client, File: file}
	path := s.recordPath(client, file)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err == nil && rec.Version != recordVersion {
		err = fmt.Errorf("written by another version of mcphub")
	}
	if err != nil {
		return rec, fmt.Errorf("the record of what was changed, %s: %w", path, err)
	}
	return rec, nil
}

func (s *Store) save(rec record) error {
	data, err := json.MarshalIndent(rec, "", " ")
	if err != nil {
		return err
	}
	return write(s.recordPath(rec.Client, rec.File), append(data, '\n'), 0o600)
}

// Known lists the clients that something was changed in.
func (s *Store) Known() ([]string, error) {
	all, err := s.records("")
	var out []string
	for _, r := range all {
		if !slices.Contains(out, r.Client) {
			out = append(out, r.Client)
		}
	}
	return out, err
}

func (s *Store) records(client string) ([]record, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []record
	for _, e := range entries {
		// A copy may be called anything that a client's file is called.
		head, tail, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".json"), "-")
		if !strings.HasSuffix(e.Name(), ".json") || head == "" || tail == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(s.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		var r record
		if json.Unmarshal(data, &r) != nil || e.Name() != filepath.Base(s.recordPath(r.Client, r.File)) || client != "" && r.Client != client {
			continue
		}
		if r.Version != recordVersion {
			return nil, fmt.Errorf("the record of what was changed, %s: written by another version of mcphub", filepath.Join(s.Dir, e.Name()))
		}
		out = append(out, r)
	}
	return out, nil
}

// Undone is what became of one file.
type Undone struct {
	File  string `json:"file"`
	State string `json:"state"`          // restored, edited, deleted, gone or unchanged
	Copy  string `json:"copy,omitempty"` // where what a file that is gone held is kept
}

// What became of a file.
const (
	Restored  = "restored"  // it is as it was, to the byte
	Edited    = "edited"    // somebody had edited it: what was put in is out, the edits are kept
	Deleted   = "deleted"   // there was none before, and there is none now
	Gone      = "gone"      // somebody had deleted it
	Unchanged = "unchanged" // what was put in was out already
)

// Undo takes back all that was done to the files of a client.
func (s *Store) Undo(client string) ([]Undone, error) {
	all, err := s.records(client)
	if err != nil {
		return nil, err
	}
	var out []Undone
	for _, r := range all {
		u, err := s.undo(r)
		if err != nil {
			return out, err
		}
		out = append(out, u)
	}
	return out, nil
}

func (s *Store) undo(r record) (Undone, error) {
	u := Undone{File: r.File}
	if len(r.Steps) == 0 {
		u.State = Unchanged
		return u, s.forget(r)
	}
	original := r.Steps[0].Before
	data, err := readFile(r.File)
	if errors.Is(err, fs.ErrNotExist) {
		u.State = Gone
		if r.Steps[0].Copy != "" {
			u.Copy = filepath.Join(s.Dir, r.Steps[0].Copy)
		}
		return u, os.Remove(s.recordPath(r.Client, r.File)) // the copy may be all that is left
	}
	if err != nil {
		return u, err
	}
	was := data
	there := true
	exact := true
	for _, st := range slices.Backward(r.Steps) {
		switch now := sum(data); {
		case there && now == st.After && st.Copy != "":
			old, err := readFile(filepath.Join(s.Dir, st.Copy))
			if err != nil {
				return u, fmt.Errorf("the copy of %s: %w", r.File, err)
			}
			if sum(old) != st.Before {
				return u, fmt.Errorf("the copy of %s is not what it was: %s", r.File, filepath.Join(s.Dir, st.Copy))
			}
			data = old
		case there && now == st.After:
			data, there = nil, false
		case now == st.Before:
		default:
			exact = false
			for _, m := range slices.Backward(st.Changes) {
				if data, err = edit.Undo(r.Format, data, m.Where, m.Change); err != nil {
					return u, fmt.Errorf("%s: %w; what it was before is in %s", r.File, err, filepath.Join(s.Dir, st.Copy))
				}
			}
		}
	}
	if there && original == "" && isFresh(r, data) {
		there = false
	}
	switch {
	case !there:
		u.State = Deleted
		if err := os.Remove(r.File); err != nil {
			return u, err
		}
		for _, dir := range slices.Backward(r.Steps[0].Dirs) {
			if os.Remove(dir) != nil { // something else is in it
				break
			}
		}
	case sameBytes(was, data):
		u.State = Unchanged
	default:
		u.State = Restored
		if !exact {
			u.State = Edited
		}
		if err := replace(r.File, data); err != nil {
			return u, err
		}
	}
	return u, s.forget(r)
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
			got = edit.Prune(got, m.Where)
		}
	}
	return edit.Equal(got, want)
}

// forget removes a record and its copies.
func (s *Store) forget(r record) error {
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

// replace writes a file anew and leaves its permissions as they are. Where the
// path is a link, what it leads to is written.
func replace(path string, data []byte) error {
	mode := fs.FileMode(0o600)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	return write(path, data, mode)
}

// WriteHub writes hub.json, unless it has changed since it was read. before is
// nil where there was none. Where private is set, only its owner may read it.
func WriteHub(path string, before, after []byte, private bool) error {
	now, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before == nil:
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return write(path, after, 0o600)
	case err == nil && before != nil && sameBytes(now, before):
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		return fmt.Errorf("%s: the file was changed in the meantime; run the command again", path)
	}
	if private {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		return write(path, after, 0o600)
	}
	return replace(path, after)
}

// write makes a file in one step, as far as others see it.
func write(path string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".mcphub-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if other := tmp.Close(); err == nil {
		err = other
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
