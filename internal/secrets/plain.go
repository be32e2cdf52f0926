package secrets

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcphub/internal/redact"
	"mcphub/internal/reference"
)

// An Entry is what of a server's configuration may hold secrets as they are. Env and
// Headers are by name.
type Entry struct {
	Name    string
	Env     map[string]string
	Headers map[string]string
	Args    []string
}

// A Plain is a secret that stands in an Entry as it is.
type Plain struct {
	Key   []string // where: env and a name, headers and a name, args and a number
	Name  string   // what it may be called: no two of one Entry are called alike
	Value string   // the secret
	Text  string   // what is to stand there: a reference to Name, with what was around the secret
}

// FindPlain tells which values of an Entry are secrets, by the rules by which they are
// left out of records: the names of variables, headers and options, and the forms of
// well-known keys. A value that takes a variable or a reference already ("${") is none.
// What it cannot know is a secret without a form under a harmless name.
func FindPlain(e Entry) []Plain {
	f := plainFinder{entry: e.Name, used: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		f.value([]string{"env", name}, name, e.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		f.value([]string{"headers", name}, name, e.Headers[name])
	}
	shown := redact.Args(e.Args, nil)
	for i, arg := range e.Args {
		if shown[i] == arg || strings.Contains(arg, "${") {
			continue
		}
		at := []string{"args", strconv.Itoa(i)}
		option, value, joined := strings.Cut(arg, "=")
		header, rest, isHeader := strings.Cut(arg, ":")
		switch {
		case joined && redact.SecretKey(strings.TrimLeft(option, "-")):
			f.add(at, strings.TrimLeft(option, "-"), option+"=", value)
		case isHeader && shown[i] == header+": "+redact.Mark:
			value := strings.TrimLeft(rest, " ")
			f.credential(at, header, arg[:len(arg)-len(value)], value)
		case shown[i] == redact.Mark && i > 0:
			f.add(at, cmp.Or(strings.TrimLeft(e.Args[i-1], "-"), "args"), "", arg)
		default:
			f.part(at, "args-"+strconv.Itoa(i), arg, shown[i])
		}
	}
	return f.out
}

type plainFinder struct {
	entry string
	used  map[string]int
	out   []Plain
}

// value looks at the value of a name.
func (f *plainFinder) value(at []string, name, value string) {
	switch {
	case value == "" || strings.Contains(value, "${"):
	case redact.SecretKey(name) && !strings.HasSuffix(name, "PWD"):
		f.credential(at, name, "", value)
	default:
		f.part(at, name, value, redact.Text(value))
	}
}

// credential leaves the scheme of an Authorization header where it is.
func (f *plainFinder) credential(at []string, name, before, value string) {
	if scheme, rest, ok := strings.Cut(value, " "); ok && rest != "" && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "Token")) {
		before, value = before+scheme+" ", rest
	}
	f.add(at, name, before, value)
}

// part takes the one part of a text out that was left out of shown. Where there are
// several the whole text is the secret.
func (f *plainFinder) part(at []string, name, text, shown string) {
	if shown == text {
		return
	}
	before, after, _ := strings.Cut(shown, redact.Mark)
	if strings.Contains(after, redact.Mark) || len(before)+len(after) >= len(text) || !strings.HasPrefix(text, before) || !strings.HasSuffix(text, after) {
		f.add(at, name, "", text)
		return
	}
	f.add(at, name, before, text[len(before):len(text)-len(after)])
	f.out[len(f.out)-1].Text += after
}

func (f *plainFinder) add(at []string, name, before, value string) {
	p := Plain{Key: at, Name: f.called(name), Value: value}
	p.Text = before + reference.Ref{Kind: reference.Keyring, Name: p.Name}.String()
	f.out = append(f.out, p)
}

// called makes a name of that of the entry and that of the key.
func (f *plainFinder) called(name string) string {
	clean := func(s, otherwise string) string {
		s = strings.Trim(strings.Map(func(r rune) rune {
			if reference.CheckName("x"+string(r)) == "" && r != '/' {
				return r
			}
			return '-'
		}, s), "-.")
		return cmp.Or(s[:min(60, len(s))], otherwise)
	}
	full := clean(f.entry, "server") + "/" + clean(name, "secret")
	if f.used[full]++; f.used[full] > 1 {
		return full + "-" + strconv.Itoa(f.used[full])
	}
	return full
}

// Move keeps the secrets that FindPlain found. It returns where they are kept, and why
// not in the keyring. Where one fails, those before it are kept.
func (s *Store) Move(ctx context.Context, all []Plain) (at Place, why string, err error) {
	for _, p := range all {
		if at, why, err = s.Set(ctx, p.Name, p.Value); err != nil {
			return at, why, err
		}
	}
	return at, why, nil
}
