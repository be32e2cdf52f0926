package clients

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
)

// Keys of "sandbox" in an entry of hub.json that hold paths.
const (
	MayRead  = "read"
	MayWrite = "write"
)

// AllowInHub adds a path, as hub.json writes it, to a key of the sandbox of a server.
func AllowInHub(file string, text []byte, name, key, path string) ([]byte, error) {
	at, sandbox, err := sandboxAt(file, text, name)
	if err != nil {
		return nil, err
	}
	if mode, short := sandbox.(string); short {
		return placedInHub(file, text, append(at, "sandbox"), edit.Table{{Name: "mode", Value: mode}, {Name: key, Value: []any{path}}})
	}
	t, _ := sandbox.(edit.Table)
	have, _ := t.Get(key).([]any)
	return placedInHub(file, text, append(at, "sandbox", key, len(have)), path)
}

// RevokeInHub takes out the element of a key of the sandbox of a server, with what holds
// nothing else. A sandbox of which nothing but its mode is left is written short.
func RevokeInHub(file string, text []byte, name, key string, element int) ([]byte, error) {
	at, _, err := sandboxAt(file, text, name)
	if err != nil {
		return nil, err
	}
	out, err := edit.Cut(text, append(at, "sandbox", key, element), len(at))
	if err != nil {
		return nil, fmt.Errorf("%s: server %q: its sandbox: %w", file, name, err)
	}
	_, sandbox, err := sandboxAt(file, out, name)
	if err != nil {
		return nil, err
	}
	if t, _ := sandbox.(edit.Table); len(t) == 1 && t.Has("mode") {
		return placedInHub(file, out, append(at, "sandbox"), t.Get("mode"))
	}
	return checkReadable(file, out)
}

// AddRuleToHub puts a rule of the policy before the one that has this number.
func AddRuleToHub(file string, text []byte, number int, rule edit.Table) ([]byte, error) {
	return placedInHub(file, text, edit.ValuePath{"policy", "rules", number}, rule)
}

// RemoveRuleFromHub takes the rule of this number out of the policy, with what holds nothing else.
func RemoveRuleFromHub(file string, text []byte, number int) ([]byte, error) {
	out, err := edit.Cut(text, edit.ValuePath{"policy", "rules", number}, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: policy.rules: %w", file, err)
	}
	return checkReadable(file, out)
}

// SwitchToolInHub holds a tool of a server back from clients, or offers it again, by the exact name of the tool. A
// pattern that holds it back stays. It returns the text as it is if nothing has to change.
func SwitchToolInHub(file string, text []byte, name, tool string, off bool) ([]byte, error) {
	if tool == "" || strings.ContainsAny(tool, `*?[]{}\$`) {
		return nil, fmt.Errorf("the tool %q has a name that is a pattern in hub.json; change tools.exclude of %s by hand", tool, name)
	}
	at, entry, err := entryAt(file, text, name)
	if err != nil {
		return nil, err
	}
	t, _ := entry.Get("tools").(edit.Table)
	exclude, _ := t.Get("exclude").([]any)
	include, _ := t.Get("include").([]any)
	held, listed := slices.Index(exclude, any(tool)), slices.Contains(include, any(tool))
	switch {
	case off && held < 0:
		return placedInHub(file, text, append(at, "tools", "exclude", len(exclude)), tool)
	case !off && held >= 0:
		if text, err = edit.Cut(text, append(at, "tools", "exclude", held), len(at)); err != nil {
			return nil, fmt.Errorf("%s: server %q: its tools: %w", file, name, err)
		}
		return SwitchToolInHub(file, text, name, tool, off) // it may stand there twice
	case !off && len(include) > 0 && !listed:
		return placedInHub(file, text, append(at, "tools", "include", len(include)), tool)
	}
	return checkReadable(file, text)
}

// sandboxAt returns the place of an entry, and its sandbox as it is written; nil if it
// says nothing about one.
func sandboxAt(file string, text []byte, name string) (at edit.ValuePath, sandbox any, err error) {
	at, entry, err := entryAt(file, text, name)
	return at, entry.Get("sandbox"), err
}

// entryAt returns the place of an entry, and the entry as it is written.
func entryAt(file string, text []byte, name string) (at edit.ValuePath, entry edit.Table, err error) {
	f, _, err := config.Parse(file, text, allSet)
	if err != nil {
		return nil, nil, err
	}
	whole, err := edit.Decode(edit.JSON, text)
	if err != nil {
		return nil, nil, err
	}
	s := f.Named(name)
	if s == nil {
		return nil, nil, edit.ErrNoEntry
	}
	var in any = whole
	for _, step := range append(hubContainer(whole).Path, s.Key) {
		t, _ := in.(edit.Table)
		if in = t.Get(step); in == nil {
			return nil, nil, fmt.Errorf("%s: the servers do not stand in one \"mcpServers\", so %q cannot be changed alone; put it there first", file, name)
		}
		at = append(at, step)
	}
	entry, _ = in.(edit.Table)
	return at, entry, nil
}

func placedInHub(file string, text []byte, at edit.ValuePath, v any) ([]byte, error) {
	out, err := edit.Insert(text, at, v)
	if err != nil {
		return nil, fmt.Errorf("%s: %v: %w", file, at[:min(2, len(at))], err)
	}
	return checkReadable(file, out)
}

// checkReadable holds that config reads a text.
func checkReadable(file string, text []byte) ([]byte, error) {
	_, _, err := config.Parse(file, text, allSet)
	return text, err
}
