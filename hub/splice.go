package hub

import "slices"

// An edit replaces old, a part of the bytes being edited, by with.
type edit struct{ old, with []byte }

// splice returns raw with the edits made, as parts that alias raw: nothing is
// copied. The old values must be parts of raw and must not overlap; an edit
// whose old is nil is left out.
func splice(raw []byte, edits ...edit) [][]byte {
	return appendSplice(make([][]byte, 0, 2*len(edits)+1), raw, slices.Clone(edits))
}

// appendSplice is splice that appends to parts, and puts the edits in order.
func appendSplice(parts [][]byte, raw []byte, edits []edit) [][]byte {
	at := func(e edit) int { return cap(raw) - cap(e.old) }
	slices.SortFunc(edits, func(a, b edit) int { return at(a) - at(b) })
	from := 0
	for _, e := range edits {
		if e.old != nil {
			parts = append(parts, raw[from:at(e)], e.with)
			from = at(e) + len(e.old)
		}
	}
	return append(parts, raw[from:])
}

func join(parts [][]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return appendAll(make([]byte, 0, n), parts)
}

func appendAll(b []byte, parts [][]byte) []byte {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}
