package status

import (
	"slices"
	"strings"

	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
)

// Confinement describes how far the kernel holds a child. It is JSON; all are left out
// of a child that is not to be confined.
type Confinement struct {
	Kernel string   `json:"kernel,omitempty"`        // held, partial or none
	Lacks  []string `json:"kernelLacks,omitempty"`   // what it does not hold, and why
	Closed []string `json:"kernelClosed,omitempty"`  // what a name opens no more, or never does, and why
	Gives  []string `json:"kernelProfile,omitempty"` // what is opened to it because its server is known, or a person has confirmed it
}

// ConfinementOf reports how far the kernel holds a child.
func ConfinementOf(r sandbox.Report) Confinement {
	if r.Mode == sandbox.Off {
		return Confinement{}
	}
	gives, closed := slices.Clip(r.Gives), slices.Clip(r.Closed)
	for _, n := range r.Recorded {
		if text := n.Key + " " + n.Path + " (recorded)"; n.Why == "" {
			gives = append(gives, text)
		} else {
			closed = append(closed, text+": "+n.Why)
		}
	}
	return Confinement{Kernel: r.State.String(), Lacks: r.Lacks, Closed: closed, Gives: gives}
}

// Ahead is what the kernel is to hold a child to once it starts, by its entry.
type Ahead struct {
	Holds bool   `json:"holds"`
	Text  string `json:"text"` // to what, or why nothing holds it
}

// AheadOf tells it by the entry.
func AheadOf(s *spec.Spec) Ahead {
	switch by := &s.Sandbox; {
	case s.URL != "":
		return Ahead{Text: "it runs elsewhere, where this machine holds nothing"}
	case by.Mode == sandbox.Off:
		return Ahead{Text: `hub.json says "sandbox": "off"`}
	case !by.Confines():
		return Ahead{Text: by.Cannot}
	default:
		text := "it opens the roots of its clients, what its entry names, and what every program needs"
		if len(by.Write) > 0 {
			text += "; it may also write " + strings.Join(by.Write, " ")
		}
		if len(by.Read) > 0 {
			text += "; it may also read " + strings.Join(by.Read, " ")
		}
		return Ahead{true, text}
	}
}

// ConfinementDetails say more of the same to who runs the hub.
type ConfinementDetails struct {
	Opens       *Open  `json:"opens,omitempty"`             // what the child may open, beside what every program needs
	Refused     int    `json:"kernelRefused,omitempty"`     // how often the kernel is known to have refused this run something
	LastRefused string `json:"kernelRefusedLast,omitempty"` // what that was last, where it was named
	Mend        *Mend  `json:"kernelMend,omitempty"`        // what a person can do about that
}

// A Mend is what a person can do about a refusal by the kernel.
type Mend = hints.Remedy

// Open is what a confined child may open.
type Open struct {
	Read    []string `json:"read"`
	Write   []string `json:"write"` // which it may read as well
	Network string   `json:"network"`
	Sockets string   `json:"sockets"`
	All     bool     `json:"all,omitempty"` // files are not confined
}

// Text returns what may be opened in a line.
func (o *Open) Text() string {
	if o == nil {
		return ""
	}
	text := "files are not confined"
	if !o.All {
		list := func(paths []string) string {
			if len(paths) == 0 {
				return "nothing"
			}
			return strings.Join(paths, " ")
		}
		text = "reads and writes " + list(o.Write) + "; reads " + list(o.Read) + "; and what every program needs (docs/sandbox.md)"
	}
	return text + "; network " + o.Network + ", unix sockets " + o.Sockets
}

// ConfinementDetailsOf reports more of it. dirs are the roots that the child was served, base the rules of every program.
func ConfinementDetailsOf(server string, r sandbox.Report, dirs []string, base func() []sandbox.Rule) ConfinementDetails {
	d := ConfinementDetails{Refused: r.Refused, LastRefused: r.Last.Text()}
	if r.Refused > 0 {
		d.Mend = new(hints.RemedyFor(server, r.Last, dirs))
	}
	if r.Profile == nil {
		return d
	}
	o := &Open{Read: []string{}, Write: []string{}, Network: r.Profile.Network.String(), Sockets: "off", All: r.Profile.Unbounded}
	if r.Profile.Sockets {
		o.Sockets = "on"
	}
	for _, rule := range r.Profile.RulesBeyond(base()) {
		if rule.Access&sandbox.Write != 0 {
			o.Write = append(o.Write, rule.Path)
		} else {
			o.Read = append(o.Read, rule.Path)
		}
	}
	d.Opens = o
	return d
}
