package clients

import (
	"strings"

	"mcphub/internal/clients/edit"
	"mcphub/internal/redact"
)

// Secrets keeps secrets by name, out of any configuration.
type Secrets interface {
	Set(name, value string) error
	Delete(name string) error
}

// pretend keeps nothing.
type pretend struct{}

func (pretend) Set(string, string) error { return nil }
func (pretend) Delete(string) error      { return nil }

// moveSecrets puts references in the place of plain secrets. moved and plain name
// the keys, never the values.
func moveSecrets(server string, entry edit.Table, secrets Secrets) (out edit.Table, moved, plain []string, err error) {
	out = entry
	swap := func(key, name, value string) string {
		at := secretAt(value)
		if err != nil || at < 0 {
			return value
		}
		if secrets == nil {
			plain = append(plain, key)
			return value
		}
		ref := server + "/" + name
		if err = secrets.Set(ref, value[at:]); err != nil {
			return value
		}
		moved = append(moved, key)
		return value[:at] + "${keyring:" + ref + "}"
	}
	for _, box := range []string{"env", "headers"} {
		t, ok := entry.Get(box).(edit.Table)
		if !ok {
			continue
		}
		with := make(edit.Table, len(t))
		for i, m := range t {
			if s, ok := m.Value.(string); ok && (redact.SecretKey(m.Name) || redact.Text(s) != s) {
				m.Value = swap(box+"."+m.Name, m.Name, s)
			}
			with[i] = m
		}
		out = out.With(box, with)
	}
	if args, ok := entry.Get("args").([]any); ok {
		out = out.With("args", moveArgs(args, swap))
	}
	if url, ok := entry.Get("url").(string); ok && redact.Text(url) != url && !strings.Contains(url, "${") {
		plain = append(plain, "url") // a reference cannot stand for an address
	}
	return out, moved, plain, err
}

func moveArgs(args []any, swap func(key, name, value string) string) []any {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i], _ = a.(string)
	}
	clean := redact.Args(texts, nil)
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
		if texts[i] == "" || clean[i] == texts[i] {
			continue
		}
		name, value, joined := strings.Cut(texts[i], "=")
		if joined && strings.HasPrefix(name, "-") {
			out[i] = name + "=" + swap("args", strings.TrimLeft(name, "-"), value)
			continue
		}
		name = "arg"
		if i > 0 && strings.HasPrefix(texts[i-1], "-") {
			name = strings.TrimLeft(texts[i-1], "-")
		}
		out[i] = swap("args", name, texts[i])
	}
	return out
}

// secretAt is where in a text the secret begins, behind a word such as Bearer;
// -1 where there is none, because it is empty or taken from elsewhere.
func secretAt(value string) int {
	if strings.TrimSpace(value) == "" || strings.Contains(value, "${") {
		return -1
	}
	word, rest, two := strings.Cut(value, " ")
	if two && rest != "" && (strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic") || strings.EqualFold(word, "token")) {
		return len(value) - len(rest)
	}
	return 0
}
