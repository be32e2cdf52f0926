package validate

import (
	"fmt"
	"sync"

	"mcphub/validate/schema"
)

// late is a Tool whose schema is not compiled yet.
type late struct {
	once sync.Once
	tool *Tool
	err  error
}

// ready returns t with its schema compiled.
func (t *Tool) ready() (*Tool, error) {
	if t.late == nil {
		return t, nil
	}
	t.late.once.Do(func() {
		full := *t
		full.late = nil
		if t.late.err = full.compile(t.doc); t.late.err == nil {
			t.late.tool = &full
		}
	})
	if t.late.err != nil {
		return nil, &schema.Error{Code: schema.CodeBudget, Message: fmt.Sprintf("the tool's schema could not be loaded, so the call was not made: %v", t.late.err)}
	}
	return t.late.tool, nil
}
