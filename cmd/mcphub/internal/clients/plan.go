package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// A Plan holds the edits of the files of one client. It is made in memory; [Store.Apply]
// writes them.
type Plan struct {
	Client *Profile
	Files  []*FileEdit
}

// A FileEdit is the edit of one file.
type FileEdit struct {
	Place   Place
	Existed bool
	Before  []byte
	After   []byte
	Changes []Made

	private bool   // no one else may read it from now on
	hides   string // what no diff shows; "": nothing
}

// Made is one change in a file.
type Made struct {
	Where  edit.Container `json:"where"`
	Change edit.Change    `json:"change"`
}

// readFile reads a file of the plan, once.
func (p *Plan) readFile(at Place) (*FileEdit, error) {
	for _, f := range p.Files {
		if f.Place.File == at.File {
			return f, nil
		}
	}
	f := &FileEdit{Place: at}
	data, err := readFile(at.File)
	switch {
	case err == nil:
		f.Existed, f.Before, f.After = true, data, data
	case errors.Is(err, fs.ErrNotExist):
		f.After = []byte(at.Fresh)
	default:
		return nil, err
	}
	p.Files = append(p.Files, f)
	return f, nil
}

func (f *FileEdit) applyChange(where edit.Container, c edit.Change) error {
	after, made, err := edit.Apply(f.Place.Format, f.After, where, c)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Place.File, err)
	}
	f.After = after
	f.Changes = append(f.Changes, Made{where, made})
	return nil
}

// HasChanges reports whether there is anything to do.
func (p *Plan) HasChanges() bool {
	for _, f := range p.Files {
		if len(f.Changes) > 0 {
			return true
		}
	}
	return false
}

// PlanInstall puts the hub into the file that the client reads. already: it is
// there as it should be, or under a name of the user's own, which is returned.
func PlanInstall(c *Profile, e Env, h Hub) (p *Plan, already string, err error) {
	p = &Plan{Client: c}
	refers, takes := c.Refers()
	if h.Web != nil && !takes {
		return nil, "", fmt.Errorf("%s %w", c.Title, ErrNoHTTP)
	}
	at := c.Target(e)
	f, err := p.readFile(at)
	if err != nil {
		return nil, "", err
	}
	whole, err := edit.Decode(at.Format, f.After)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", at.File, err)
	}
	where := c.tablesIn(whole, at)[0].where
	entries := edit.Entries(whole, where)
	want := c.Entry(h, at)
	if where.List {
		want = want.Without("name")
	}
	if have := entries.Get(HubName); have != nil && edit.Equal(have, want) {
		return p, HubName, nil
	}
	for _, m := range entries {
		t, _ := m.Value.(edit.Table)
		if entry, ok := c.dialect.readEntry(t); ok && m.Name != HubName && isHub(splitCommand(entry)) {
			return p, m.Name, nil
		}
	}
	if h.Web != nil && h.Web.Token != "" && refers == ByValue {
		if err := f.holdsToken(h.Web.Token); err != nil {
			return nil, "", err
		}
	}
	return p, "", f.applyChange(where, edit.Change{Kind: edit.Put, Name: HubName, Value: want})
}

// splitCommand splits a command that is a list into "command" and "args", as isHub knows them.
func splitCommand(t edit.Table) edit.Table {
	if words, ok := t.Get("command").([]any); ok && len(words) > 0 {
		return t.With("command", words[0]).With("args", words[1:])
	}
	return t
}

// Target returns the file for the hub: the first that is there, else the first.
func (c *Profile) Target(e Env) Place {
	all := c.places(e)
	for _, p := range all {
		if _, err := os.Stat(p.File); err == nil {
			return p
		}
	}
	return all[0]
}

// SwitchOff adds to a plan that a server no longer runs in its client. It
// reports how: "disabled", or "removed" if the client has no switch.
func (p *Plan) SwitchOff(s Server) (string, error) {
	f, err := p.readFile(s.place)
	if err != nil {
		return "", err
	}
	switch s.toggle {
	case "disabled":
		return "disabled", f.applyChange(s.where, edit.Change{Kind: edit.Set, Name: s.key, Key: "disabled", Value: true})
	case "enabled":
		return "disabled", f.applyChange(s.where, edit.Change{Kind: edit.Set, Name: s.key, Key: "enabled", Value: false})
	}
	return "removed", f.applyChange(s.where, edit.Change{Kind: edit.Remove, Name: s.key})
}

// PlanRemoval takes out a hub that someone registered by hand.
func PlanRemoval(c *Profile, e Env) (*Plan, error) {
	p := &Plan{Client: c}
	for _, at := range c.places(e) {
		data, err := readFile(at.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		whole, err := edit.Decode(at.Format, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at.File, err)
		}
		for _, k := range c.tablesIn(whole, at) {
			for _, m := range edit.Entries(whole, k.where) {
				t, _ := m.Value.(edit.Table)
				entry, ok := c.dialect.readEntry(t)
				if !ok || !isHub(splitCommand(entry)) && !isHubAt(m.Name, entry) {
					continue
				}
				f, err := p.readFile(at)
				if err != nil {
					return nil, err
				}
				if err := f.applyChange(k.where, edit.Change{Kind: edit.Remove, Name: m.Name}); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, nil
}

// Diff returns line by line what will be done to a file. What the file holds
// is not shown, because it may be secret: of a part that goes, only its
// name.
func (f *FileEdit) Diff() []string {
	var out []string
	for _, m := range f.Changes {
		c := m.Change
		switch c.Kind {
		case edit.Put:
			if c.Was != nil {
				out = append(out, fmt.Sprintf("- %s (another entry of that name; it is kept in the backup)", c.Name))
			}
			for _, s := range c.Splices {
				for line := range strings.Lines(s.New) {
					if line = strings.TrimRight(line, "\r\n"); strings.Trim(line, " \t,") != "" {
						out = append(out, "+ "+line)
					}
				}
			}
		case edit.Set:
			out = append(out, fmt.Sprintf("~ %s: %s = %v", c.Name, c.Key, c.Value))
		case edit.Remove:
			out = append(out, fmt.Sprintf("- %s (kept in the backup)", c.Name))
		}
	}
	if f.hides != "" {
		for i := range out {
			out[i] = strings.ReplaceAll(out[i], f.hides, "(the token of the hub)")
		}
		out = append(out, "~ from then on only you can read the file (mode 0600)")
	}
	return out
}

func digestOf(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// Snippet returns what to put where, for someone who edits the file by hand: the
// file as it would be if there were nothing else in it.
func Snippet(c *Profile, e Env, h Hub) (file, text string, err error) {
	if _, takes := c.Refers(); h.Web != nil && !takes {
		return "", "", fmt.Errorf("%s %w", c.Title, ErrNoHTTP)
	}
	at := c.Target(e)
	where := at.Where
	if data, err := readFile(at.File); err == nil {
		if whole, err := edit.Decode(at.Format, data); err == nil {
			where = c.tablesIn(whole, at)[0].where
		}
	}
	out, _, err := edit.Apply(at.Format, nil, where, edit.Change{Kind: edit.Put, Name: HubName, Value: c.Entry(h, at)})
	return at.File, string(out), err
}
