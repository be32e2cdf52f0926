package windows

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A project is where a session works.
type project struct {
	root   string // the directory; the client's root
	uri    string // the root as the client spells it, "" for a client that gives no roots
	config string // hub.json, "" for one outside of all projects
	policy string // of hub.json
}

// projects are the places of the tables. The names begin with letters that a backslash makes signs of (n, r, t, b), and hold blanks,
// parentheses and letters beyond ASCII.
var projects = map[string]project{
	"app": {root: `C:\work\app`, uri: "file:///c%3A/work/app", config: `C:\work\app\hub.json`,
		policy: `{"protected":[".env"]}`},
	"source": {root: `C:\Users\me\source\repos\App`, uri: "file:///C:/Users/me/source/repos/App"},
	"node":   {root: `C:\dev\node-app`, uri: "file:///c:/dev/node-app"},
	"test":   {root: `C:\code\test`, uri: "file:///C%3A/code/test"},
	"build":  {root: `D:\new\build`, uri: "file:///d%3A/new/build"},
	"team": {root: `C:\repos\team`, uri: "file:///c%3A/repos/team",
		policy: `{"rules":[{"name":"closed","then":"deny","if":{"paths":{"within":"C:\\repos\\team\\secrets"}}},
			{"name":"made","then":"deny","if":{"paths":{"within":"C:\\repos\\team\\build"}}},
			{"name":"papers","then":"deny","if":{"paths":{"within":"C:\\repos\\team\\Confidential Papers"}}}]}`},
	"blanks": {root: `C:\My Projects (2024)\Web App`, uri: "file:///c%3A/My%20Projects%20(2024)/Web%20App"},
	"umlaut": {root: `C:\Büro\Prüfung-日本`, uri: "file:///c%3A/B%C3%BCro/Pr%C3%BCfung-%E6%97%A5%E6%9C%AC"},
	"home":   {root: `C:\Users\me`, uri: "file:///c%3A/Users/me", config: defaultConfig, policy: `{"protected":["C:\\Users\\me\\.ssh"]}`},
	"free":   {root: `C:\free`, policy: `{"rules":[{"name":"closed","then":"deny","if":{"paths":{"within":"C:\\repos\\team\\secrets"}}}]}`},
}

// defaultConfig is where the hub looks for hub.json.
const defaultConfig = `C:\Users\me\AppData\Roaming\mcphub\hub.json`

// configure writes hub.json of a project. "witness" is judged, and "open" is not: it is the control.
func (m *machine) configure(t *testing.T, name string) (file string) {
	t.Helper()
	p := projects[name]
	entry := map[string]any{"command": `C:\tools\witness.exe`, "env": map[string]string{"WITNESS_FILE": `C:\records\` + name + `.jsonl`}}
	control := map[string]any{"command": `C:\tools\witness.exe`, "env": map[string]string{"WITNESS_FILE": `C:\records\` + name + `-control.jsonl`},
		"paths": map[string]string{"mode": "off"}}
	config := map[string]any{"mcpServers": map[string]any{"witness": entry, "open": control}}
	if p.policy != "" {
		config["policy"] = json.RawMessage(p.policy)
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if file = p.config; file == "" {
		file = `C:\config\` + name + `\hub.json`
	}
	if err := m.write(file, string(text)); err != nil {
		t.Fatal(err)
	}
	return file
}

// A call is a line of a table.
type call struct {
	at        string // file and line
	project   string
	tool      string
	arguments string // JSON
	class     string
	opens     string // what an attack would open
	may       bool   // it may reach the server
}

func (c call) String() string {
	return fmt.Sprintf("%s %s %s %s", c.at, c.project, c.tool, c.arguments)
}

// table reads a table of calls.
func (m *machine) table(t *testing.T, name string, columns int) []call {
	t.Helper()
	short := m.short(t, projects["app"].root, projects["team"].root)
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	seen, n := map[string]string{}, 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		at := fmt.Sprintf("%s:%d", name, n)
		if len(cells) != columns {
			t.Fatalf("%s: %d cells, want %d", at, len(cells), columns)
		}
		c := call{at: at, project: cells[0], tool: cells[1], arguments: short.Replace(cells[2]), class: cells[3]}
		if columns > 4 {
			c.opens = cells[4]
		}
		key := c.project + c.tool + c.arguments
		if _, known := projects[c.project]; !known || !json.Valid([]byte(c.arguments)) || seen[key] != "" || strings.Contains(c.arguments, "@SHORT") {
			t.Errorf("%s: no such project, no JSON, no such short name, or the same as %s", c, seen[key])
		}
		seen[key] = at
		calls = append(calls, c)
	}
	return calls
}
