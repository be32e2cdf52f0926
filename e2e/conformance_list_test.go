package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// exception names scenarios, or single checks as "scenario:check", that do not pass, and why.
type exception struct {
	what []string
	why  string
}

// leg is one run of the suite.
type leg struct {
	role, revision string
	direct         []exception // against the fixture; only for a server
	through        []exception // with the hub
	noted          []exception // pass, and there is something to say of it
}

func (l leg) title() string { return l.revision + " as a " + l.role }

const (
	whyNull    = "the null of the scenario is refused, naming /verbose: the tool's own schema has a boolean there; called again without it, as one that is told so does, there is no header"
	whyNoTasks = "an extension that the Go SDK, and so the fixture, does not carry"
	whyNoProof = "an extension of authorization that the hub does not have"
)

var noProofs = []exception{{[]string{"auth/enterprise-managed-authorization", "auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer"}, whyNoProof}}

var legs = []leg{
	{role: "server", revision: "2025-11-25"},
	{role: "server", revision: "2026-07-28", direct: []exception{
		{[]string{"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
			"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition"}, whyNoTasks},
	}},
	{role: "client", revision: "2025-11-25", through: noProofs},
	{role: "client", revision: "2026-07-28", through: noProofs, noted: []exception{{[]string{"http-custom-headers"}, whyNull}}},
}

// reason gives what a list of exceptions says about a scenario: all of it, or single checks.
func reason(exceptions []exception, scenario string) (all bool, some []string, why string) {
	for _, e := range exceptions {
		for _, what := range e.what {
			switch name, check, one := strings.Cut(what, ":"); {
			case name != scenario:
			case one:
				some, why = append(some, "`"+check+"`"), e.why
			default:
				return true, nil, e.why
			}
		}
	}
	slices.Sort(some)
	return false, some, why
}

func cell(exceptions []exception, scenario string) (text, why string) {
	all, some, why := reason(exceptions, scenario)
	switch {
	case all:
		return "no", why
	case len(some) > 0:
		return "passes but for " + strings.Join(some, ", "), why
	}
	return "passes", ""
}

// table is docs/conformance.md.
func table(legs []leg, required map[string][]string) string {
	var b strings.Builder
	b.WriteString(`# Conformance

What the official suite (` + "`@modelcontextprotocol/conformance`" + `, the version that e2e/package.json pins) says of mcphub, for each
scenario that it lists as a requirement of a revision of the specification. This file is written by
` + "`go test ./e2e -run TestConformance -update`" + ` and checked by every run of that test; the exceptions and their reasons
stand in e2e/conformance_list_test.go. An exception that passes after all fails the test.

As a server: the suite calls e2e/fixture, a child of both eras that offers all that the suite asks for, and in each era only
what belongs to it (` + "`-era apart`" + `): tools that ask while they are called and subscriptions by request in the older one. So what
passes shows that the hub speaks to it in the era of its client. The suite calls it first directly over HTTP and then through
` + "`mcphub serve --http`" + ` with the fixture as its child, whose names have no prefix: once on stdio and once over HTTP.
"passes" through the hub means that every check that succeeds directly succeeds there, both times. The hub has ` + "`http.poll`" + ` set to
` + poll + `, so that it ends the connection of a call and has the client come back, which is what server-sse-polling is about; and the suite
names text/event-stream first among what it accepts, so its answers are streams: see [http.md](http.md#streams-and-polling).

As a client: the suite's server is the only child of the hub, and the official TypeScript SDK client in front of the hub does
what the scenario wants. Where a scenario wants a login, the client runs ` + "`mcphub auth login`" + ` as often as the hub's answers name it, and
opens the page that it prints. That client is one of the handshake, so for 2026-07-28 the entry of the server has ` + "`\"era\": \"modern\"`" + `.
`)
	for _, l := range legs {
		fmt.Fprintf(&b, "\n## %s\n\n", l.title())
		if l.role == "server" {
			b.WriteString("| scenario | directly | through mcphub | remark |\n|---|---|---|---|\n")
		} else {
			b.WriteString("| scenario | mcphub | remark |\n|---|---|---|\n")
		}
		for _, scenario := range required[l.title()] {
			b.WriteString(l.row(scenario))
		}
	}
	return b.String()
}

func (l leg) row(scenario string) string {
	direct, whyDirect := cell(l.direct, scenario)
	through, why := cell(l.through, scenario)
	if _, _, noted := reason(l.noted, scenario); noted != "" {
		why = noted
	}
	if l.role == "client" {
		return fmt.Sprintf("| %s | %s | %s |\n", scenario, through, why)
	}
	if whyDirect != "" {
		if why != "" {
			why = "; " + why
		} else {
			through = "as directly"
		}
		why = whyDirect + why
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", scenario, direct, through, why)
}
