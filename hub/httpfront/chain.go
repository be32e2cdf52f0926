package httpfront

// A chain is a list whose links stand in what it holds, the oldest first: what comes and
// goes all the time takes no memory. The one who has the chain guards the links too.
type chain[T any] struct{ first, last *link[T] }

// A link is the place of something in a chain. The zero value is in none.
type link[T any] struct {
	value         *T // nil: it is in no chain
	before, after *link[T]
}

func (c *chain[T]) addLink(l *link[T], of *T) {
	*l = link[T]{value: of, before: c.last}
	if c.last == nil {
		c.first = l
	} else {
		c.last.after = l
	}
	c.last = l
}

// removeLink does nothing with a link that is in no chain.
func (c *chain[T]) removeLink(l *link[T]) {
	if l.value == nil {
		return
	}
	if l.before == nil {
		c.first = l.after
	} else {
		l.before.after = l.after
	}
	if l.after == nil {
		c.last = l.before
	} else {
		l.after.before = l.before
	}
	*l = link[T]{}
}
