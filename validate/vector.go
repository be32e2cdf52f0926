package validate

import "strings"

// vector judges one element of args, argv or flags, or such an argument given as one string.
func (d *detector) vector(id int32, s string, p place) {
	if d.c.isCommand(s) && d.leadsVector(id, p) {
		return
	}
	if s = d.element(id, s, p); s == "" {
		return
	}
	d.broad(id, s, p, false)
	if s = d.whole(id, s, false); s == "" {
		return
	}
	d.vectorNames(id, s, p)
	switch {
	case hasBlank(s):
		d.shell(id, s, p)
	case strings.ContainsAny(s, pieceEnds):
		eachPiece(s, func(w string) { d.word(id, w, seatPlain, p, HowShell) })
	}
}

// elementAfter is what the element before one in an array makes of it.
type elementAfter uint8

const (
	afterOther     elementAfter = iota
	afterCode                   // a program: -c, -e
	afterVolume                 // HOST:CONTAINER
	afterWorkdir                // a directory of a container
	afterSeparator              // a character
)

// element takes from an element of a command line what belongs to a container, or is a character: "" where all of it is.
func (d *detector) element(id int32, s string, p place) string {
	if d.isSeparator(id, s, p) || d.isOthers(id, s, p) {
		d.uris(id, s, p, false)
		return ""
	}
	switch p.after {
	case afterVolume:
		if host, target, ok := strings.Cut(s, ":"); ok && host != "" && strings.HasPrefix(target, "/") && d.inBox(id, p) {
			return host
		}
	case afterWorkdir:
		if s != "" && s[0] == '/' && d.inBox(id, p) {
			return ""
		}
	}
	return s
}

// isSeparator reports a slash that is a character to cut or awk. Where nothing says what the program is, -F and -d are
// theirs, unless the tool unpacks something.
func (d *detector) isSeparator(id int32, s string, p place) bool {
	if s != "/" && s != "-F/" && s != "-d/" && (len(s) > 6 || !strings.HasSuffix(s, "/") || !strings.HasPrefix(s, "-")) {
		return false
	}
	name, before := d.program(id, p), ""
	for c := d.t.nodes[d.t.nodes[id].parent].first; c > 0 && c != id; c = d.t.nodes[c].next {
		if before = ""; d.t.nodes[c].kind == kString && d.t.nodes[c].end-d.t.nodes[c].off <= 32 {
			before = d.t.str(c)
		}
	}
	if name != "" {
		return isSeparatorOf(name, before, s)
	}
	for _, w := range d.t.room.split(d.tool.name) {
		if unpackWords[string(w)] {
			return false
		}
	}
	return s == "-F/" || s == "-d/" || s == "/" && p.after == afterSeparator
}

var unpackWords = wordSet("unzip extract unpack decompress expand install copy archive")

// program is the name of the program that an element of a vector belongs to, "" where nothing says.
func (d *detector) program(id int32, p place) string {
	n := &d.t.nodes[id]
	if n.kend != 0 || d.t.nodes[n.parent].kind != kArray || p.key < 0 {
		return ""
	}
	short := func(c int32) string {
		if c <= 0 || d.t.nodes[c].kind != kString || d.t.nodes[c].end-d.t.nodes[c].off > 64 {
			return ""
		}
		return baseName(d.t.str(c))
	}
	for c, i := d.t.nodes[d.t.nodes[p.key].parent].first, 0; c > 0 && i < 32; c, i = d.t.nodes[c].next, i+1 {
		if c != p.key && programWords[lastWord(d.t, c)] && short(c) != "" {
			return short(c)
		}
	}
	if first := short(d.t.nodes[n.parent].first); first != "" && first[0] != '-' && d.t.nodes[n.parent].first != id {
		return first
	}
	return ""
}

// inBox reports an element of a command line that runs a container: the program stands first, or beside the array.
func (d *detector) inBox(id int32, p place) bool {
	array := d.t.nodes[id].parent
	runs := false
	for c, n := d.t.nodes[array].first, 0; c > 0 && n < 4; c, n = d.t.nodes[c].next, n+1 {
		if d.t.nodes[c].kind != kString || d.t.nodes[c].end-d.t.nodes[c].off > 64 {
			continue
		}
		switch s := d.t.str(c); {
		case n == 0 && boxes[baseName(s)]:
			return true
		case s == "run" || s == "exec" || s == "create":
			runs = true
		}
	}
	if !runs || p.key < 0 {
		return false
	}
	for c, n := d.t.nodes[d.t.nodes[p.key].parent].first, 0; c > 0 && n < 32; c, n = d.t.nodes[c].next, n+1 {
		if c != p.key && d.t.nodes[c].kind == kString && programWords[lastWord(d.t, c)] {
			return d.t.nodes[c].end-d.t.nodes[c].off <= 64 && boxes[baseName(d.t.str(c))]
		}
	}
	return false
}

// after reads the element before one.
func (d *detector) after(id int32) elementAfter {
	if id < 0 || d.t.nodes[id].kind != kString || d.t.nodes[id].end-d.t.nodes[id].off > 16 {
		return afterOther
	}
	switch s := d.t.str(id); s {
	case "-v", "--volume":
		return afterVolume
	case "-w", "--workdir":
		return afterWorkdir
	case "-F", "-d":
		return afterSeparator
	}
	if d.saysCode(id) {
		return afterCode
	}
	return afterOther
}

// saysCode reports an element of an array that makes the next one a program: ["bash", "-c", "..."].
func (d *detector) saysCode(id int32) bool {
	if id < 0 || d.t.nodes[id].kind != kString || d.t.nodes[id].end-d.t.nodes[id].off > 16 {
		return false
	}
	return codeFlags[d.t.str(id)]
}

// vectorNames keeps the names without a slash that an element of an argument vector may mean: itself, the value of a
// long option and that of a short one.
func (d *detector) vectorNames(id int32, s string, p place) {
	v := trimEdges(s)
	if len(v) > maxRaw || hasBlank(v) {
		return
	}
	d.name(id, v, p, false)
	if i := strings.LastIndexAny(v, "=@:"); i >= 0 {
		d.name(id, v[i+1:], p, false)
	}
	if len(v) > 2 && v[0] == '-' && v[1] != '-' {
		d.name(id, v[2:], p, false)
	}
}

// deletes reports an element of a vector whose program takes away what it is given: it stands first, or beside the array.
func (d *detector) deletes(id int32, p place) bool {
	array := d.t.nodes[id].parent
	if d.t.nodes[id].kend != 0 || d.t.nodes[array].kind != kArray || p.key < 0 {
		return false
	}
	if d.vector0 == array {
		return d.vectorDeletes
	}
	taker := func(c int32) bool {
		return c > 0 && d.t.nodes[c].kind == kString && d.t.nodes[c].end-d.t.nodes[c].off <= 64 && deleteCommands[baseName(d.t.str(c))]
	}
	d.vector0, d.vectorDeletes = array, taker(d.t.nodes[array].first)
	for c, n := d.t.nodes[d.t.nodes[p.key].parent].first, 0; c > 0 && n < 32; c, n = d.t.nodes[c].next, n+1 {
		d.vectorDeletes = d.vectorDeletes || c != p.key && programWords[lastWord(d.t, c)] && taker(c)
	}
	return d.vectorDeletes
}
