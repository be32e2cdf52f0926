package validate

import (
	"sync"

	"mcphub/validate/budget"
	"mcphub/validate/machine"
	"mcphub/validate/strictjson"
)

// memory is what the search of one call needs beside the tree of its arguments. It is used again, and belongs to one
// goroutine.
type memory struct {
	keys keyBuffer
	work budget.Budget
	view machine.View
}

var memories = sync.Pool{New: func() any { return new(memory) }}

func newMemory() *memory { return memories.Get().(*memory) }

// free hands m back; it holds on to nothing of the call.
func (m *memory) free() {
	m.view, m.work = machine.View{}, budget.Budget{}
	memories.Put(m)
}

// budget is that of a call with arguments of some length.
func (m *memory) budget(size int) *budget.Budget {
	m.work = *budget.New(size)
	return &m.work
}

// detector searches a tree for a tool.
func (m *memory) detector(t *strictjson.Tree, c *Checker, tool *Tool, work *budget.Budget) detector {
	return detector{t: t, c: c, m: m.view.Open(&c.m, work), tool: tool, roleKey: -1, work: work, keys: &m.keys}
}
