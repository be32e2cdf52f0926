package clients

import (
	"fmt"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/redact"
)

// Shown returns the entry for the person who is asked about it: all of it, in the
// form that hub.json gets. A secret shows its length and where it goes. What a
// shell or another program could read as more than one word is never taken for a
// secret: it would hide what is started.
func (im *Import) Shown() edit.Table {
	where := "stays in hub.json as plain text"
	if len(im.Moved) > 0 {
		where = "goes to the store of secrets"
	}
	mask := func(value string, named bool) string {
		if named && hidesNothing.MatchString(value) {
			return maskSecret(value, where)
		}
		return eachShape(value, func(_, secret string) string { return maskSecret(secret, where) })
	}
	var out edit.Table
	for _, m := range im.plain {
		switch v := m.Value.(type) {
		case edit.Table:
			in := make(edit.Table, len(v))
			for i, part := range v {
				if s, ok := part.Value.(string); ok && secretAt(s) >= 0 && !namesFile(s) {
					at := secretAt(s)
					part.Value = s[:at] + mask(s[at:], secretName(part.Name))
				}
				in[i] = part
			}
			m.Value = in
		case []any:
			in := make([]any, len(v))
			option := false // the one before names a secret
			for i, a := range v {
				in[i] = a
				s, ok := a.(string)
				if !ok {
					continue
				}
				name, value, joined := strings.Cut(s, "=")
				if namesFile(s) || joined && namesFile(value) {
					option = false
					continue
				}
				named := redact.SecretKey(strings.TrimLeft(name, "-"))
				switch {
				case option && secretAt(s) >= 0:
					in[i] = mask(s, true)
				case joined && named && secretAt(value) >= 0 && hidesNothing.MatchString(value):
					in[i] = name + "=" + mask(value, true)
				default:
					in[i] = mask(s, false)
				}
				option = !joined && named && strings.HasPrefix(s, "-")
			}
			m.Value = in
		case string:
			if m.Name == "url" {
				m.Value = moveURL(v, func(_, _, value string) string { return mask(value, true) })
			}
		}
		out = append(out, m)
	}
	return out
}

// hidesNothing matches a text that no shell reads as more than one word.
var hidesNothing = lazyregexp.New("^[^\\s$`;|&<>(){}'\"\\\\]+$")

// maskSecret returns what is shown of a secret.
func maskSecret(secret, where string) string {
	if !hidesNothing.MatchString(secret) {
		return secret
	}
	return fmt.Sprintf("[a secret of %d characters, which %s]", len([]rune(secret)), where)
}

// eachShape changes the parts of a text that have the form of a secret. change also gets all of the text that stands before such a part.
// A part that a shell reads as more than one word is left alone, as is one in another line than its name.
func eachShape(s string, change func(before, secret string) string) string {
	var b strings.Builder
	done := 0
	for _, span := range redact.Spans(s) {
		begin, end := span[0], span[1]
		if end-begin > 1 && (s[begin] == '"' || s[begin] == '\'') && s[end-1] == s[begin] {
			begin, end = begin+1, end-1 // the quotes stay
		}
		if !hidesNothing.MatchString(s[begin:end]) || strings.HasSuffix(strings.TrimRight(s[:begin], " \t\"'"), "\n") {
			continue
		}
		b.WriteString(s[done:begin])
		b.WriteString(change(s[:begin], s[begin:end]))
		done = end
	}
	return b.String() + s[done:]
}
