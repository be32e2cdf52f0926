package texts

import (
	"fmt"
	"strings"
	"time"

	"mcphub/internal/printable"
)

// MayHaveRun is the text about a request that was sent and not answered.
const MayHaveRun = "It was sent to its server and may have run."

// NotSent is the text about a request that was not sent.
const NotSent = "The call was not sent, so nothing was done."

// ChildTimedOut returns what is told when nothing was heard of a server. what is a tool of its or a method.
func ChildTimedOut(server, what string, after time.Duration) string {
	return fmt.Sprintf("The server %s did not answer %s within %s, nor report progress. Raise \"timeout\": {\"call\": ...} of this server if that is too short.",
		printable.Quote(server), printable.Quote(what), after)
}

// QueueFull returns what is told when a server has as many requests under way and in its queue as hub.json lets it have. key names the limits
// in hub.json.
func QueueFull(server, key string, calls, queue int, again time.Duration) string {
	key = printable.Escape(key, 200)
	return fmt.Sprintf("The server %s has as many calls under way as %s.calls in hub.json allows (%d), and no place in its queue (%s.queue, %d). %s Try again in %s.", printable.Quote(server), key, calls, key, queue, NotSent, again)
}

// RateReached returns what is told when a server has had as many requests as its rate in hub.json allows.
func RateReached(server, key, rate string, again time.Duration) string {
	return fmt.Sprintf("The server %s has had as many calls as %s in hub.json allows (%s). %s Try again in %s.", printable.Quote(server), printable.Escape(key, 200), rate, NotSent, again)
}

// NoAnswer returns what is told when a server did not answer for a reason of its own.
func NoAnswer(server, what, why string) string {
	return fmt.Sprintf("The server %s did not answer %s: %s", printable.Quote(server), printable.Quote(what), why)
}

// NeedsLogin returns what is told when a server asks for a login that the caller makes on a page of the hub.
func NeedsLogin(server, address string) string {
	return fmt.Sprintf("The server %s asks for a login. Open %s in a browser within ten minutes. The page first asks who you are, and then leads to the login. Call again after that.", printable.Quote(server), address)
}

// UnstableTool returns what is told when a server changes a tool whenever it is called.
func UnstableTool(server, tool string) string {
	return fmt.Sprintf("The server %s changes the definition of %s again and again. Ask tools/list and try again.", printable.Quote(server), printable.Quote(tool))
}

// ToolGone returns what is told when a server has listed a tool before, and does not now.
func ToolGone(server, tool string) string {
	return fmt.Sprintf("The server %s does not offer the tool %s any more: it did when it was listed before. tools/list shows what it has now.", printable.Quote(server), printable.Quote(tool))
}

// NotOffered returns what is told when a server has a tool that the hub leaves out.
func NotOffered(server, tool, why string) string {
	return fmt.Sprintf("The tool %s of server %s is not offered: %s", printable.Quote(tool), printable.Quote(server), why)
}

// UnknownToolStart begins what UnknownTool returns. The program knows by it that a tool was not found.
const UnknownToolStart = "Unknown tool"

// UnknownTool returns what is told about a name that no tool has. It gives no number of tools: a server that is not listed yet would change it,
// and so a hidden tool could be told from one that is not there.
func UnknownTool(name string) string {
	return fmt.Sprintf(UnknownToolStart+" '%s'; tools/list names those that there are.", printable.Escape(name, 100))
}

// AmbiguousTool returns what is told about a name that tools of several apps have.
func AmbiguousTool(name string, names []string) string {
	return "Several servers have apps and a tool " + printable.Quote(name) + ". Call it by one of its names here: " + printable.List(names)
}

// NoTool returns what is told about a tool that a server does not have.
func NoTool(server, tool string, known []string) string {
	return fmt.Sprintf("The server %s has no tool %s. Its tools: %s", printable.Quote(server), printable.Quote(tool), printable.List(known))
}

// NoServer returns what is told about a name that no server has.
func NoServer(name string, known []string) string {
	return fmt.Sprintf("There is no server %s. Servers: %s", printable.Quote(name), printable.List(known))
}

// NoToolset reports that a caller cannot have the toolset that its URL names, be it there or not.
func NoToolset(name string) string {
	return "There is no toolset " + printable.Quote(name) + " for this client. The operator of the hub gives it one: toolsets in hub.json, and those of its token in http.tokens or http.issuers."
}

// NoToolsetLeft reports that a caller may have none of the toolsets that hub.json has for it. client is how the caller calls itself, if
// that has chosen; "" else.
func NoToolsetLeft(client string) string {
	if client == "" {
		return "No toolset is left for this client. The operator of the hub gives it one: toolsets in hub.json, and those of its token in http.tokens or http.issuers."
	}
	return "No toolset is left for the client " + printable.Quote(client) + ", for which hub.json has others than its token may use. The operator of the hub changes clients, or the toolsets of the token, in hub.json."
}

