package detect

import (
	"bytes"
	"slices"
	"strings"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
)

// This file keeps bare names, which look like no paths, if something that is protected or in a rule is called so.

// Names are names of files and directories, without a slash.
type Names struct {
	set     map[string]bool
	list    [][]byte // the same
	lengths uint64   // a bit for each length, the last for all longer ones
	inexact bool     // names that differ in letter case are the same
}

// NamesOf returns the set of some names, as a file system spells them alike.
func NamesOf(list []string, fold func(string) string) (n Names) {
	n.set = make(map[string]bool)
	for _, name := range list {
		n.inexact = fold("A") != "A"
		n.set[fold(name)] = true
		n.list = append(n.list, []byte(fold(name)))
		n.lengths |= 1 << min(len(name), 63)
	}
	if n.inexact { // a name may fold to one of another length
		n.lengths = ^uint64(0)
	}
	return n
}

// mayHave reports whether raw bytes may be one of the names. A false is certain.
func (n *Names) mayHave(raw []byte) bool {
	return n.lengths&(1<<min(len(raw), 63)) != 0 && (n.inexact || n.set[string(raw)])
}

// nameSigns are the signs that a name may stand behind, inside a text.
var nameSigns = chars.ByteSet("'`\"\\,;|#?+([{<@")

// isIn reports whether raw bytes may be one of the names, or hold one behind a sign. A false is certain.
func (n *Names) isIn(raw []byte) bool {
	if len(raw) == 0 || len(raw) > MaxValue || n.mayHave(raw) {
		return len(raw) > 0 && len(raw) <= MaxValue
	}
	signs := raw[0] == ' ' || raw[len(raw)-1] == ' '
	for _, c := range raw {
		signs = signs || nameSigns[c]
	}
	return signs && (n.inexact || n.occurs(raw))
}

// occurs reports whether some name stands anywhere in raw bytes, which are spelled as the names are.
func (n *Names) occurs(raw []byte) bool {
	return slices.ContainsFunc(n.list, func(name []byte) bool { return bytes.Contains(raw, name) })
}

// occursIn is occurs for a text.
func (n *Names) occursIn(text string) bool {
	for name := range n.set {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// Guards reports whether something that is protected, or the directory of a rule, is called so.
func (s *Searcher) Guards(name string) bool {
	return s.Guarded.lengths&(1<<min(len(name), 63)) != 0 && s.Guarded.set[s.Machine.Fold(name)]
}

// maxGuarded is the length of a longest name, with what may be trimmed off it.
const maxGuarded = 512

// keepGuarded keeps a text that is such a name.
func (d *detector) keepGuarded(id int32, text string, p slot, member bool) {
	if len(text) > maxGuarded {
		return
	}
	if text = strings.TrimFunc(text, isPartEdge); d.s.Guards(text) {
		d.keepName(id, text, p, member)
	}
}

// gluedName keeps such a name behind the letters of short options: -cf.env, cf.env.
func (d *detector) gluedName(id int32, w string, p slot) {
	for i := 1; i < min(len(w), 6); i++ {
		if d.s.Guards(w[i:]) && (w[0] == '-' && w[1] != '-' || gluedLetters.MatchString(w[:i])) {
			d.keepName(id, w[i:], p, false)
		}
	}
}

// forgivenName keeps a word that the table of programs takes for a name, if a link of this name leads out. Rules are not asked about it.
func (d *detector) forgivenName(id int32, text string, p slot) {
	if len(text) <= maxGuarded && d.work.Spend(budget.WordSteps) {
		d.addFinding(Finding{Value: text, How: HowLink, Form: FormName, Text: true, Node: id}, p)
	}
}

// guardedText keeps what is protected among the readings of a text that is no path. Rules are not asked about it.
func (d *detector) guardedText(id int32, text string, p slot) {
	if len(text) > chars.MaxPath || !d.s.Guarded.occursIn(d.m.Fold(text)) {
		return
	}
	keep := func(text string) {
		if !d.work.Spend(1 + len(text)/budget.ByteSteps) {
			return
		}
		text = strings.TrimFunc(text, isPartEdge)
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '\\' }) {
			if d.s.Guards(part) {
				d.addFinding(Finding{Value: text, How: HowLink, Form: FormName, Text: true, Node: id}, p)
				return
			}
		}
	}
	if keep(text); !chars.HasBlank(text) {
		shell.EachReading(text, func(text string, _ byte) { keep(text) })
	}
}
