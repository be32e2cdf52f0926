package protocol

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

// roles are what the suite can call, in its words.
var roles = []string{"server", "client", "authorization server"}

// leg is one run of the suite.
type leg struct {
	role, revision string
	scenarios      []string    // the ones that the suite has; none: the ones that it requires
	direct         []exception // against the fixture; only for a server
	through        []exception // with the hub
	noted          []exception // pass, and there is something to say about it
}

func (l leg) title() string { return l.revision + " as a " + l.role }

const (
	whyNull    = "the scenario sends null for /verbose, which the tool's schema does not allow, so the hub refuses it; called again without it, the request has no header"
	whyNoTasks = "an extension that the Go SDK, and so the fixture, does not have"
	whyNoProof = "an extension of authorization that the hub does not have"
)

var noProofs = []exception{{[]string{"auth/enterprise-managed-authorization", "auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer"}, whyNoProof}}

var legs = []leg{
	{role: "server", revision: "2025-11-25"},
	{role: "server", revision: "2026-07-28", direct: []exception{
		{[]string{"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
			"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition"}, whyNoTasks},
	}},
	{role: "client", revision: "2025-03-26", scenarios: []string{"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"}},
	{role: "client", revision: "2025-11-25", through: noProofs},
	{role: "client", revision: "2026-07-28", through: noProofs, noted: []exception{{[]string{"http-custom-headers"}, whyNull}}},
}

// besides are the scenarios that no leg runs, by the role that the suite calls, each with the reason. One that no leg runs and that is not here
// fails TestConformanceNamesEveryScenario.
var besides = map[string][]exception{
	"server": {
		{[]string{"sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"}, "belongs to no revision; `TestSkillsConform` runs it, see above"},
	},
	"client": {
		{[]string{"sep-2640-client-no-prefetch", "sep-2640-client-verify-digest", "sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter"},
			"is about a client that gives skills to a model. The hub reads no skill: it asks servers for their lists, and passes files as they came, so that the client behind it verifies them"},
	},
	"authorization server": {
		{[]string{"authorization-server-metadata-endpoint", "authorization-code-grant"}, "is about a server that issues tokens; the hub issues none"},
	},
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

What the official suite (` + "`@modelcontextprotocol/conformance`" + `, the version that e2e/package.json pins) says of mcphub. It lists
every scenario that the suite has: those that it requires for a revision of the specification, those for logins as 2025-03-26 had
them, and in the last table those that no revision requires of a hub. This
file is written by
` + "`go test ./e2e/protocol -run TestConformance -update`" + `, and each run of that test checks it. The exceptions and their reasons are in
e2e/protocol/conformance_list_test.go. An exception that passes fails the test.

**As a server.** The suite calls e2e/fixture, a server of both eras that offers everything the suite asks for. With
` + "`-era apart`" + ` it offers in each era only what belongs there: tools that ask during a call, and subscriptions by request, exist
in the older one. So a scenario that passes shows that the hub speaks to the server in the era of its client.

The suite first calls the fixture directly over HTTP. Then it calls it through ` + "`mcphub serve --http`" + `, where the fixture's names
have no prefix: once with the fixture on stdio, and once over HTTP. "passes" through the hub means that every check that
succeeds directly succeeds there, both times.

The hub's ` + "`http.poll`" + ` is ` + poll + `. So the hub ends the connection of a call, and the client comes back for the answer, as
server-sse-polling wants. The suite names text/event-stream first among what it accepts, so its answers are streams
([http.md](http.md#streams-and-polling)).

**As a client.** The suite's server is the only server of the hub. The official TypeScript SDK client in front of the hub does
what the scenario wants. If a scenario needs a login, the client runs ` + "`mcphub auth login`" + ` each time the hub's answer names it, and
opens the page that it prints. That client has a handshake, so for 2026-07-28 the server's entry has ` + "`\"era\": \"modern\"`" + `.

**Skills.** The scenarios of the extension ` + "`io.modelcontextprotocol/skills`" + ` (` + "`sep-2640-skills-enumeration`" + `, ` + "`-manifest`" + `,
` + "`-directory`" + `) belong to no revision. ` + "`TestSkillsConform`" + ` runs them through the hub, over HTTP and for 2026-07-28: with one
server, with two, and with two whose skills have the same URIs, before the hub knows what they offer and then. Every check passes,
and none is skipped, but for one: of two servers with the same skills
` + "`sep-2640-names-should-be-unique`" + ` warns that names come twice, since the hub changes no frontmatter.
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
	b.WriteString("\n## What no revision requires of a hub\n\n| as | scenario | remark |\n|---|---|---|\n")
	for _, role := range roles {
		for _, e := range besides[role] {
			for _, scenario := range e.what {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", role, scenario, e.why)
			}
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
