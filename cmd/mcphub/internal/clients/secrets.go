package clients

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/redact"
)

// StoreSecrets puts the secrets that [Merge] took out of entries where they are kept, by set. If
// one cannot be, none is: forget takes back the others. Call it before hub.json is written.
func StoreSecrets(imports []Import, set func(name, value string) error, forget func(name string) error) error {
	var done []string
	for i := range imports {
		for _, s := range imports[i].secrets {
			if err := set(s.name, s.value); err != nil {
				err = fmt.Errorf("a secret of %q cannot be kept: %w", imports[i].Name, err)
				for _, name := range done {
					err = errors.Join(err, forget(name))
				}
				return err
			}
			done = append(done, s.name)
		}
	}
	return nil
}

// secret is one that is to be kept.
type secret struct{ name, value string }

// moveSecrets puts references instead of plain secrets. taken reports a name
// under which something is kept already, which stays as it is.
func moveSecrets(server string, entry edit.Table, taken func(string) bool) (out edit.Table, all []secret, keys []string) {
	out = entry
	swap := func(key, name, value string) string {
		at := secretAt(value)
		if at < 0 {
			return value
		}
		base := strings.TrimLeft(server, ".-") + "/" + unnamed.ReplaceAllString(name, "-")
		ref := base
		for n := 2; taken != nil && taken(ref) || slices.ContainsFunc(all, func(s secret) bool { return s.name == ref }); n++ {
			ref = fmt.Sprintf("%s-%d", base, n)
		}
		all, keys = append(all, secret{ref, value[at:]}), append(keys, key)
		return value[:at] + "${keyring:" + ref + "}"
	}
	for _, box := range []string{"env", "headers"} {
		t, ok := entry.Get(box).(edit.Table)
		if !ok {
			continue
		}
		with := make(edit.Table, len(t))
		for i, m := range t {
			if s, ok := m.Value.(string); ok && (secretName(m.Name) && !namesFile(s) || redact.Text(s) != s) {
				m.Value = swap(box+"."+m.Name, m.Name, s)
			}
			with[i] = m
		}
		out = out.With(box, with)
	}
	if t, ok := entry.Get("auth").(edit.Table); ok {
		if s, ok := t.Get("clientSecret").(string); ok && s != "" {
			out = out.With("auth", t.With("clientSecret", swap("auth.clientSecret", "clientSecret", s)))
		}
	}
	if address, ok := entry.Get("url").(string); ok {
		out = out.With("url", moveURL(address, swap))
	}
	if args, ok := entry.Get("args").([]any); ok {
		out = out.With("args", moveArgs(args, swap))
	}
	return out, all, keys
}

// secretName reports a name under which a variable or a header holds a secret. There KEY
// and X-Key say it, which elsewhere are names like any other.
func secretName(name string) bool {
	last := strings.ToLower(name[strings.LastIndexAny(name, "_-")+1:])
	return redact.SecretKey(name) || last == "key" && !openKey.MatchString(name)
}

// openKey matches names of keys that everybody may know.
var openKey = lazyregexp.New(`(?i)(^|[_-])(public|pub|primary|foreign|sort|partition|cache)[_-]?key$`)

// namesFile reports a value that is the path of something, as of a file of credentials.
// Its server opens that, so it has to stand in hub.json as a path.
func namesFile(value string) bool {
	path := value
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		return false
	}
	_, err := os.Stat(path)
	if dir := filepath.Dir(path); err != nil && dir != filepath.Dir(dir) { // it is made, or missing
		_, err = os.Stat(dir)
	}
	return err == nil
}

// moveURL moves parts of the path and values of the query, as they are spelled there.
func moveURL(address string, swap func(key, name, value string) string) string {
	address, fragment, hasFragment := strings.Cut(address, "#")
	path, query, hasQuery := strings.Cut(address, "?")
	parts := strings.Split(path, "/")
	for i := 3; i < len(parts); i++ { // behind https://host/
		if redact.Text(parts[i]) != parts[i] {
			parts[i] = swap("url", "path", parts[i])
		}
	}
	path = strings.Join(parts, "/")
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			if value != "" && (redact.SecretKey(name) || redact.Text(pair) != pair) {
				pairs[i] = name + "=" + swap("url."+name, name, value)
			}
		}
		path += "?" + strings.Join(pairs, "&")
	}
	if hasFragment {
		path += "#" + fragment
	}
	return path
}

// anyReference is what stands for a secret or a variable.
var anyReference = lazyregexp.New(`\$\{[^}]*\}`)

// secretURL reports an address with a secret at a place at which no reference may stand, as in the
// name of its host.
func secretURL(entry edit.Table) bool {
	url, _ := entry.Get("url").(string)
	url = anyReference.ReplaceAllString(url, "")
	return redact.Text(url) != url
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
		name, value, joined := strings.Cut(texts[i], "=")
		if texts[i] == "" || clean[i] == texts[i] || namesFile(texts[i]) || joined && namesFile(value) {
			continue
		}
		called := "arg"
		if i > 0 && strings.HasPrefix(texts[i-1], "-") {
			called = strings.TrimLeft(texts[i-1], "-")
		}
		if !hidesNothing.MatchString(texts[i]) { // a shell string keeps its command
			moved := eachShape(texts[i], func(before, secret string) string {
				variable := strings.TrimRight(assignment.FindString(before), `="'`)
				return swap("args", cmp.Or(variable, called), secret)
			})
			if moved != texts[i] || codeFlag.MatchString(called) && i > 0 {
				out[i] = moved
				continue
			}
		}
		switch {
		case joined && strings.HasPrefix(name, "-"):
			out[i] = name + "=" + swap("args", strings.TrimLeft(name, "-"), value)
		default:
			out[i] = swap("args", called, texts[i])
		}
	}
	return out
}

// assignment ends a text behind which the value of a variable stands, and codeFlag is an option behind which a shell string does.
var (
	assignment = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*=["']?$`)
	codeFlag   = lazyregexp.New(`^[a-z]*c$`)
)

// unnamed is what the name of a secret cannot hold.
var unnamed = lazyregexp.New(`[^A-Za-z0-9_./-]+`)

// secretAt returns where in a text the secret begins, behind a word such as
// Bearer; -1 if there is none, because it is empty or taken from elsewhere.
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
