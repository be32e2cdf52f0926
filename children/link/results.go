package link

// Values of resultType (2026-07-28).
const (
	ResultComplete = "complete"
	// ResultInput is the resultType of a result that asks for input (basic/patterns/mrtr).
	ResultInput = "input_required"
	// ResultTask is the resultType of a task of the extension for tasks.
	ResultTask = "task"
)
