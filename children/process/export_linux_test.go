package process

// Bounds is what a child is kept to.
type Bounds = bounds

// What tests use that import packages which import this one.
var (
	Fork        = forkChild
	SysProcAttr = sysProcAttr
)
