package redact

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/nesting"
	"mcphub/internal/reference"
)

// MaxDepth is how deep a JSON value may nest that JSON reads.
const MaxDepth = 1000

// Mark stands in a record instead of what may be a secret.
const Mark = "[redacted]"

// secretWords make a key one whose value is not recorded, whatever it is.
// Words are told apart by case and by what is no letter: apiKey, API_KEY.
var secretWords = map[string]bool{
	"token": true, "password": true, "passwd": true, "passphrase": true, "pwd": true, "secret": true, "secrets": true,
	"authorization": true, "cookie": true, "cookies": true, "credential": true, "credentials": true, "bearer": true,
	"jwt": true, "apikey": true, "accesskey": true, "privatekey": true, "secretkey": true, "otp": true, "pin": true,
}

// secretPairs are two words that do so together.
var secretPairs = map[[2]string]bool{
	{"api", "key"}: true, {"access", "key"}: true, {"private", "key"}: true, {"signing", "key"}: true, {"encryption", "key"}: true,
	{"auth", "key"}: true, {"session", "key"}: true, {"account", "key"}: true, {"ssh", "key"}: true,
}

// harmlessEnds are last words of keys that name the place of a secret, or describe one.
var harmlessEnds = map[string]bool{
	"file": true, "path": true, "dir": true, "directory": true, "folder": true, "name": true, "type": true, "count": true,
	"limit": true, "length": true, "size": true, "env": true, "expiry": true, "expires": true,
}

// SecretKey reports whether what stands under a key is not recorded.
func SecretKey(key string) bool {
	w := splitKey(key)
	if len(w) == 0 || harmlessEnds[w[len(w)-1]] {
		return false
	}
	for i, word := range w {
		if secretWords[word] || i > 0 && secretPairs[[2]string{w[i-1], word}] {
			return true
		}
	}
	return false
}

// splitKey splits a key: api_key, apiKey, APIKey and api-key are two each.
func splitKey(key string) []string {
	var out []string
	rs := []rune(key)
	from := 0
	cut := func(to int) {
		if to > from {
			out = append(out, strings.ToLower(string(rs[from:to])))
		}
	}
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			from = i + 1
		case i > from && unicode.IsUpper(r) && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])):
			cut(i)
			from = i
		}
	}
	cut(len(rs))
	return out
}

// SecretPointer works like SecretKey for the last key of a JSON pointer.
func SecretPointer(pointer string) bool {
	return SecretKey(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// shape is one form of a secret. marks are what every text holds that may have
// it: a text without one of them is not looked at closer.
type shape struct {
	name  string // as docs/audit-format.md calls it
	marks []string
	is    *lazyregexp.Regexp
	with  string
}

var shapes = []shape{
	{"GitHub", []string{"gh", "github_pat_"}, lazyregexp.New(`\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{20,}`), Mark},
	{"GitLab", []string{"glpat-"}, lazyregexp.New(`\bglpat-[A-Za-z0-9_-]{16,}`), Mark},
	{"OpenAI, Anthropic", []string{"sk-"}, lazyregexp.New(`\bsk-[A-Za-z0-9_-]{16,}`), Mark},
	{"Stripe", []string{"_live_", "_test_"}, lazyregexp.New(`\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,}`), Mark},
	{"Slack", []string{"xox"}, lazyregexp.New(`\bxox[a-z]-[A-Za-z0-9-]{10,}`), Mark},
	{"AWS", []string{"AKIA", "ASIA"}, lazyregexp.New(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), Mark},
	{"Google", []string{"AIza", "ya29."}, lazyregexp.New(`\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}`), Mark},
	{"npm, PyPI, Hugging Face", []string{"npm_", "pypi-", "hf_"}, lazyregexp.New(`\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{20,}`), Mark},
	{"JSON Web Token", []string{"eyJ"}, lazyregexp.New(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?`), Mark},
	{"private key", []string{"PRIVATE KEY"}, lazyregexp.New(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), Mark},
	{"Authorization", []string{"earer", "EARER", "asic", "ASIC"}, lazyregexp.New(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}|\b(basic\s+)(?:[A-Za-z0-9+/]{6,}=+|[A-Za-z0-9+/]{16,})`), "$1$2" + Mark},
	{"user and password in a URL", []string{"@"}, lazyregexp.New(`://[^/\s:@]*:[^/\s@]+@`), "://" + Mark + "@"},
	{"parameter or variable", []string{"="}, lazyregexp.New(`(?i)((?:^|[^A-Za-z0-9])[A-Za-z0-9_-]*(?:token|passw(?:or)?d|passphrase|secret|api_?key|access_?key|signature|credentials?)=)("[^"]*"|'[^']*'|[^\s&;#"']+)`), "${1}" + Mark},
	{"option", []string{"--"}, lazyregexp.New(`(?i)(--[a-z0-9-]*(?:token|passw(?:or)?d|passphrase|secret|api-?key)\s+)("[^"]*"|'[^']*'|[^\s"'-][^\s"']*)`), "${1}" + Mark},
}

// mayBeIn reports whether a text may have a secret of this shape. A false is certain.
func (sh *shape) mayBeIn(text string) bool {
	return slices.ContainsFunc(sh.marks, func(mark string) bool { return strings.Contains(text, mark) })
}

// Text replaces what looks like a secret in a text.
func Text(text string) string {
	for i := range shapes {
		if sh := &shapes[i]; sh.mayBeIn(text) {
			text = sh.is.ReplaceAllString(text, sh.with)
		}
	}
	return text
}

// Spans returns where in a text what Text replaces begins and ends, in their order. The ones that meet are one.
func Spans(text string) (spans [][2]int) {
	for i := range shapes {
		sh := &shapes[i]
		if !sh.mayBeIn(text) {
			continue
		}
		for _, m := range sh.is.FindAllStringSubmatchIndex(text, -1) {
			before, after, _ := strings.Cut(string(sh.is.ExpandString(nil, sh.with, text, m)), Mark) // both stay as they stand in the text
			spans = append(spans, [2]int{m[0] + len(before), m[1] - len(after)})
		}
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	out := spans[:0]
	for _, span := range spans {
		if n := len(out); n > 0 && span[0] < out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], span[1])
		} else {
			out = append(out, span)
		}
	}
	return out
}

