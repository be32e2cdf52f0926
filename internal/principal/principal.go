package principal

import (
	"errors"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Principal is whom a session belongs to. The zero value is no one.
type Principal struct {
	Name   string   // of the configured token, or what a token of Issuer says; "" of no one and of the local user
	Issuer string   // that vouches for Name, as it calls itself; "" where hub.json does
	Groups []string // in order, each once
	Local  bool     // the user of this machine, whom stdio serves, or who came with the token that the hub made
}

// ErrScope is why a token is not enough that is right otherwise.
var ErrScope = errors.New("the token lacks a scope")

// ErrUnreachable is why a token can be judged neither right nor wrong.
var ErrUnreachable = errors.New("the issuer of the token cannot be asked for its keys")

// Words for whom no token names. No configured token may be called so.
const (
	Local  = "local"  // the user of this machine
	Nobody = "nobody" // a caller at an address that asks for no token
)

// CheckName returns what is wrong with the name of someone, or of a group; "" if nothing is. Names are shown to
// people, who must see whose they are: none acts on a terminal, or has others read in another direction.
func CheckName(name string) string {
	for _, r := range name {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == utf8.RuneError {
			return "must not hold control characters, line breaks, or characters that change the direction of text"
		}
	}
	return ""
}

// Account returns the name of the account that this process runs as, which the user of this machine has.
var Account = sync.OnceValue(func() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return Local
})

// User returns the user of this machine.
func User() Principal { return Principal{Local: true} }

// Parse returns the principal that is shown as text, without groups: NAME, or NAME@ISSUER for one of issuers,
// which are URLs. Where several fit, the longest does.
func Parse(text string, issuers []string) Principal {
	p := Principal{Name: text}
	switch text {
	case Local:
		return User()
	case Nobody, "":
		return Principal{}
	}
	for _, issuer := range issuers {
		name, ok := strings.CutSuffix(text, IssuerSuffix(issuer))
		if ok && name != "" && len(issuer) > len(p.Issuer) {
			p = Principal{Name: name, Issuer: issuer}
		}
	}
	return p
}

// IssuerSuffix returns what follows the name of those for whom an issuer vouches: two issuers may know two
// people by one name.
func IssuerSuffix(issuer string) string { return "@" + strings.TrimPrefix(issuer, "https://") }

// Known reports whether it is known who it is.
func (p Principal) Known() bool { return p.Local || p.Name != "" }

// Key tells principals apart, groups aside: NAME, or NAME@ISSUER. It is "" for the local user and for no one.
func (p Principal) Key() string {
	if p.Issuer == "" {
		return p.Name
	}
	return p.Name + IssuerSuffix(p.Issuer)
}

// RightsKey tells apart those for whom different rules may be: principals that have it in common are the same in all that rules look
// at, groups included, and the local user is not no one. It is for comparing alone.
func (p Principal) RightsKey() string {
	b := strconv.AppendBool(nil, p.Local)
	for _, part := range append([]string{p.Name, p.Issuer}, p.Groups...) {
		b = strconv.AppendQuote(append(b, ' '), part)
	}
	return string(b)
}

// String returns how the record, status, logs and questions name the principal, and what rules compare.
func (p Principal) String() string {
	switch {
	case p.Local:
		return Local
	case p.Name == "":
		return Nobody
	}
	return p.Key()
}
