package clients

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
)

// FirstHub is a hub.json that serves what a hub without any serves.
const FirstHub = "{\n  \"mcpServers\": {\n    \"files\": { \"builtin\": \"files\" }\n  }\n}\n"

// emptyHub is a hub.json without servers.
const emptyHub = "{\n  \"mcpServers\": {\n  }\n}\n"

// ErrDisabledOtherwise means that another key decides whether
// a server is served.
var ErrDisabledOtherwise = errors.New("another key than \"disabled\" and \"enabled\" says whether it is served; change that one by hand")

// AddToHub adds a server to the text of hub.json, which may be empty. Every other
// byte stays as it is. What config would not read is refused.
func AddToHub(file string, text []byte, name string, entry edit.Table) ([]byte, error) {
	if strings.TrimSpace(name) == "" {
		return nil, errors.New("the name of the server is empty")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(FirstHub)
	}
	return editHub(file, text, edit.Change{Kind: edit.Put, Name: name, Value: entry})
}

// RemoveFromHub takes a server out of the text of hub.json.
func RemoveFromHub(file string, text []byte, name string) ([]byte, error) {
	return editHub(file, text, edit.Change{Kind: edit.Remove, Name: name})
}

// ShareInHub has the clients of a hub.json share a hub. It returns the text as it is if that
// says already whether they do, as said reports.
func ShareInHub(file string, text []byte) (after []byte, said bool, err error) {
	whole, err := edit.Decode(edit.JSON, text)
	if err != nil {
		return nil, false, edit.WithFile(file, err)
	}
	if whole.Has("attach") {
		return text, true, nil
	}
	after, err = placedInHub(file, text, edit.ValuePath{"attach"}, "auto")
	return after, false, err
}

// DisableInHub sets "disabled" of a server, or "enabled" or "isActive" if its entry has that
// instead. It returns the text as it is if nothing has to change.
func DisableInHub(file string, text []byte, name string, disabled bool) ([]byte, error) {
	before, _, err := config.Parse(file, text, allSet)
	if err != nil {
		return nil, err
	}
	s := before.Named(name)
	if s == nil || s.Disabled == disabled {
		return text, nil
	}
	name = s.Key
	c := edit.Change{Kind: edit.Set, Name: name, Key: "disabled", Value: disabled}
	if whole, err := edit.Decode(edit.JSON, text); err == nil {
		entries, _ := whole.Get(hubContainer(whole).Path[0]).(edit.Table)
		entry, _ := entries.Get(name).(edit.Table)
		for _, key := range []string{"enabled", "isActive"} {
			if entry.Has(key) && !entry.Has("disabled") {
				c.Key, c.Value = key, !disabled
			}
		}
	}
	out, err := editHub(file, text, c)
	if err != nil {
		return nil, err
	}
	after, _, err := config.Parse(file, out, allSet)
	if err != nil {
		return nil, err
	}
	if s := after.Named(name); s == nil || s.Disabled != disabled {
		return nil, fmt.Errorf("%s: server %q: %w", file, name, ErrDisabledOtherwise)
	}
	return out, nil
}

// allSet looks up variables of which each has a value: which are set does not depend on the
// file.
func allSet(string) (string, bool) { return "x", true }

// editHub makes a change and holds that config reads the result, and finds the
// same servers in it but for the one that was added or removed.
func editHub(file string, text []byte, c edit.Change) ([]byte, error) {
	whole, err := edit.Decode(edit.JSON, text)
	if err != nil {
		return nil, edit.WithFile(file, err)
	}
	before, _, err := config.Parse(file, text, allSet)
	if err != nil {
		return nil, err
	}
	if s := before.Named(c.Name); s != nil {
		c.Name = s.Key
	}
	want := serverKeys(before)
	switch c.Kind {
	case edit.Put:
		want = append(want, c.Name)
	case edit.Remove:
		want = slices.DeleteFunc(want, func(name string) bool { return name == c.Name })
	}
	out, _, err := edit.Apply(edit.JSON, text, hubContainer(whole), c)
	if err != nil {
		return nil, fmt.Errorf("%s: server %q: %w", file, c.Name, err)
	}
	after, _, err := config.Parse(file, out, allSet)
	if err != nil {
		return nil, err
	}
	got := serverKeys(after)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return nil, fmt.Errorf("%s: its servers do not stand in one \"mcpServers\", so none can be changed alone; put them there first", file)
	}
	if s := after.Named(c.Name); c.Kind == edit.Put && s.Err != nil {
		return nil, errors.New(strings.TrimSpace(s.Err.Text + "; " + s.Err.Hint))
	}
	return out, nil
}

func serverKeys(f *config.File) []string {
	var out []string
	for i := range f.Servers {
		out = append(out, f.Servers[i].Key)
	}
	return out
}

// A PlainSecret is a value of an entry that looks like a secret.
type PlainSecret struct {
	Key  string // such as env.TOKEN
	Name string // under which a secret could be kept
}

// PlainSecrets lists what looks like a secret in the env, headers and args of an entry.
func PlainSecrets(server string, entry edit.Table) []PlainSecret {
	_, all, keys := moveSecrets(config.ServerName(server), entry, nil)
	out := make([]PlainSecret, len(all))
	for i, s := range all {
		out[i] = PlainSecret{keys[i], s.name}
	}
	return out
}

// HoldsSecrets reports whether an entry of a hub.json has what looks like a secret
// in plain text.
func HoldsSecrets(text []byte) bool {
	whole, err := edit.Decode(edit.JSON, text)
	if err != nil {
		return false
	}
	entries, _ := whole.Get(hubContainer(whole).Path[0]).(edit.Table)
	for _, m := range entries {
		if entry, ok := m.Value.(edit.Table); ok && len(PlainSecrets(m.Name, entry)) > 0 {
			return true
		}
	}
	return false
}
