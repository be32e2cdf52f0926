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

// ofProtocol are the requests and notifications of all versions of the protocol,
// and of the extension for tasks, which this program knows.
var ofProtocol = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "subscriptions/listen": true,
	"tools/list": true, "tools/call": true, "prompts/list": true, "prompts/get": true, "completion/complete": true, "logging/setLevel": true,
	"resources/list": true, "resources/templates/list": true, "resources/read": true, "resources/subscribe": true, "resources/unsubscribe": true,
	"tasks/get": true, "tasks/result": true, "tasks/list": true, "tasks/cancel": true, "tasks/update": true,
	"roots/list": true, "sampling/createMessage": true, "elicitation/create": true,
	"notifications/initialized": true, "notifications/cancelled": true, "notifications/progress": true, "notifications/message": true,
	"notifications/tools/list_changed": true, "notifications/prompts/list_changed": true, "notifications/resources/list_changed": true,
	"notifications/resources/updated": true, "notifications/roots/list_changed": true, "notifications/tasks/status": true, MethodTaskNews: true,
	"notifications/elicitation/complete": true, "notifications/subscriptions/acknowledged": true,
}

// OfProtocol reports whether a request or notification is one of the protocol, in
// any of its versions. All others belong to extensions.
func OfProtocol(method string) bool { return ofProtocol[method] }
