package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// A ValuePath is the way to a value of a JSON file: from the top, names of members and numbers
// of elements.
type ValuePath []any

// errPlace means that a file is not laid out as a ValuePath has it.
var errPlace = errors.New("it is written in a way in which it cannot be changed alone; change it by hand")

// Insert puts a value at a ValuePath. A member that is there is replaced. An element goes before
// the one that has its number, or behind the last one. What is missing on the way is made.
func Insert(data []byte, at ValuePath, v any) ([]byte, error) {
	return editAt(data, at, func(body []byte, box items, style jsonText, rest ValuePath) ([]Splice, error) {
		if i := box.indexOf(rest[0]); box.list && i >= 0 {
			return style.putBefore(body, box, i, v), nil
		}
		return style.putValue(body, box, rest, v), nil
	}, func(in any, step any) (any, error) {
		switch step := step.(type) {
		case string:
			t, ok := in.(Table)
			if !ok && in != nil {
				return nil, errPlace
			}
			return t.With(step, v), nil
		case int:
			list, ok := in.([]any)
			if !ok && in != nil {
				return nil, errPlace
			}
			return slices.Insert(slices.Clone(list), min(step, len(list)), v), nil
		}
		return nil, errPlace
	})
}

// putValue puts a value at the end of the way to a ValuePath, instead of what is there.
func (s jsonText) putValue(data []byte, box items, rest ValuePath, v any) []Splice {
	v, i := wrapValue(rest[1:], v), box.indexOf(rest[0])
	if i < 0 {
		name, _ := rest[0].(string)
		return s.addMember(data, box, name, v)
	}
	have := box.spans[i]
	s.flat = s.flat || !bytes.ContainsRune(data[box.open:box.shut], '\n')
	from := have.value.StartOffset
	return []Splice{{Off: from, Old: string(data[from:have.end]), New: s.writeValue(v, s.indentAt(data, have.start))}}
}

// Cut takes out what is at a ValuePath. What held nothing else goes too, but for the first keep
// steps of the ValuePath, and for what has a comment in it.
func Cut(data []byte, at ValuePath, keep int) ([]byte, error) {
	out, err := editAt(data, at, func(body []byte, box items, _ jsonText, rest ValuePath) ([]Splice, error) {
		i := box.indexOf(rest[0])
		if len(rest) > 1 || i < 0 {
			return nil, errPlace
		}
		return cutMember(body, box, i), nil
	}, func(in any, step any) (any, error) {
		switch step := step.(type) {
		case string:
			if t, ok := in.(Table); ok {
				return t.Without(step), nil
			}
		case int:
			if list, ok := in.([]any); ok && step < len(list) {
				return slices.Delete(slices.Clone(list), step, step+1), nil
			}
		}
		return nil, errPlace
	})
	if err != nil || len(at)-1 <= keep {
		return out, err
	}
	if box, ok := boxAt(out, at[:len(at)-1]); !ok || len(box.spans) > 0 || len(bytes.TrimSpace(bytes.TrimPrefix(out, bom)[box.open+1:box.shut])) > 0 {
		return out, nil
	}
	return Cut(out, at[:len(at)-1], keep)
}

// boxAt returns the object or list at a ValuePath.
func boxAt(data []byte, at ValuePath) (box items, ok bool) {
	root, err := parseJSON(bytes.TrimPrefix(data, bom))
	if err != nil {
		return box, false
	}
	box, ok = itemsOf(root)
	for _, step := range at {
		i := -1
		if ok {
			i = box.indexOf(step)
		}
		if i < 0 {
			return box, false
		}
		box, ok = itemsOf(box.spans[i].value)
	}
	return box, ok
}

// indexOf returns the index of the member or element that a step of a ValuePath names; -1 for none.
func (in *items) indexOf(step any) int {
	switch step := step.(type) {
	case string:
		if !in.list {
			return slices.IndexFunc(in.spans, func(s span) bool { return s.name == step })
		}
	case int:
		if in.list && step < len(in.spans) {
			return step
		}
	}
	return -1
}

