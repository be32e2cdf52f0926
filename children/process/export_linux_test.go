package process

// What tests use that import packages which import this one.
var (
	Fork        = fork
	SysProcAttr = sysProcAttr
)
