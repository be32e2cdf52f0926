package tracing

import (
	"bytes"

	"mcphub/internal/jsonrpc"
)

// A Carrier is _meta of a request, as far as it carries a context.
type Carrier struct {
	Context        // that it carries
	meta    []byte // raw, an object; nil: there is none
	broken  bool   // it is there, and no object: nothing is put into it
	odd     bool   // it has something under these names that is not passed on
}

// ParseMeta reads _meta of a request, raw; nil if it has none.
func ParseMeta(meta []byte) Carrier {
	if !jsonrpc.IsObject(meta) {
		return Carrier{broken: meta != nil}
	}
	c := Carrier{meta: meta}
	if !bytes.Contains(meta, []byte(`"trace`)) && !bytes.Contains(meta, []byte(`"baggage`)) && bytes.IndexByte(meta, '\\') < 0 {
		return c // as mostly; a name may be spelled in escapes
	}
	var texts [3]string
	there, valid := 0, 0
	_ = jsonrpc.Members(meta, func(name string, value []byte) bool {
		if i := indexOf(name); i >= 0 {
			there++
			texts[i], _ = jsonrpc.String(value)
		}
		return true
	})
	c.Context = Checked(texts[0], texts[1], texts[2])
	for _, text := range []string{c.Parent, c.State, c.Baggage} {
		if text != "" {
			valid++
		}
	}
	c.odd = there != valid
	return c
}

func indexOf(name string) int {
	switch name {
	case Parent:
		return 0
	case State:
		return 1
	case Baggage:
		return 2
	}
	return -1
}

// Edit has the child get the context out, in params of which _meta is the Carrier's: old is the
// progress token there and token what it becomes, nil if it stays. An Edit whose Old is nil
// changes nothing.
func (c *Carrier) Edit(params, old, token []byte, out Context) jsonrpc.Edit {
	switch {
	case c.broken, !c.odd && out == c.Context:
		if token == nil {
			return jsonrpc.Edit{}
		}
		return jsonrpc.Edit{Old: old, With: token}
	case c.meta != nil:
		return jsonrpc.Edit{Old: c.meta, With: c.metaWith(token, out)}
	case len(params) < 2 || params[0] != '{': // nothing has a place in it
		return jsonrpc.Edit{}
	}
	b := append(c.metaWith(nil, out), ',')
	if rest := bytes.TrimLeft(params[1:], " \t\r\n"); rest[0] == '}' {
		b = b[:len(b)-1]
	}
	return jsonrpc.Edit{Old: params[1:1], With: append([]byte(`"_meta":`), b...)}
}

// Meta returns _meta as the child gets it, raw; nil for none. token is as in Edit.
func (c *Carrier) Meta(old, token []byte, out Context) []byte {
	switch edit := c.Edit([]byte(`{}`), old, token, out); {
	case c.meta == nil && edit.Old != nil:
		return bytes.TrimPrefix(edit.With, []byte(`"_meta":`))
	case edit.Old == nil:
		return c.meta
	default:
		return jsonrpc.Join(jsonrpc.Splice(c.meta, edit))
	}
}

// metaWith returns _meta with the context out and a progress token, if there is one.
func (c *Carrier) metaWith(token []byte, out Context) []byte {
	b := make([]byte, 0, len(c.meta)+len(out.Parent)+len(out.State)+len(out.Baggage)+len(token)+64)
	b = append(b, '{')
	_ = jsonrpc.Members(c.meta, func(name string, value []byte) bool {
		switch {
		case indexOf(name) >= 0:
			return true
		case name == "progressToken" && token != nil:
			value = token
		}
		b = jsonrpc.AppendMember(b, name, value)
		return true
	})
	b = appendText(b, Parent, out.Parent)
	b = appendText(b, State, out.State)
	b = appendText(b, Baggage, out.Baggage)
	return append(b, '}')
}

func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return jsonrpc.AppendMember(b, name, jsonrpc.AppendString(nil, text))
}

// Carry returns a request with what other has and its _meta does not, put into its _meta; m
// itself if that is nothing. The error is the error of jsonrpc.Split.
func Carry(m *jsonrpc.Message, other Context) (*jsonrpc.Message, error) {
	c := ParseMeta(m.Param("_meta"))
	out := c.Context.Or(other)
	if out == c.Context || m.Method == "" || m.Params == nil {
		return m, nil
	}
	edit := c.Edit(m.Params, nil, nil, out)
	if edit.Old == nil {
		return m, nil
	}
	whole := &jsonrpc.Message{}
	err := jsonrpc.Split(jsonrpc.Join(jsonrpc.Splice(m.Frame, edit)), true, whole)
	return whole, err
}
