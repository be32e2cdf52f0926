package jsonrpc

import "slices"

// An Edit replaces Old, a part of the bytes being edited, by With.
type Edit struct{ Old, With []byte }

// Splice returns raw with the edits made, as parts that alias raw: nothing is
// copied. The old values must be parts of raw and must not overlap. An edit
// whose Old is nil is left out.
func Splice(raw []byte, edits ...Edit) [][]byte {
	return AppendSplice(make([][]byte, 0, 2*len(edits)+1), raw, slices.Clone(edits))
}

// AppendSplice works like Splice, but appends to parts. It puts the edits in order.
func AppendSplice(parts [][]byte, raw []byte, edits []Edit) [][]byte {
	at := func(e Edit) int { return offsetOf(raw, e.Old) }
	slices.SortFunc(edits, func(a, b Edit) int { return at(a) - at(b) })
	from := 0
	for _, e := range edits {
		if e.Old != nil {
			parts = append(parts, raw[from:at(e)], e.With)
			from = at(e) + len(e.Old)
		}
	}
	return append(parts, raw[from:])
}

// Join returns the parts as one piece.
func Join(parts [][]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return AppendAll(make([]byte, 0, n), parts)
}

// AppendAll appends the parts to b.
func AppendAll(b []byte, parts [][]byte) []byte {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}