// URL returns an address without what often holds a secret: its user, query, fragment, and
// what Text leaves out; "" for what is no address.
func URL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return Text(u.String())
}

// Args works like Text for the arguments of a program: a reference to a secret
// stays as hub.json has it, what follows an option whose name is the name of a
// secret is left out too, and so is the value of each variable of environ that
// is one.
func Args(args, environ []string) []string {
	var values []string
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); len(value) >= shortestSecret && SecretKey(name) && !strings.HasSuffix(name, "PWD") { // a shell's PWD is a folder
			values = append(values, value, Mark)
		}
	}
	known := strings.NewReplacer(values...)
	out := make([]string, len(args))
	next := false // this one is the value of the option before
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		header, _, isHeader := strings.Cut(arg, ":")
		option := strings.HasPrefix(arg, "-") && SecretKey(strings.TrimLeft(name, "-"))
		switch {
		case reference.Has(arg):
			out[i] = reference.Show(known.Replace(arg))
		case next && arg != "":
			out[i] = Mark
		case joined && value != "" && SecretKey(strings.TrimLeft(name, "-")):
			out[i] = name + "=" + Mark
		case isHeader && !option && headerLike(header) && SecretKey(header):
			out[i] = header + ": " + Mark
		default:
			out[i] = Text(known.Replace(arg))
		}
		next = option && !joined && !next
	}
	return out
}

// shortestSecret is the least length at which the value of a variable is taken
// for one wherever it stands.
const shortestSecret = 8

// headerLike reports a text that may be the name of an HTTP header.
func headerLike(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// pairs remembers, of each object that is open, what it reports that its value
// is called: {"name": "API_KEY", "value": "..."}.
type pairs []struct{ key, name string }

// nameKeys are keys under which a name stands whose value is the member "value".
var nameKeys = map[string]bool{"name": true, "key": true, "variable": true, "header": true}

// startObject: an object begins at a depth.
func (p *pairs) startObject(depth int) {
	if depth < len(*p) {
		(*p)[depth].key, (*p)[depth].name = "", ""
	}
}

// sawString remembers a string at a depth of the document; 0 is outside of all.
func (p *pairs) sawString(depth int, isKey bool, text string) {
	for len(*p) <= depth {
		*p = append(*p, struct{ key, name string }{})
	}
	switch at := &(*p)[depth]; {
	case isKey:
		at.key = strings.ToLower(text)
	case nameKeys[at.key]:
		at.name = text
	}
}

func (p *pairs) isSecret(depth int, key string) bool {
	return depth < len(*p) && strings.EqualFold(key, "value") && SecretKey((*p)[depth].name)
}

// JSON redacts the strings of a JSON value, and whatever stands under a
// key that SecretKey knows. What is no JSON, or nests too deep, is left out
// altogether.
func JSON(raw []byte) []byte {
	if nesting.TooDeep(raw, MaxDepth) >= 0 {
		return []byte(`"` + Mark + `"`)
	}
	in := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out bytes.Buffer
	// Names that have become the same by what was left out are told apart again:
	// a line in which one stands twice would have two senses.
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(true))
	var named pairs
	again := 1
	for {
		t, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes())
		}
		key := ""
		if err == nil && t.Kind() == '"' {
			depth := in.StackDepth()
			kind, n := in.StackIndex(depth)
			text := t.String()
			isKey := kind == '{' && n%2 == 1
			named.sawString(depth, isKey, text)
			if isKey {
				key = text
			}
			err = enc.WriteToken(jsontext.String(Text(text)))
			for errors.Is(err, jsontext.ErrDuplicateName) { // of a key
				again++
				err = enc.WriteToken(jsontext.String(fmt.Sprintf("%s (%d)", Text(text), again)))
			}
		} else if err == nil {
			if t.Kind() == '{' {
				named.startObject(in.StackDepth())
			}
			err = enc.WriteToken(t)
		}
		if err == nil && key != "" && (SecretKey(key) || named.isSecret(in.StackDepth(), key)) {
			if err = in.SkipValue(); err == nil {
				err = enc.WriteToken(jsontext.String(Mark))
			}
		}
		if err != nil {
			return []byte(`"` + Mark + `"`) // what cannot be read may hold anything
		}
	}
}
