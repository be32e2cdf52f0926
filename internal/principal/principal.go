package principal

import "strings"

// A Principal is whom a session belongs to. The zero value is nobody.
type Principal struct {
	Name   string   // of the configured token, or what a token of Issuer says; "" of nobody and of the local user
	Issuer string   // that vouches for Name, as it calls itself; "" where hub.json does
	Groups []string // in order, each once
	Local  bool     // the user of this machine, whom stdio serves, or who came with the token that the hub made
}

// Words for whom no token names. A configured token may be called so as well, which validate
// tells.
const (
	Local  = "local"  // the user of this machine
	Nobody = "nobody" // whoever has reached an address that asks for no token
)

// User is the user of this machine.
func User() Principal { return Principal{Local: true} }

// Of returns the principal that is shown as text, without groups: NAME, or NAME@ISSUER for one of issuers,
// which are URLs. Where several fit, the longest does.
func Of(text string, issuers []string) Principal {
	p := Principal{Name: text}
	switch text {
	case Local:
		return User()
	case Nobody, "":
		return Principal{}
	}
	for _, issuer := range issuers {
		name, ok := strings.CutSuffix(text, At(issuer))
		if ok && name != "" && len(issuer) > len(p.Issuer) {
			p = Principal{Name: name, Issuer: issuer}
		}
	}
	return p
}

// At is what follows the name of those for whom an issuer vouches: two issuers may know two people by
// one name.
func At(issuer string) string { return "@" + strings.TrimPrefix(issuer, "https://") }

// Known reports whether it is known who it is.
func (p Principal) Known() bool { return p.Local || p.Name != "" }

// Key tells principals apart, groups aside: NAME, or NAME@ISSUER. It is "" for the local user and for nobody.
func (p Principal) Key() string {
	if p.Issuer == "" {
		return p.Name
	}
	return p.Name + At(p.Issuer)
}

// String is how the record, status, logs and questions name the principal, and what rules compare.
func (p Principal) String() string {
	switch {
	case p.Local:
		return Local
	case p.Name == "":
		return Nobody
	}
	return p.Key()
}
