package httpfront

// A chain is a list whose nodes stand in what it holds, the oldest first: what comes and
// goes all the time takes no memory. The one who has the chain guards the nodes too.
type chain[T any] struct{ first, last *chainNode[T] }

// A chainNode is the place of something in a chain. The zero value is in none.
type chainNode[T any] struct {
	value         *T // nil: it is in no chain
	before, after *chainNode[T]
}

func (c *chain[T]) addNode(node *chainNode[T], of *T) {
	*node = chainNode[T]{value: of, before: c.last}
	if c.last == nil {
		c.first = node
	} else {
		c.last.after = node
	}
	c.last = node
}

// removeNode does nothing with a node that is in no chain.
func (c *chain[T]) removeNode(node *chainNode[T]) {
	if node.value == nil {
		return
	}
	if node.before == nil {
		c.first = node.after
	} else {
		node.before.after = node.after
	}
	if node.after == nil {
		c.last = node.before
	} else {
		node.after.before = node.before
	}
	*node = chainNode[T]{}
}
