package gitconfig

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/redact"
)

// MaxSize bounds a file that is judged, in bytes.
const MaxSize = 1 << 20

// keyWords are in the names of variables that hold a credential, or name a file of them.
var keyWords = []string{"token", "passw", "passphrase", "secret", "apikey", "api-key", "accesskey", "access-key", "privatekey", "extraheader", "cookie", "pwd", "authorization", "bearer"}

// harmlessKeys have one of the words, and hold none.
var harmlessKeys = []string{"sslcertpasswordprotected", "proxysslcertpasswordprotected"}

// truths are values of variables that are true or false.
var truths = []string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}

var (
	userInfo = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*)://([^/\s@]*)@`)
	commands = lazyregexp.New(`(?i)sshpass|authorization|token\s*:|(?:^|\s)['"]?(?:--(?:proxy-)?user[\s=]*|-[a-z]*u\s*)['"]?[^\s:/]+:[^\s/]|curl\b.*\s(?:-b|--cookie)[\s=]*\S*=|mysql\S*\s(?:.*\s)?-p[^\s=-]`)
)

// WhySecret returns which line of a file holds a credential, or why that cannot be told; "" if none does.
func WhySecret(text []byte) string {
	lines, comments, err := Parse(text)
	if err != nil {
		return fmt.Sprintf("it cannot be told whether it holds a credential: %v", err)
	}
	for _, l := range lines {
		if l.HoldsCredential() {
			return fmt.Sprintf("line %d holds a credential (%s)", l.Number, l.Name())
		}
	}
	for _, c := range comments {
		if c.HoldsSecret() {
			return fmt.Sprintf("line %d looks like a credential", c.Number)
		}
	}
	return ""
}

// HoldsCredential reports whether a line holds a credential, or names a file of them. What is only a name of a user at ssh is none.
func (l Line) HoldsCredential() bool {
	if Secret(l.Sub) {
		return true
	}
	if !l.Has || slices.Contains(truths, strings.ToLower(l.Value)) {
		return false
	}
	switch {
	case slices.Contains(harmlessKeys, l.Key):
	case slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(l.Key, word) }):
		return true
	case l.Key == "oauth", strings.HasSuffix(l.Key, "pass") && l.Key != "askpass":
		return true
	case l.Key == "pat", strings.HasSuffix(l.Key, "-pat"): // a personal access token
		return true
	case strings.HasSuffix(l.Key, "proxy") && strings.Contains(l.Value, "@"):
		return true
	}
	return Secret(l.Value)
}

// Secret reports whether a text looks like one with a credential in it.
func Secret(text string) bool {
	for _, found := range userInfo.FindAllStringSubmatch(text, -1) {
		scheme, user := strings.ToLower(found[1]), found[2]
		if strings.Contains(user, ":") || user != "" && !strings.Contains(scheme, "ssh") {
			return true
		}
	}
	return redact.Text(text) != text || commands.MatchString(text)
}

// HoldsSecret reports whether a comment holds a credential: a line that was switched off, most often.
func (c Comment) HoldsSecret() bool {
	if Secret(c.Text) {
		return true
	}
	for line := range strings.SplitSeq(c.Text, ";") {
		name, value, found := strings.Cut(line, "=")
		if words := strings.Fields(name); found && len(words) == 1 && (Line{Key: strings.ToLower(words[0]), Value: strings.TrimSpace(value), Has: true}).HoldsCredential() {
			return true
		}
	}
	return false
}
