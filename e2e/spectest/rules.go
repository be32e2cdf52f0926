package spectest

import (
	"encoding/json"
	"strings"
)

// asking gives the capability without which a client is not asked this.
var asking = map[string]string{"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation"}

// judgeAsked judges a request of the server.
func (c *Conversation) judgeAsked(m message, q *question) {
	if why := undeclaredReason(q.capabilities, m.method, m.params); why != "" {
		c.addFault(Server, m, "%s", why)
	}
}

// undeclaredReason returns what of a question a client did not declare; "" when it may be asked.
func undeclaredReason(capabilities json.RawMessage, method string, params json.RawMessage) string {
	name, needs := asking[method]
	if !needs {
		return ""
	}
	declared := getPath(capabilities, name)
	switch {
	case declared == nil:
		return method + " for a client that did not declare " + name
	case method != "elicitation/create":
		return ""
	}
	// A client that names no mode does forms.
	form, url := getPath(declared, "form") != nil, getPath(declared, "url") != nil
	switch string(getPath(params, "mode")) {
	case `"url"`:
		if !url {
			return "a page to visit for a client that did not declare elicitation.url"
		}
	default:
		if url && !form {
			return "a form for a client that declared elicitation.url alone"
		}
	}
	return ""
}

// judgeQuestions judges an input-required result.
func (c *Conversation) judgeQuestions(from Party, m message, q *question) {
	var all map[string]struct {
		Method string
		Params json.RawMessage
	}
	requests, state := getPath(m.result, "inputRequests"), getPath(m.result, "requestState")
	if requests != nil && json.Unmarshal(requests, &all) != nil {
		return // a fault by the schema
	}
	if len(all) == 0 && state == nil {
		c.addFault(from, m, "an input-required result that neither asks nor has a state")
	}
	for key, one := range all {
		if asking[one.Method] == "" {
			c.addFault(from, m, "%s: a client cannot be asked for %q", key, one.Method)
		}
		if why := undeclaredReason(q.capabilities, one.Method, one.Params); why != "" {
			c.addFault(from, m, "%s: %s", key, why)
		}
	}
}

func (c *Conversation) takeNotification(from Party, m message) {
	version := c.versionOfNotification(from, m)
	s := load(version)
	if s == nil {
		c.unjudged++
		return
	}
	name := s.methods[m.method]
	if !s.senders[from][name] {
		if !extension[m.method] {
			c.addFault(from, m, "%s has no %s from a %s", version, m.method, from)
		}
		name = "JSONRPCNotification"
	}
	c.checkMessage(from, m, version, m.method, name, m.raw)
	switch {
	case m.method == "notifications/progress":
		c.checkProgress(from, m)
	case from == Server && version >= Modern:
		c.modernNews(m)
	case m.method == "notifications/resources/updated" && !c.watched[string(getPath(m.params, "uri"))]:
		c.addFault(from, m, "nobody subscribed to that")
	}
}

// versionOfNotification finds out by what a notification names, and else by whether there was a handshake.
func (c *Conversation) versionOfNotification(from Party, m message) string {
	if getPath(m.params, "_meta", subscriptionID) != nil || m.method == "notifications/subscriptions/acknowledged" {
		return Modern
	}
	for party, asked := range c.open {
		for id, q := range asked {
			byToken := party != from && q.token != "" && q.token == string(getPath(m.params, "progressToken"))
			byID := m.method == "notifications/cancelled" && id == string(getPath(m.params, "requestId"))
			if byToken || byID {
				return q.version
			}
		}
	}
	if c.legacy.version != "" {
		return c.legacy.version
	}
	if from == Client {
		return lastHandshake // notifications/initialized, and those of a client that sends no version with them
	}
	return Modern
}

const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// modernNews judges what a server of the era without a handshake says unasked.
func (c *Conversation) modernNews(m message) {
	listen := c.listens[string(getPath(m.params, "_meta", subscriptionID))]
	switch m.method {
	case "notifications/message":
		for _, q := range c.open[Client] {
			if q.log {
				return
			}
		}
		c.addFault(Server, m, "a log message while no request asks for any")
	case "notifications/cancelled":
		if c.listens[string(getPath(m.params, "requestId"))] == nil {
			c.addFault(Server, m, "a server cancels nothing but subscriptions/listen")
		}
	case "notifications/subscriptions/acknowledged":
		if q := listen; q == nil || q.acknowledged {
			c.addFault(Server, m, "no subscriptions/listen waits for this")
		} else {
			q.acknowledged = true
		}
	default:
		q := listen
		switch {
		case strings.HasPrefix(m.method, "notifications/tasks"):
		case q == nil:
			c.addFault(Server, m, "not of any subscription")
		case !q.acknowledged:
			c.addFault(Server, m, "before the subscription was acknowledged")
		case !wantsMessage(q.filter, m):
			c.addFault(Server, m, "the subscription does not ask for that: %s", q.filter)
		}
	}
}

// wantsMessage reports whether the filter of a subscription asks for a notification.
func wantsMessage(filter json.RawMessage, m message) bool {
	switch m.method {
	case "notifications/tools/list_changed":
		return string(getPath(filter, "toolsListChanged")) == "true"
	case "notifications/prompts/list_changed":
		return string(getPath(filter, "promptsListChanged")) == "true"
	case "notifications/resources/list_changed":
		return string(getPath(filter, "resourcesListChanged")) == "true"
	case "notifications/resources/updated":
		var uris []json.RawMessage
		_ = json.Unmarshal(getPath(filter, "resourceSubscriptions"), &uris) // no list asks for nothing
		for _, uri := range uris {
			if string(uri) == string(getPath(m.params, "uri")) {
				return true
			}
		}
		return false
	}
	return true
}

// checkProgress must be of a request under way, and increase.
func (c *Conversation) checkProgress(from Party, m message) {
	token := string(getPath(m.params, "progressToken"))
	var now float64
	if json.Unmarshal(getPath(m.params, "progress"), &now) != nil {
		return // a fault by the schema
	}
	for _, q := range c.open[from.otherParty()] {
		if q.token != token {
			continue
		}
		if q.last != nil && now <= *q.last {
			c.addFault(from, m, "progress that does not increase: %v after %v", now, *q.last)
		}
		q.last = &now
		return
	}
	if !c.tasked { // the token of a task outlives its request
		c.addFault(from, m, "progress of no request that is under way")
	}
}
