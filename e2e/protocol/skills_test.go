package protocol

import (
	"maps"
	"slices"
	"testing"

	"mcphub/e2e/world"
)

// skillScenarios are the skill scenarios of the suite about the extension for skills, with the fewest checks that each has to pass.
var skillScenarios = map[string]int{"sep-2640-skills-enumeration": 20, "sep-2640-skills-directory": 6, "sep-2640-skills-manifest": 4}

// sameNames is a check that wants names to differ, as they should, in one listing. Two servers may both have a name, which is in
// the frontmatter, and the hub changes none.
const sameNames = "sep-2640-names-should-be-unique"

// TestSkillsConform: the official suite's scenarios about skills, for one server, for two and for two whose skills have the same URIs,
// before the hub knows what they offer and then. The control is a hub over a server that has none: everything is skipped.
func TestSkillsConform(t *testing.T) {
	t.Parallel()
	n := requireSuite(t)
	server := func(args ...string) obj {
		return obj{"command": n.Program, "args": append([]string{world.Source("e2e", "clients", "skills.mjs")}, args...)}
	}
	for name, servers := range map[string]obj{
		"one": {"a": server()}, "two": {"a": server(), "b": server("org")}, "two of the same": {"a": server(), "b": server()},
		"control": {"a": obj{"command": world.Bin.Fixture}},
	} {
		if name != "two of the same" && !world.Long { // which has the most of them
			continue
		}
		t.Run(name, func(t *testing.T) {
			for scenario, least := range skillScenarios {
				w := world.New(t) // in a home of its own nothing is known before the first of two runs
				hub := w.Listen("hub", world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", w.Config(servers))
				at := bearing(w, hub, world.TokenOf(t, hub))
				for _, how := range []string{"cold", "warm"} {
					got := suite(w, n, "server", "--scenario", scenario, "--spec-version", "2026-07-28", "--force", "--url", at)[scenario]
					passed := 0
					for _, id := range slices.Sorted(maps.Keys(got)) {
						switch {
						case id == "wire-schema-valid": // whatever the server has
						case got[id] == "SUCCESS":
							passed++
						case name == "control", name == "two of the same" && id == sameNames && got[id] == "WARNING":
						default:
							t.Errorf("%s, %s: %s %s", how, scenario, id, got[id])
						}
					}
					if name == "control" && how == "warm" && passed > 0 || name != "control" && passed < least {
						t.Errorf("%s, %s: %d of %d passed", how, scenario, passed, len(got))
					}
				}
			}
		})
	}
}
