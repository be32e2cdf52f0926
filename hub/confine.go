package hub

import (
	"strings"

	"mcphub/children/hints"
	"mcphub/children/sandbox"
)

// This file is about the kernel, which holds a child to the boundary of its calls.

// kernelReport says how far the kernel holds a child. It is JSON; all are left out of a
// child that is not to be confined.
type kernelReport struct {
	Kernel string   `json:"kernel,omitempty"`        // held, partial or none
	Lacks  []string `json:"kernelLacks,omitempty"`   // what it does not hold, and why
	Closed []string `json:"kernelClosed,omitempty"`  // what a name opens no more, or never does, and why
	Gives  []string `json:"kernelProfile,omitempty"` // what is opened to it because its server is known
}

func reportKernel(r sandbox.Report) kernelReport {
	if r.Mode == sandbox.Off {
		return kernelReport{}
	}
	return kernelReport{Kernel: r.State.String(), Lacks: r.Lacks, Closed: r.Closed, Gives: r.Gives}
}

// kernelDetails say more of the same to who runs the hub.
type kernelDetails struct {
	Opens       *openReport `json:"opens,omitempty"`             // what the child may open, beside what every program needs
	Refused     int         `json:"kernelRefused,omitempty"`     // how often the kernel is known to have refused this run something
	LastRefused string      `json:"kernelRefusedLast,omitempty"` // what that was last, where it was named
	Mend        *MendReport `json:"kernelMend,omitempty"`        // what a person can do about that
}

// MendReport is what a person can do about a refusal by the kernel.
type MendReport struct {
	Named string   `json:"named,omitempty"` // who names the path
	Text  string   `json:"text"`            // what to do, or why nothing can be done
	Run   []string `json:"run,omitempty"`   // arguments of mcphub that open it
}

// Told is the mend in words.
func (m *MendReport) Told() string {
	switch {
	case m == nil:
		return ""
	case m.Named == "":
		return m.Text
	}
	return m.Named + "; " + m.Text
}

func reportMend(server string, f sandbox.Refusal, dirs []string) *MendReport {
	m := MendReport(hints.MendOf(server, f, dirs))
	return &m
}

type openReport struct {
	Read    []string `json:"read"`
	Write   []string `json:"write"` // which it may read as well
	Network string   `json:"network"`
	Sockets string   `json:"sockets"`
	All     bool     `json:"all,omitempty"` // files are not confined
}

// Text is what may be opened in a line.
func (o *openReport) Text() string {
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

func detailKernel(server string, r sandbox.Report, dirs []string) kernelDetails {
	d := kernelDetails{Refused: r.Refused, LastRefused: r.Last.Text()}
	if r.Refused > 0 {
		d.Mend = reportMend(server, r.Last, dirs)
	}
	if r.Profile == nil {
		return d
	}
	o := &openReport{Read: []string{}, Write: []string{}, Network: r.Profile.Network.String(), Sockets: "off", All: r.Profile.Unbounded}
	if r.Profile.Sockets {
		o.Sockets = "on"
	}
	for _, rule := range r.Profile.Beside() {
		if rule.Access&sandbox.Write != 0 {
			o.Write = append(o.Write, rule.Path)
		} else {
			o.Read = append(o.Read, rule.Path)
		}
	}
	d.Opens = o
	return d
}
