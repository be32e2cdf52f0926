package fixed

import (
	"errors"
	"strings"
	"testing"

	"mcphub/internal/printable"
)

func argument(value string, path ...string) Argument { return Argument{path, []byte(value)} }

func TestApply(t *testing.T) {
	t.Parallel()
	owner, deep := argument(`"acme"`, "owner"), argument(`{"a":1}`, "repo", "owner", "id")
	for _, tc := range []struct {
		args string
		set  []Argument
		want string
	}{
		{"", []Argument{owner}, `{"owner":"acme"}`},
		{"null", []Argument{owner}, `{"owner":"acme"}`},
		{`{}`, []Argument{owner}, `{"owner":"acme"}`},
		{`{ }`, []Argument{owner}, `{"owner":"acme" }`},
		{`{"title":"x"}`, []Argument{owner}, `{"owner":"acme","title":"x"}`},
		{`{"n":1e400}`, []Argument{owner, deep}, `{"repo":{"owner":{"id":{"a":1}}},"owner":"acme","n":1e400}`},
		{`{"repo":{"name":"x"}}`, []Argument{deep}, `{"repo":{"owner":{"id":{"a":1}},"name":"x"}}`},
		{`{"repo":{"owner":{}}}`, []Argument{deep, argument("2", "repo", "b")}, `{"repo":{"b":2,"owner":{"id":{"a":1}}}}`},
		{`{"ownership":1,"own":2,"öwner":3}`, []Argument{owner}, `{"owner":"acme","ownership":1,"own":2,"öwner":3}`},
	} {
		var args []byte
		if tc.args != "" {
			args = []byte(tc.args)
		}
		got, err := Apply(args, tc.set)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.args, got, err, tc.want)
		}
	}
}

// TestAClientGivesNoSetArgument: each spelling by which a server might read another value is refused. Control: the
// arguments without it pass.
func TestAClientGivesNoSetArgument(t *testing.T) {
	t.Parallel()
	owner, deep := argument(`"acme"`, "owner_id"), argument(`"acme"`, "repo", "owner")
	deeper := argument(`"acme"`, "a", "b", "c")
	for _, tc := range []struct {
		set         Argument
		args, fixed string // fixed: without what is refused
		at          string
	}{
		{owner, `{"owner_id":"evil"}`, `{}`, "/owner_id"},
		{owner, `{"owner_id":"acme"}`, `{}`, "/owner_id"},
		{owner, `{"owner_id":null}`, `{}`, "/owner_id"},
		{owner, `{"x":1,"\u006fwner_id":"evil"}`, `{"x":1}`, "/owner_id"},
		{owner, `{"Owner_ID":"evil"}`, `{}`, "/Owner_ID"},
		{owner, `{"ownerId":"evil"}`, `{}`, "/ownerId"},
		{owner, `{"owner-id":"evil"}`, `{}`, "/owner-id"},
		{owner, `{"owner.id":"evil"}`, `{}`, "/owner.id"},
		{owner, `{"owner_id":"evil","owner_id":"evil"}`, `{}`, "/owner_id"},
		{owner, `"{\"owner_id\":\"evil\"}"`, `{}`, ""},
		{owner, `["evil"]`, `{}`, ""},
		{deep, `{"repo":{"owner":"evil"}}`, `{"repo":{}}`, "/repo/owner"},
		{deep, `{"repo":{},"repo":{"owner":"evil"}}`, `{"repo":{}}`, "/repo"},
		{deep, `{"repo":{"owner":null}}`, `{"repo":{}}`, "/repo/owner"},
		{deep, `{"Repo":{"owner":"evil"}}`, `{}`, "/Repo"},
		{deep, `{"repo":"{\"owner\":\"evil\"}"}`, `{}`, "/repo"},
		{deep, `{"repo":[{"owner":"evil"}]}`, `{}`, "/repo"},
		{deep, `{"repo":null}`, `{}`, "/repo"},
		{deep, `{"repo":{"OWNER":"evil"}}`, `{"repo":{}}`, "/repo/OWNER"},
		{deep, `{"repo.owner":"evil"}`, `{"owner":"x"}`, "/repo.owner"},
		{deep, `{"repo[owner]":"evil"}`, `{"repo[id]":"x"}`, "/repo[owner]"},
		{deep, `{"repo/owner":"evil"}`, `{"repo/id":"x"}`, "/repo~1owner"},
		{deep, `{"repo_owner":"evil"}`, `{"owner_repo":"x"}`, "/repo_owner"},
		{deep, `{"repo":{},"repoOwner":"evil"}`, `{"repo":{}}`, "/repoOwner"},
		{deeper, `{"a.b":{"c":"evil"}}`, `{"a":{"b":{}}}`, "/a.b"},
		{deeper, `{"a":{"b[c]":"evil"}}`, `{"a":{"b":{},"c":1,"ac":2}}`, "/a/b[c]"},
		{owner, `{"owner_id ":"evil"}`, `{}`, "/owner_id "},
		{owner, `{"owner id":"evil"}`, `{}`, "/owner id"},
		{owner, `{"owner_id[]":"evil"}`, `{}`, "/owner_id[]"},
		{owner, `{"owner_id\u0000":"evil"}`, `{}`, "/owner_id\x00"},
		{owner, `{"owner\u200b_id":"evil"}`, `{}`, "/owner\u200b_id"},
		{owner, `{"ｏｗｎｅｒ_ｉｄ":"evil"}`, `{}`, "/ｏｗｎｅｒ_ｉｄ"},
		{owner, `{"owner_ıd":"evil"}`, `{}`, "/owner_ıd"},
		{owner, `{"OWNER_İD":"evil"}`, `{}`, "/OWNER_İD"},
		{argument(`"acme"`, "ſtraße"), `{"STRASSE":"evil"}`, `{}`, "/STRASSE"},
		{argument(`"acme"`, "_"), `{"-":"evil"}`, `{"x":1}`, "/-"},
		{argument(`"acme"`, "repo", "$"), `{"Repo":"evil"}`, `{"repo":{}}`, "/Repo"},
	} {
		got, err := Apply([]byte(tc.args), []Argument{tc.set})
		given, ok := errors.AsType[*GivenError](err)
		if !ok || got != nil || given.At != tc.at || given.Pointer != tc.set.Pointer() || !strings.Contains(given.Error(), printable.Quote(given.Pointer)) {
			t.Errorf("%s passes as %s, or is refused with %v", tc.args, got, err)
		}
		if got, err := Apply([]byte(tc.fixed), []Argument{tc.set}); err != nil || !strings.Contains(string(got), `"acme"`) {
			t.Errorf("%s: %s, %v", tc.fixed, got, err)
		}
	}
}

