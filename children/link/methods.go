package link

// Names of requests and notifications that more than one package knows.
const (
	MethodDiscover     = "server/discover"
	MethodProgress     = "notifications/progress"
	MethodMessage      = "notifications/message"
	MethodCancelled    = "notifications/cancelled"
	MethodRootsChanged = "notifications/roots/list_changed"
	// MethodTaskNews is the notification by which the extension for tasks tells of one.
	MethodTaskNews = "notifications/tasks"
)

// Values of resultType (2026-07-28).
const (
	ResultComplete = "complete"
	// ResultInput is that of a result that asks for input (basic/patterns/mrtr).
	ResultInput = "input_required"
	// ResultTask is that of a task of the extension for tasks.
	ResultTask = "task"
)