// editAt edits a text at the end of the way to a ValuePath, and holds that the values are then what
// change makes of them.
func editAt(data []byte, at ValuePath, splices func(body []byte, box items, style jsonText, rest ValuePath) ([]Splice, error), change func(in, step any) (any, error)) ([]byte, error) {
	whole, err := Decode(JSON, data)
	if err != nil {
		return nil, err
	}
	want, err := changedAt(whole, at, change)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimPrefix(data, bom)
	head := len(data) - len(body)
	root, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	box, rest, err := walkTo(root, at)
	if err != nil {
		return nil, err
	}
	if len(rest) > 1 && box.indexOf(rest[0]) >= 0 { // null stands on the way
		return nil, errPlace
	}
	all, err := splices(body, box, jsonStyle(body), rest)
	if err != nil {
		return nil, err
	}
	out := append(data[:head:head], applySplices(body, all)...)
	if got, err := Decode(JSON, out); err != nil || !Equal(got, want) {
		return nil, errPlace
	}
	return out, nil
}

// walkTo goes from the top as far on the way to a ValuePath as there is one. rest is what is left
// of the ValuePath in the box in which it ends, one step at least.
func walkTo(root hujson.Value, at ValuePath) (box items, rest ValuePath, err error) {
	box, ok := itemsOf(root)
	for rest = at; ok; rest = rest[1:] {
		if name, is := rest[0].(string); is && twiceIn(box, name) {
			return box, rest, fmt.Errorf("%q stands twice in the file; remove one of them", name)
		}
		i := box.indexOf(rest[0])
		if i < 0 || len(rest) == 1 {
			break
		}
		if l, literal := box.spans[i].value.Value.(hujson.Literal); literal && l.Kind() == 'n' { // as good as none
			break
		}
		box, ok = itemsOf(box.spans[i].value)
	}
	if _, element := rest[0].(int); !ok || element != box.list { // something else stands on the way
		return box, rest, errPlace
	}
	return box, rest, nil
}

func twiceIn(box items, name string) bool {
	n := 0
	for _, s := range box.spans {
		if !box.list && s.name == name {
			n++
		}
	}
	return n > 1
}

// changedAt returns a value in which the last step of a ValuePath was changed.
func changedAt(v any, at ValuePath, change func(in, step any) (any, error)) (any, error) {
	if len(at) == 1 {
		return change(v, at[0])
	}
	switch step := at[0].(type) {
	case string:
		t, ok := v.(Table)
		if !ok && v != nil {
			return nil, errPlace
		}
		in, err := changedAt(t.Get(step), at[1:], change)
		return t.With(step, in), err
	case int:
		list, ok := v.([]any)
		if !ok || step >= len(list) {
			return nil, errPlace
		}
		in, err := changedAt(list[step], at[1:], change)
		list = slices.Clone(list)
		list[step] = in
		return list, err
	}
	return nil, errPlace
}

// wrapValue returns a value in the tables and lists that lead to it.
func wrapValue(at ValuePath, v any) any {
	for _, step := range slices.Backward(at) {
		if name, ok := step.(string); ok {
			v = Table{{name, v}}
		} else {
			v = []any{v}
		}
	}
	return v
}

// putBefore puts an element before another one.
func (s jsonText) putBefore(data []byte, box items, i int, v any) []Splice {
	next := box.spans[i].start
	indent := s.indentAt(data, next)
	if s.flat || !beginsLine(data, next) {
		s.flat = true
		return []Splice{{Off: next, New: s.writeValue(v, "") + ", "}}
	}
	// A comment above the next one is about that. One behind the last on its line is about it.
	off := box.open + 1
	if i > 0 {
		off = commaAfter(data, box.spans[i-1].end) + 1
	}
	off = remarkEnd(data, off)
	return []Splice{{Off: off, New: s.nl + indent + s.writeValue(v, indent) + ","}}
}