// CannotRun returns what is told about a server that hub.json describes wrongly.
func CannotRun(server, why string) string {
	return fmt.Sprintf("The server %s cannot be run: %s", printable.Quote(server), why)
}

// NotReady returns what is told about a server that has not come up. stderr is what it wrote, if the session may see that.
func NotReady(server, state, why, stderr string) string {
	text := fmt.Sprintf("The server %s is not available (%s)", printable.Quote(server), state)
	if why != "" {
		text += ": " + why
	}
	if tail := strings.TrimSpace(stderr); tail != "" && !strings.Contains(why, tail) {
		text += "\nIt last wrote:\n" + tail
	}
	return text
}

// NoPrompt returns what is told about a name that no prompt has.
func NoPrompt(name string) string {
	return "There is no prompt " + printable.Quote(name) + "; prompts/list tells what there is."
}

// NoTemplate returns what is told about a URI that no template has.
func NoTemplate(uri string) string {
	return "There is no resource template " + printable.Quote(uri) + "; resources/templates/list tells what there is."
}

// NoTask returns what is told about an id that no task of the session has.
func NoTask(id string) string { return "There is no task " + printable.Quote(id) + " here." }

// NoResource returns what is told about a URI that no server has. The ones that are away could not be asked.
func NoResource(away []string) string {
	if len(away) > 0 {
		return fmt.Sprintf("Resource not found: no server that is available has it. Not available: %s; `mcphub status` shows why.", printable.List(away))
	}
	return "Resource not found: no server behind this hub has it."
}

// NoExtension returns what is told about a request of an extension that no server offers.
func NoExtension(extension, method string) string {
	return "No server behind this hub offers " + extension + ", which " + printable.Quote(method) + " belongs to."
}

// NoExtensionResource returns what is told about a URI that no server with an extension has.
func NoExtensionResource(extension, uri string) string {
	return "No server behind this hub that offers " + extension + " has " + printable.Quote(uri) + "."
}

// NoExtensionMethod returns what is told about a method that neither the protocol nor an extension has.
func NoExtensionMethod(method string) string {
	return "No server behind this hub offers an extension that " + printable.Quote(method) + " could belong to."
}

// AmbiguousMethod returns what is told about a method that several servers may have.
func AmbiguousMethod(method string, servers []string) string {
	return fmt.Sprintf("%s may belong to several servers (%s), and nothing in its params (a uri, name or taskId of one of them) tells to which.",
		printable.Quote(method), printable.List(servers))
}

// Lacks returns what is told about a request without a member that it needs.
func Lacks(method, what, pointer string) string {
	return method + " needs " + what + " at " + pointer + "."
}

// LacksArgument returns what is told about a call of a tool of the hub's own without an argument that it needs.
func LacksArgument(tool, argument, what string) string {
	return fmt.Sprintf("%s needs %q: %s (a string).", tool, argument, what)
}

// TaskDenied returns what is told about a task whose tool the rules have come to deny.
func TaskDenied(tool, server string) string {
	return fmt.Sprintf("Access denied: The rules of hub.json have come to deny the tool %s of the server %s, and with it the task. tasks/cancel ends it, as does the end of the server.",
		printable.Quote(tool), printable.Quote(server))
}

// TaskRefused returns what is told about a task that its server gave an id which cannot be used.
func TaskRefused(server, why string) string {
	return fmt.Sprintf("The server %s gave its task an id %s. The task was cancelled.", printable.Quote(server), why)
}

// Unanswered returns the text for a server whose question has no answer.
func Unanswered(why string) string { return "The client was not asked, or did not answer: " + why }

// ClientGone is the text for a server whose client has gone.
const ClientGone = "The client has gone."

// SharedServer returns the text for a server that asks something and serves several sessions.
func SharedServer(method string) string {
	return "No client can be asked for " + printable.Escape(method, 100) + ": several sessions may share this server, so it cannot be told which it belongs to."
}

// Of cursors and lists.
const (
	UnknownCursor = "Unknown cursor: ask again without one."
	ListChanged   = "The list has changed since this cursor was given: ask again without one."
	OtherList     = "The cursor is none of this list: ask again without one."
)

// NoChanges is the text about a subscription to a resource whose server tells about no changes.
const NoChanges = "The server of this resource does not tell of changes."

// HubEnded is the text about a request that the hub served when it ended.
const HubEnded = "The hub ended while it served this request, so it may have run. Look before you send it again."
