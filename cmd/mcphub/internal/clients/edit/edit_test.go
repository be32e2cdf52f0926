package edit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

var hub = Table{{"command", "/usr/bin/mcphub"}, {"args", []any{"serve"}}}

func TestEditAndBack(t *testing.T) {
	t.Parallel()
	servers := Container{Path: []string{"mcpServers"}}
	codex := Container{Path: []string{"mcp_servers"}}
	goose := Container{Path: []string{"extensions"}}
	list := Container{Path: []string{"mcpServers"}, List: true}
	for name, tc := range map[string]struct {
		format Format
		at     Container
		text   string
		c      Change
		want   string
	}{
		"json: empty file":          {JSON, servers, "", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\n  \"mcpServers\": {\n    \"hub\": {\n      \"a\": true\n    }\n  }\n}\n"},
		"json: no container":        {JSON, servers, "{\n\t\"x\": 1 // one\n}\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\n\t\"x\": 1, // one\n\t\"mcpServers\": {\n\t\t\"hub\": {\n\t\t\t\"a\": true\n\t\t}\n\t}\n}\n"},
		"json: empty container":     {JSON, servers, "{\n  \"mcpServers\": {}\n}", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\n  \"mcpServers\": {\n    \"hub\": {\n      \"a\": true\n    }\n  }\n}"},
		"json: one line":            {JSON, servers, `{"mcpServers":{"x":{"command":"y"}}}`, Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, `{"mcpServers":{"x":{"command":"y"}, "hub": {"a": true}}}`},
		"json: trailing comma":      {JSON, servers, "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}, // note\n  },\n}", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}, // note\n    \"hub\": {\n      \"a\": true\n    },\n  },\n}"},
		"json: crlf, bom":           {JSON, servers, "\xef\xbb\xbf{\r\n  \"mcpServers\": {\r\n    \"x\": {}\r\n  }\r\n}", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "\xef\xbb\xbf{\r\n  \"mcpServers\": {\r\n    \"x\": {},\r\n    \"hub\": {\r\n      \"a\": true\r\n    }\r\n  }\r\n}"},
		"json: null container":      {JSON, servers, "{\n  \"mcpServers\": null\n}", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\n  \"mcpServers\": {\n    \"hub\": {\n      \"a\": true\n    }\n  }\n}"},
		"json: replace":             {JSON, servers, "{\n  \"mcpServers\": {\n    \"hub\": {\"old\": 1}\n  }\n}", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\n  \"mcpServers\": {\n    \"hub\": {\n      \"a\": true\n    }\n  }\n}"},
		"json: remove last":         {JSON, servers, "{\n  \"mcpServers\": {\n    \"x\": {},\n    \"y\": {} // about y\n  }\n}", Change{Kind: Remove, Name: "y"}, "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}"},
		"json: remove first":        {JSON, servers, "{\n  \"mcpServers\": {\n    \"x\": {},\n    \"y\": {}\n  }\n}", Change{Kind: Remove, Name: "x"}, "{\n  \"mcpServers\": {\n    \"y\": {}\n  }\n}"},
		"json: remove only":         {JSON, servers, "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}", Change{Kind: Remove, Name: "x"}, "{\n  \"mcpServers\": {\n  }\n}"},
		"json: disable":             {JSON, servers, "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\"\n    }\n  }\n}", Change{Kind: Set, Name: "x", Key: "disabled", Value: true}, "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\",\n      \"disabled\": true\n    }\n  }\n}"},
		"json: disable flat":        {JSON, servers, "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\" }\n  }\n}", Change{Kind: Set, Name: "x", Key: "disabled", Value: true}, "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\", \"disabled\": true }\n  }\n}"},
		"json: disable again":       {JSON, servers, `{"mcpServers": {"x": {"disabled": false}}}`, Change{Kind: Set, Name: "x", Key: "disabled", Value: true}, `{"mcpServers": {"x": {"disabled": true}}}`},
		"json: list":                {JSON, list, "{\"mcpServers\": [\n  {\"name\": \"x\"}\n]}", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\"mcpServers\": [\n  {\"name\": \"x\"},\n  {\n    \"name\": \"hub\",\n    \"a\": true\n  }\n]}"},
		"json: list, remove":        {JSON, list, "{\"mcpServers\": [\n  {\"name\": \"x\"},\n  {\"name\": \"y\"}\n]}", Change{Kind: Remove, Name: "x"}, "{\"mcpServers\": [\n  {\"name\": \"y\"}\n]}"},
		"json: list, no names":      {JSON, list, "{\"mcpServers\": [\n  {\"a\": 1},\n  {\"a\": 2}\n]}", Change{Kind: Remove, Name: nameOf(Table{{"a", json.Number("2")}})}, "{\"mcpServers\": [\n  {\"a\": 1}\n]}"},
		"toml: empty":               {TOML, codex, "", Change{Kind: Put, Name: "hub", Value: hub}, "[mcp_servers.hub]\ncommand = \"/usr/bin/mcphub\"\nargs = [\"serve\"]\n"},
		"toml: append":              {TOML, codex, "model = \"x\" # y", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "model = \"x\" # y\n\n[mcp_servers.hub]\na = true\n"},
		"toml: inline":              {TOML, codex, "mcp_servers = { x = { command = \"y\" } }\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "mcp_servers = { hub = { a = true }, x = { command = \"y\" } }\n"},
		"toml: disable":             {TOML, codex, "[mcp_servers.\"my x\"] # mine\r\ncommand = \"y\"\r\n[mcp_servers.\"my x\".env]\r\nA = \"b\"\r\n", Change{Kind: Set, Name: "my x", Key: "enabled", Value: false}, "[mcp_servers.\"my x\"] # mine\r\nenabled = false\r\ncommand = \"y\"\r\n[mcp_servers.\"my x\".env]\r\nA = \"b\"\r\n"},
		"toml: disable one enabled": {TOML, codex, "[mcp_servers.x]\nenabled = true # yes\ncommand = \"y\"\n", Change{Kind: Set, Name: "x", Key: "enabled", Value: false}, "[mcp_servers.x]\nenabled = false # yes\ncommand = \"y\"\n"},
		"toml: disable inline":      {TOML, codex, "[mcp_servers]\nx = {command = \"y\"}\n", Change{Kind: Set, Name: "x", Key: "enabled", Value: false}, "[mcp_servers]\nx = { enabled = false,command = \"y\"}\n"},
		"toml: disable dotted":      {TOML, codex, "mcp_servers.x.command = \"y\"\n", Change{Kind: Set, Name: "x", Key: "enabled", Value: false}, "mcp_servers.x.enabled = false\nmcp_servers.x.command = \"y\"\n"},
		"toml: disable below":       {TOML, codex, "[mcp_servers.x.env]\nA = \"y\"\n", Change{Kind: Set, Name: "x", Key: "enabled", Value: false}, "[mcp_servers.x]\nenabled = false\n\n[mcp_servers.x.env]\nA = \"y\"\n"},
		"toml: replace":             {TOML, codex, "[mcp_servers.hub]\ncommand = \"y\"\n\n[mcp_servers.hub.env]\nA = \"s\"\n\n# about z\n[z]\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "[mcp_servers.hub]\na = true\n\n\n# about z\n[z]\n"},
		"toml: remove":              {TOML, codex, "a = 1\n\n[mcp_servers.hub]\ncommand = '''\n[x]\n'''\n", Change{Kind: Remove, Name: "hub"}, "a = 1\n"},
		"yaml: empty":               {YAML, goose, "", Change{Kind: Put, Name: "hub", Value: hub}, "extensions:\n  hub:\n    command: /usr/bin/mcphub\n    args: [serve]\n"},
		"yaml: comment only":        {YAML, goose, "# mine\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "# mine\nextensions:\n  hub:\n    a: true\n"},
		"yaml: no container":        {YAML, goose, "GOOSE_MODEL: x # y", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "GOOSE_MODEL: x # y\nextensions:\n  hub:\n    a: true\n"},
		"yaml: map":                 {YAML, goose, "extensions:\n  x:\n    cmd: y\n\n    # inner\n    args:\n    - a\n# about m\nm: 1\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "extensions:\n  x:\n    cmd: y\n\n    # inner\n    args:\n    - a\n  hub:\n    a: true\n# about m\nm: 1\n"},
		"yaml: crlf":                {YAML, goose, "extensions:\r\n    x:\r\n        cmd: y\r\nm: 1\r\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "extensions:\r\n    x:\r\n        cmd: y\r\n    hub:\r\n      a: true\r\nm: 1\r\n"},
		"yaml: null":                {YAML, goose, "extensions: # none yet\nm: 1\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "extensions: # none yet\n  hub:\n    a: true\nm: 1\n"},
		"yaml: braces":              {YAML, goose, "extensions: {}\nm: 1\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "extensions: {hub: {a: true}}\nm: 1\n"},
		"yaml: disable":             {YAML, goose, "extensions:\n  \"my x\":\n    enabled: true # on\n    cmd: y\n", Change{Kind: Set, Name: "my x", Key: "enabled", Value: false}, "extensions:\n  \"my x\":\n    enabled: false # on\n    cmd: y\n"},
		"yaml: disable new":         {YAML, goose, "extensions:\n  x:\n    # which\n    cmd: y\n", Change{Kind: Set, Name: "x", Key: "enabled", Value: false}, "extensions:\n  x:\n    # which\n    enabled: false\n    cmd: y\n"},
		"yaml: disable flow":        {YAML, goose, "extensions:\n  x: {cmd: y}\n", Change{Kind: Set, Name: "x", Key: "enabled", Value: false}, "extensions:\n  x: {enabled: false, cmd: y}\n"},
		"yaml: list":                {YAML, list, "name: a\nmcpServers:\n- name: x\n  command: y\n# m\nmodels: []\n", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "name: a\nmcpServers:\n- name: x\n  command: y\n- name: hub\n  a: true\n# m\nmodels: []\n"},
		"yaml: list, indented":      {YAML, list, "mcpServers:\n  # first\n  - name: x\n    command: y", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "mcpServers:\n  # first\n  - name: x\n    command: y\n  - name: hub\n    a: true\n"},
		"yaml: list, remove":        {YAML, list, "mcpServers:\n  # first\n  - name: x\n    command: |\n      # no comment\n      y\n  - command: z\n    name: z\n", Change{Kind: Remove, Name: "x"}, "mcpServers:\n  # first\n  - command: z\n    name: z\n"},
		"yaml: list, remove only":   {YAML, list, "mcpServers: # all\n  - name: x\n    command: y\nm: 1\n", Change{Kind: Remove, Name: "x"}, "mcpServers: [] # all\nm: 1\n"},
		"yaml: umlauts before":      {YAML, goose, "extensions:\n  \"ä\": {ü: \"ö\", enabled: true}\n", Change{Kind: Set, Name: "ä", Key: "enabled", Value: false}, "extensions:\n  \"ä\": {ü: \"ö\", enabled: false}\n"},
		"yaml: as json":             {YAML, goose, "{\"extensions\": {}}", Change{Kind: Put, Name: "hub", Value: Table{{"a", true}}}, "{\"extensions\": {\"hub\": {\"a\": true}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, c, err := Apply(tc.format, []byte(tc.text), tc.at, tc.c)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Fatalf("got  %q\nwant %q", got, tc.want)
			}
			back, err := Undo(tc.format, got, tc.at, c)
			if err != nil {
				t.Fatal(err)
			}
			if string(back) != tc.text {
				t.Errorf("undone %q\nwant   %q", back, tc.text)
			}
			again, err := Undo(tc.format, back, tc.at, c)
			if err != nil || string(again) != tc.text {
				t.Errorf("undone twice: %q, %v", again, err)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	servers := Container{Path: []string{"mcpServers"}}
	for name, tc := range map[string]struct {
		format Format
		text   string
		c      Change
		want   string
	}{
		"broken":       {JSON, `{"mcpServers": `, Change{Kind: Put, Name: "hub", Value: hub}, "unexpected EOF"},
		"duplicates":   {JSON, `{"mcpServers": {"x": {"a": 1}, "x": {"a": 2}}}`, Change{Kind: Set, Name: "x", Key: "disabled", Value: true}, "twice"},
		"no object":    {JSON, `{"mcpServers": 3}`, Change{Kind: Put, Name: "hub", Value: hub}, "no"},
		"a list":       {JSON, `{"mcpServers": []}`, Change{Kind: Put, Name: "hub", Value: hub}, "another way"},
		"not there":    {JSON, `{"mcpServers": {}}`, Change{Kind: Remove, Name: "hub"}, "no such entry"},
		"yaml anchors": {YAML, "a: &a\n  mcphub: {}\nmcpServers: *a\n", Change{Kind: Put, Name: "hub", Value: hub}, "another way"},
		"yaml docs":    {YAML, "a: 1\n---\nb: 1\n", Change{Kind: Put, Name: "hub", Value: hub}, "several"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Apply(tc.format, []byte(tc.text), servers, tc.c)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, _, err := Apply(JSON, []byte(`{}`), servers, Change{Kind: Remove, Name: "x"}); !errors.Is(err, ErrNoEntry) {
		t.Errorf("got %v", err)
	}
}