func TestHide(t *testing.T) {
	t.Parallel()
	owner := argument("1", "owner")
	for _, tc := range []struct {
		schema string
		set    Argument
		want   string // "": it is refused
	}{
		{`{"type":"object","properties":{"owner":{},"b":{"x":1.0}},"required":["b","owner"]}`, owner, `{"type":"object","properties":{"b":{"x":1.0}},"required":["b"]}`},
		{`{"properties":{"owner":{}},"required":["owner"],"additionalProperties":false}`, owner, `{"properties":{},"additionalProperties":false}`},
		{`{"properties":{"\u006fwner":{}}}`, owner, `{"properties":{}}`},
		{`{"allOf":[{"properties":{"owner":{}}},{"required":["owner","c"]}],"anyOf":[{"required":["owner"]}]}`, owner, `{"allOf":[{"properties":{}},{"required":["c"]}],"anyOf":[{}]}`},
		{`{"properties":{"owner":{},"b":{}},"dependentRequired":{"owner":["b"],"b":["owner"]}}`, owner, `{"properties":{"b":{}}}`},
		{`{"properties":{"repo":{"type":"object","properties":{"owner":{},"id":{}},"required":["owner"]}},"required":["repo"]}`, argument("1", "repo", "owner"), `{"properties":{"repo":{"type":"object","properties":{"id":{}}}},"required":["repo"]}`},
		{`{"properties":{"repo":{"$ref":"#/$defs/Repo"}},"$defs":{"Repo":{"properties":{"owner":{},"id":{}}}}}`, argument("1", "repo", "owner"), `{"properties":{"repo":{"allOf":[{"properties":{"id":{}}}]}}}`},
		{`{"properties":{"repo":{"$ref":"#/$defs/Repo"},"other":{"$ref":"#/$defs/Repo"}},"$defs":{"Repo":{"properties":{"owner":{}}}}}`, argument("1", "repo", "owner"),
			`{"properties":{"repo":{"allOf":[{"properties":{}}]},"other":{"$ref":"#/$defs/Repo"}},"$defs":{"Repo":{"properties":{"owner":{}}}}}`},
		{`{"properties":{"b":{}}}`, owner, ""},
		{`{"properties":{"repo":{"type":"string"}}}`, argument("1", "repo", "owner"), ""},
		{`{"$ref":"#"}`, owner, ""},
		{`{"properties":{"repo":{"$ref":"https://example.com/schema"}}}`, argument("1", "repo", "owner"), ""},
		{`true`, owner, ""},
	} {
		got, err := Hide([]byte(tc.schema), []Argument{tc.set})
		if tc.want == "" && (err == nil || !strings.Contains(err.Error(), tc.set.Pointer())) || tc.want != string(got) {
			t.Errorf("%s:\n%s, %v, want\n%s", tc.schema, got, err, tc.want)
		}
	}
}
