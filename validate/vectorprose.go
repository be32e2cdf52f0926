package validate

import (
	"regexp"
	"strings"
)

var (
	headerLine  = regexp.MustCompile(`^[A-Za-z][\w-]*: `)
	commitWords = wordSet("commit tag stash merge notes pr issue release")
	messageFlag = wordSet("-m -am --message --title --body --description --subject")
)

// isOthers reports an element of a command line that is no path of this machine: a message, a header, what grep looks
// for, a substitution of sed, a word of what runs in a container.
func (d *detector) isOthers(id int32, s string, p place) bool {
	if n := &d.t.nodes[id]; n.kend != 0 || d.t.nodes[n.parent].kind != kArray || len(s) > maxTail {
		return false
	}
	if isSubstitution(s) {
		return d.program(id, p) == "sed"
	}
	words, at := d.before(id)
	last := ""
	if at > 0 {
		last = words[at-1]
	}
	switch {
	case messageFlag[last]:
		name := d.program(id, p)
		return hasBlank(s) && s[0] != '-' && (messengers[name] || commitWords[name])
	case last == "-H" || last == "--header":
		return headerLine.MatchString(s)
	}
	name := d.program(id, p)
	switch {
	case searchers[name]:
		return isSearched(name, words, at)
	case boxed[name]:
		box := boxState{stage: boxCommand}
		inside := false
		for i := range at + 1 {
			if i == 0 && baseName(words[0]) == name {
				continue
			}
			last := ""
			if i > 0 {
				last = words[i-1]
			}
			inside = box.next(name, words[i], last)
		}
		return inside
	}
	return false
}

const maxWords = 64

// before lists the strings of an array up to some beyond one of them, which stands at at; there are none where it stands
// further back than anybody looks.
func (d *detector) before(id int32) (words []string, at int) {
	at = -1
	for c := d.t.nodes[d.t.nodes[id].parent].first; c > 0; c = d.t.nodes[c].next {
		if len(words) == maxWords {
			return nil, 0
		}
		if c == id {
			at = len(words)
		}
		w := ""
		if d.t.nodes[c].kind == kString && d.t.nodes[c].end-d.t.nodes[c].off <= maxTail {
			w = d.t.str(c)
		}
		words = append(words, w)
	}
	return words, at
}

// isSearched reports that the word at at is the pattern of a search, and no option names another.
func isSearched(name string, words []string, at int) bool {
	first := -1
	for i, w := range words {
		switch {
		case i == 0 && baseName(w) == name:
		case len(w) > 1 && w[0] == '-':
			if nameOptions.MatchString(w) {
				return false
			}
		case first < 0 && (i == 0 || !countFlags[words[i-1]]):
			first = i
		}
	}
	return first >= 0 && first == at
}

// isSubstitution reports s|x|y| of sed that neither reads nor writes.
func isSubstitution(s string) bool {
	if len(s) < 5 || s[0] != 's' || strings.IndexByte("|#,!:@", s[1]) < 0 {
		return false
	}
	parts := strings.Split(s[2:], s[1:2])
	return len(parts) == 3 && strings.Trim(parts[2], "gIiMmp0123456789") == ""
}
